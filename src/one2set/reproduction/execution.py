"""Doing a plan: job after job, each as soon as what it needs is there, beside other processes.

Several processes may do one plan in one folder, on one machine or on several that share a disk:
each takes the next job that nobody has claimed. It tells what happens; who listens may print it.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from one2set.errors import One2SetError
from one2set.reproduction.forecast import Forecast
from one2set.reproduction.job import JobFolder
from one2set.reproduction.launching import Launch
from one2set.reproduction.plan import Job, Setup

JOBS = "jobs"
_SECONDS_BETWEEN_ROUNDS = 2.0  # of looking for a job, while others do what is left


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


class Plan:
    """Jobs in the order in which they can be done, and the folder where that happens."""

    def __init__(
        self, jobs: Sequence[Job], setup: Setup, root: Path, *, splits: Sequence[str]
    ) -> None:
        self.setup, self.splits = setup, list(splits)
        self.jobs = {job.name: JobFolder(job, setup, root / JOBS) for job in jobs}
        self.failed: dict[str, One2SetError] = {}  # why jobs could not be done
        self._others = 0  # jobs that other processes do just now

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
                if one.done(self.splits) or not self._ready(one.job):
                    continue
                if one.job.name in self.failed:
                    continue
                with one.claimed() as lock:
                    if lock is None:
                        taken.append(one)
                    elif not one.done(self.splits):  # nobody did it meanwhile
                        self._others = len(taken)
                        worked = True
                        try:
                            yield from self._perform(one, lock, start, tidy)
                        except One2SetError as error:
                            self.failed[one.job.name] = error
                            yield self._tell("failed", one.job)
            if worked:
                continue
            if not taken:
                return
            self._others = len(taken) - 1
            yield self._tell("waiting", taken[0].job)
            time.sleep(_SECONDS_BETWEEN_ROUNDS)

    def _ready(self, job: Job) -> bool:
        return job.before is None or self.jobs[job.before.name].done(self.splits)

    def _perform(
        self, one: JobFolder, lock: IO[bytes], start: Launch, tidy: bool
    ) -> Iterator[Event]:
        forecast = self.forecast()
        yield self._tell("begun", one.job, forecast=forecast)
        first, began, visits = one.visits(), time.monotonic(), 0
        for visits in one.make(lock, start, tidy=tidy):
            forecast.note(one.job, visits - first, time.monotonic() - began)
            yield self._tell("training", one.job, forecast=forecast, visits=visits)
        for split in one.measure(self.splits):
            yield self._tell("measuring", one.job, split, forecast=forecast, visits=one.job.visits)
        yield self._tell("done", one.job)

    def forecast(self) -> Forecast:
        return Forecast(self.done(), self.splits)

    def _tell(
        self,
        what: What,
        job: Job,
        split: str = "",
        *,
        forecast: Forecast | None = None,
        visits: int = 0,
    ) -> Event:
        """`visits` are those of the job."""
        done = {one.job.name for one in self.done()}
        left = [one.job for one in self.jobs.values() if one.job.name not in done]
        so_far = [(other, visits if other.name == job.name else 0) for other in left]
        seconds = (forecast or self.forecast()).total(so_far)
        return Event(
            what=what,
            job=job,
            split=split,
            jobs_done=len(done),
            visits_done=self.visits - sum(max(j.visits - seen, 0) for j, seen in so_far),
            seconds_left=None if seconds is None else seconds / (1 + self._others),
        )
