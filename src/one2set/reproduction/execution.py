"""Doing a plan: job after job, each as soon as what it needs is there, beside other processes.

Several processes may do one plan in one folder, on one machine or on several that share a disk:
each takes the next job that nobody has claimed. It tells what happens; who listens may print it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal

from one2set.errors import One2SetError
from one2set.reproduction.forecast import Forecast
from one2set.reproduction.job import JobFolder
from one2set.reproduction.launching import Launch
from one2set.reproduction.plan import Job, Setup

JOBS = "jobs"
SECONDS_BETWEEN_ROUNDS = 2.0  # of looking for a job, while others do what is left


What = Literal["begun", "training", "measuring", "done", "failed", "waiting"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened, and how far the plan is."""

    what: What
    job: Job
    split: str = ""  # that is measured
    jobs_done: int = 0
    examples_done: int = 0  # of all jobs
    seconds_left: float | None = None  # if all who work on it go on
    beside: int = 0  # jobs that are done at the same time


class Plan:
    """Jobs in the order in which they can be done, and the folder where that happens."""

    def __init__(
        self, jobs: Sequence[Job], setup: Setup, root: Path, *, splits: Sequence[str]
    ) -> None:
        self.setup, self.splits = setup, list(splits)
        self.jobs = {job.name: JobFolder(job, setup, root / JOBS) for job in jobs}
        self.failed: dict[str, One2SetError] = {}  # why jobs could not be done

    @property
    def num_examples(self) -> int:
        """The documents that all trainings together see."""
        return sum(one.job.num_examples for one in self.jobs.values())

    def done(self) -> list[JobFolder]:
        """The jobs that are done."""
        return [one for one in self.jobs.values() if one.done(self.splits)]

    def run(self, start: Launch, *, tidy: bool) -> Iterator[Event]:
        """Do what is not done yet, until all is, by us or by others. A job that fails does not stop
        those that do not need it."""
        while True:
            taken: list[JobFolder] = []
            worked = False
            for one in self.jobs.values():
                if not self.is_next(one):
                    continue
                with one.locked() as lock:
                    if lock is None:
                        taken.append(one)
                    elif not one.done(self.splits):  # nobody did it meanwhile
                        worked = True
                        try:
                            yield from self._perform(one, lock, start, tidy, beside=len(taken))
                        except One2SetError as error:
                            self.failed[one.job.name] = error
                            yield self.event("failed", one.job)
            if worked:
                continue
            if not taken:
                return
            yield self.event("waiting", taken[0].job, beside=len(taken) - 1)
            time.sleep(SECONDS_BETWEEN_ROUNDS)

    def is_next(self, one: JobFolder) -> bool:
        """Whether a job is to be done, and what it needs is there."""
        before = one.job.before
        if before is not None and not self.jobs[before.name].done(self.splits):
            return False
        return not one.done(self.splits) and one.job.name not in self.failed

    def _perform(
        self, one: JobFolder, lock: IO[bytes], start: Launch, tidy: bool, *, beside: int
    ) -> Iterator[Event]:
        forecast = self.forecast()
        event = partial(self.event, job=one.job, forecast=forecast, beside=beside)
        yield event("begun")
        first, began = one.examples_seen(), time.monotonic()
        for examples_seen in one.train(lock, start, tidy=tidy):
            forecast.note(one.job, examples_seen - first, time.monotonic() - began)
            yield event("training", examples_seen={one.job.name: examples_seen})
        for split in one.measure(self.splits):
            yield event(
                "measuring", split=split, examples_seen={one.job.name: one.job.num_examples}
            )
        yield self.event("done", one.job, beside=beside)

    def forecast(self) -> Forecast:
        return Forecast(self.done(), self.splits)

    def event(
        self,
        what: What,
        job: Job,
        *,
        split: str = "",
        forecast: Forecast | None = None,
        examples_seen: Mapping[str, int] = MappingProxyType({}),
        beside: int = 0,
    ) -> Event:
        """Make an event of a job, with the progress of all jobs. `examples_seen` has those of jobs
        that are not done yet."""
        done = {one.job.name for one in self.done()}
        left = [one.job for one in self.jobs.values() if one.job.name not in done]
        so_far = [(other, examples_seen.get(other.name, 0)) for other in left]
        unseen = sum(max(other.num_examples - seen, 0) for other, seen in so_far)
        seconds = (forecast or self.forecast()).total(so_far)
        return Event(
            what=what,
            job=job,
            split=split,
            jobs_done=len(done),
            examples_done=self.num_examples - unseen,
            seconds_left=None if seconds is None else seconds / (1 + beside),
            beside=beside,
        )
