"""How long jobs will take, from the speed of those that are done."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean

from one2set.reproduction.job import JobFolder
from one2set.reproduction.plan import Job


class Forecast:
    """Seconds of each system: per example in training, and to measure all sets."""

    def __init__(self, done: Iterable[JobFolder], splits: Sequence[str]) -> None:
        self._per_example: dict[str, list[float]] = defaultdict(list)
        self._measuring: dict[str, list[float]] = defaultdict(list)
        for one in done:
            record, name = one.training_record(), one.job.row.name
            if record.examples_seen:
                self._per_example[one.job.row.system].append(record.seconds / record.examples_seen)
            self._measuring[name].append(sum(one.measured(split).seconds for split in splits))

    def note(self, job: Job, examples_seen: int, seconds: float) -> None:
        """Take in the speed of a training that is running."""
        if examples_seen > 0:
            self._per_example[job.row.system] = [seconds / examples_seen]

    def seconds(self, job: Job, examples_seen: int = 0) -> float | None:
        """Estimate how long a job will take from here. An unknown system counts as an average one;
        None as long as nothing is known."""
        left = max(job.num_examples - examples_seen, 0)
        per_example = _estimate(self._per_example, job.row.system)
        measuring = _estimate(self._measuring, job.row.name)
        if per_example is None and left:
            return None
        return left * (per_example or 0.0) + (measuring or 0.0)

    def total(self, jobs: Iterable[tuple[Job, int]]) -> float | None:
        """Estimate all of them, one after the other."""
        found = [self.seconds(job, examples_seen) for job, examples_seen in jobs]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if len(known) == len(found) else None


def _estimate(known: dict[str, list[float]], name: str) -> float | None:
    if known.get(name):
        return fmean(known[name])
    everything = [seconds for found in known.values() for seconds in found]
    return fmean(everything) if everything else None
