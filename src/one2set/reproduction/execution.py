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
    visits_done: int = 0  # of all jobs
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
    def visits(self) -> int:
        """The documents that all trainings together see."""
        return sum(one.job.visits for one in self.jobs.values())

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
                with one.claimed() as lock:
                    if lock is None:
                        taken.append(one)
                    elif not one.done(self.splits):  # nobody did it meanwhile
                        worked = True
                        try:
                            yield from self._perform(one, lock, start, tidy, beside=len(taken))
                        except One2SetError as error:
                            self.failed[one.job.name] = error
                            yield self.tell("failed", one.job)
            if worked:
                continue
            if not taken:
                return
            yield self.tell("waiting", taken[0].job, beside=len(taken) - 1)
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
        tell = partial(self.tell, job=one.job, forecast=forecast, beside=beside)
        yield tell("begun")
        first, began = one.visits(), time.monotonic()
        for visits in one.make(lock, start, tidy=tidy):
            forecast.note(one.job, visits - first, time.monotonic() - began)
            yield tell("training", visits={one.job.name: visits})
        for split in one.measure(self.splits):
            yield tell("measuring", split=split, visits={one.job.name: one.job.visits})
        yield self.tell("done", one.job, beside=beside)

    def forecast(self) -> Forecast:
        return Forecast(self.done(), self.splits)

    def tell(
        self,
        what: What,
        job: Job,
        *,
        split: str = "",
        forecast: Forecast | None = None,
        visits: Mapping[str, int] = MappingProxyType({}),
        beside: int = 0,
    ) -> Event:
        """What happens to a job, and how far all are; `visits` are those of jobs that are not done
        yet."""
        done = {one.job.name for one in self.done()}
        left = [one.job for one in self.jobs.values() if one.job.name not in done]
        so_far = [(other, visits.get(other.name, 0)) for other in left]
        seconds = (forecast or self.forecast()).total(so_far)
        return Event(
            what=what,
            job=job,
            split=split,
            jobs_done=len(done),
            visits_done=self.visits - sum(max(j.visits - seen, 0) for j, seen in so_far),
            seconds_left=None if seconds is None else seconds / (1 + beside),
            beside=beside,
        )
