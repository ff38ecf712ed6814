"""How long a job will take: the documents to come, and the speed of those that are done."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from one2set.reproduction.job import JobFolder
from one2set.reproduction.plan import Job


class Forecast:
    """Seconds of each system, for a visit in training and for the measuring of all sets."""

    def __init__(self, done: Iterable[JobFolder], splits: Sequence[str]) -> None:
        self._visit: dict[str, list[float]] = defaultdict(list)
        self._measuring: dict[str, list[float]] = defaultdict(list)
        for one in done:
            made, name = one.made(), one.job.row.name
            if made.visits:
                self._visit[one.job.row.system].append(made.seconds / made.visits)
            self._measuring[name].append(sum(one.measured(split).seconds for split in splits))

    def note(self, job: Job, visits: int, seconds: float) -> None:
        """What a training that is going on tells."""
        if visits > 0:
            self._visit[job.row.system] = [seconds / visits]

    def seconds(self, job: Job, visits: int = 0) -> float | None:
        """How long a job will take of which so many visits are done; a system that was never met is
        taken for an average one. None as long as nothing is known."""
        left = max(job.visits - visits, 0)
        visit, measuring = (
            _likely(self._visit, job.row.system),
            _likely(self._measuring, job.row.name),
        )
        if visit is None and left:
            return None
        return left * (visit or 0.0) + (measuring or 0.0)

    def total(self, jobs: Iterable[tuple[Job, int]]) -> float | None:
        """All of them, one after another."""
        found = [self.seconds(job, visits) for job, visits in jobs]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if len(known) == len(found) else None


def _likely(known: dict[str, list[float]], name: str) -> float | None:
    if known.get(name):
        return fmean(known[name])
    everything = [seconds for found in known.values() for seconds in found]
    return fmean(everything) if everything else None
