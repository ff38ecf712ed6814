"""Run a plan: each job starts when the job that it depends on is done.

Several processes can run one plan in the same folder, on one machine or on several that share a
disk: each takes the next job that is not locked. `Plan.run` yields events, which the caller may
print.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import IO, Literal

from one2set.errors import One2SetError
from one2set.reproduction.job import JobFolder, Launch
from one2set.reproduction.plan import Job, Setup

JOBS = "jobs"
SECONDS_BETWEEN_ROUNDS = 2.0  # between two searches for a free job
EventKind = Literal["begun", "training", "measuring", "done", "failed", "waiting"]


class Forecast:
    """Estimates how long jobs will take, from the speed of those that are done."""

    def __init__(self, done: Iterable[JobFolder], splits: Sequence[str]) -> None:
        self._per_example: dict[str, list[float]] = defaultdict(list)
        self._measuring: dict[str, list[float]] = defaultdict(list)
        for job_folder in done:
            record, name = job_folder.training_record(), job_folder.job.row.name
            if record.examples_seen:
                self._per_example[job_folder.job.row.system].append(
                    record.seconds / record.examples_seen
                )
            self._measuring[name].append(
                sum(job_folder.measured(split).seconds for split in splits)
            )

    def note(self, job: Job, examples_seen: int, seconds: float) -> None:
        """Record the speed of a running training."""
        if examples_seen > 0:
            self._per_example[job.row.system] = [seconds / examples_seen]

    def seconds(self, job: Job, examples_seen: int = 0) -> float | None:
        """Estimate the remaining time of a job. An unknown system counts as average; None while
        nothing is known."""
        left = max(job.num_examples - examples_seen, 0)
        per_example = _estimate(self._per_example, job.row.system)
        measuring = _estimate(self._measuring, job.row.name)
        if per_example is None and (left or measuring is None):
            return None
        return left * (per_example or 0.0) + (measuring or 0.0)

    def total(self, jobs: Iterable[tuple[Job, int]]) -> float | None:
        """Estimate the remaining time of several jobs, one after the other."""
        estimates = [self.seconds(job, examples_seen) for job, examples_seen in jobs]
        known = [seconds for seconds in estimates if seconds is not None]
        return sum(known) if len(known) == len(estimates) else None


def _estimate(known: dict[str, list[float]], name: str) -> float | None:
    if known.get(name):
        return fmean(known[name])
    everything = [seconds for values in known.values() for seconds in values]
    return fmean(everything) if everything else None


@dataclass(frozen=True, slots=True)
class JobEvent:
    """What happened to a job, and the progress of the plan."""

    what: EventKind
    job: Job
    split: str = ""  # the set being measured
    jobs_done: int = 0
    examples_done: int = 0  # of all jobs
    seconds_left: float | None = None  # if all processes that work on the plan continue
    beside: int = 0  # number of other jobs that run at the same time


class Plan:
    """Jobs in an order in which they can run, and their folder."""

    def __init__(
        self, jobs: Sequence[Job], setup: Setup, root: Path, *, splits: Sequence[str]
    ) -> None:
        self.setup, self.splits = setup, list(splits)
        self.jobs = {job.name: JobFolder(job, setup, root / JOBS) for job in jobs}
        self.failed: dict[str, One2SetError] = {}  # the errors of failed jobs

    @property
    def num_examples(self) -> int:
        """The number of examples that all trainings see together."""
        return sum(job_folder.job.num_examples for job_folder in self.jobs.values())

    def done(self) -> list[JobFolder]:
        """The jobs that are done."""
        return [job_folder for job_folder in self.jobs.values() if job_folder.done(self.splits)]

    def run(self, start: Launch, *, tidy: bool) -> Iterator[JobEvent]:
        """Run the jobs that are not done, until this process or others have done them. A failed job
        stops only the jobs that depend on it."""
        while True:
            claimed: list[JobFolder] = []
            worked = False
            for job_folder in self.jobs.values():
                if not self.is_next(job_folder):
                    continue
                with job_folder.locked() as lock:
                    if lock is None:
                        claimed.append(job_folder)
                    elif not job_folder.done(self.splits):  # by another process in the meantime
                        worked = True
                        try:
                            yield from self._perform(
                                job_folder, lock, start, tidy, beside=len(claimed)
                            )
                        except One2SetError as error:
                            self.failed[job_folder.job.name] = error
                            yield self.event("failed", job_folder.job)
            if worked:
                continue
            if not claimed:
                return
            yield self.event("waiting", claimed[0].job, beside=len(claimed) - 1)
            time.sleep(SECONDS_BETWEEN_ROUNDS)

    def is_next(self, job_folder: JobFolder) -> bool:
        """Whether a job is not done and can start."""
        before = job_folder.job.before
        if before is not None and not self.jobs[before.name].done(self.splits):
            return False
        return not job_folder.done(self.splits) and job_folder.job.name not in self.failed

    def _perform(
        self, job_folder: JobFolder, lock: IO[bytes], start: Launch, tidy: bool, *, beside: int
    ) -> Iterator[JobEvent]:
        forecast = self.forecast()
        event = partial(self.event, job=job_folder.job, forecast=forecast, beside=beside)
        yield event("begun")
        first, began = job_folder.examples_seen(), time.monotonic()
        for examples_seen in job_folder.train(lock, start, tidy=tidy):
            forecast.note(job_folder.job, examples_seen - first, time.monotonic() - began)
            yield event("training", examples_seen={job_folder.job.name: examples_seen})
        for split in job_folder.measure(self.splits):
            yield event(
                "measuring",
                split=split,
                examples_seen={job_folder.job.name: job_folder.job.num_examples},
            )
        yield self.event("done", job_folder.job, beside=beside)

    def forecast(self) -> Forecast:
        return Forecast(self.done(), self.splits)

    def event(
        self,
        what: EventKind,
        job: Job,
        *,
        split: str = "",
        forecast: Forecast | None = None,
        examples_seen: Mapping[str, int] = MappingProxyType({}),
        beside: int = 0,
    ) -> JobEvent:
        """An event of a job, with the progress of all jobs. `examples_seen` are those of running
        jobs."""
        done = {job_folder.job.name for job_folder in self.done()}
        left = [
            job_folder.job for job_folder in self.jobs.values() if job_folder.job.name not in done
        ]
        so_far = [(other, examples_seen.get(other.name, 0)) for other in left]
        unseen = sum(max(other.num_examples - seen, 0) for other, seen in so_far)
        seconds = (forecast or self.forecast()).total(so_far)
        return JobEvent(
            what=what,
            job=job,
            split=split,
            jobs_done=len(done),
            examples_done=self.num_examples - unseen,
            seconds_left=None if seconds is None else seconds / (1 + beside),
            beside=beside,
        )
