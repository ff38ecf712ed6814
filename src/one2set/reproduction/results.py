"""The results of jobs: means and deviations over seeds, differences, speeds, curves.

Letters: D documents, S systems, F figures.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from one2set.arrays import Floats
from one2set.evaluation.comparison import paired_bootstrap
from one2set.evaluation.metrics import metrics_from_sums
from one2set.evaluation.protocols import YE2021
from one2set.reproduction.execution import JOBS, Plan
from one2set.reproduction.job import JobFolder
from one2set.reproduction.measure import CELLS, CodeShares, Measured
from one2set.reproduction.plan import PARTS, Setup, rows_for
from one2set.reproduction.published import Metric, Value, paper_set

RESAMPLES = 1000
_JOB = re.compile(r"(?P<row>.+)-seed(?P<seed>\d+)-(?P<key>[0-9a-f]+)")
_LARGEST = "kp20k"  # the set that the paper's ablations and figures are about


class Difference(NamedTuple):
    """Of F1s, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        return self.low > 0 or self.high < 0


class Curve(NamedTuple):
    """A metric of validation, by the documents that training had seen."""

    row: str
    seed: int
    examples_seen: list[float]
    values: list[float]


def _figure(measured: Measured, metric: Metric) -> float | None:
    """A metric of a model on one set. Who says nothing has no duplication: 0/0."""
    said = any(measured.figures[name] for name in ("num_present", "num_absent", "duplication"))
    return measured.figures[metric] if said or metric != "duplication" else None


class Results:
    """What there is of a setup in a folder, by row; each row has a job for each of its seeds."""

    def __init__(self, setup: Setup, root: Path) -> None:
        self.setup, self.root = setup, root
        matches = [_JOB.fullmatch(path.name) for path in sorted((root / JOBS).glob("*"))]
        names = [match for match in matches if match]
        seeds = sorted({int(match["seed"]) for match in names})
        jobs = setup.jobs(rows_for(PARTS), seeds)
        plan = Plan(jobs, setup, root, splits=setup.splits)
        self.rows: dict[str, list[JobFolder]] = {}
        for one in plan.done():
            self.rows.setdefault(one.job.row.name, []).append(one)
        # Of another corpus, scale, code or number of training examples.
        self.others = sum(match.string not in plan.jobs for match in names)

        self._read: dict[tuple[str, str], Measured] = {}
        self._compared: dict[tuple[str, str, str], dict[Metric, Difference]] = {}

    @property
    def splits(self) -> list[str]:
        return self.setup.splits

    def _measured(self, one: JobFolder, split: str) -> Measured:
        """Read once: tables, figures and claims ask for the same again and again."""
        key = one.job.name, split
        if key not in self._read:
            self._read[key] = one.measured(split)
        return self._read[key]

    @cached_property
    def reference(self) -> str:
        """The set for what the paper shows on KP20k: that one, or else the largest."""
        counts = self.setup.corpus.manifest.splits
        return max(self.splits, key=lambda s: (paper_set(s) == _LARGEST, counts[s].documents))

    def has(self, *rows: str) -> bool:
        return all(row in self.rows for row in rows)

    @property
    def seeds(self) -> list[int]:
        return sorted({one.job.seed for jobs in self.rows.values() for one in jobs})

    # --- Figures ----------------------------------------------------------------------------------

    def value(self, row: str, split: str, metric: Metric) -> Value | None:
        """A metric on one set, over the seeds that have it."""
        return self._over_seeds(row, lambda one: _figure(self._measured(one, split), metric))

    def average(self, row: str, metric: Metric) -> Value | None:
        """The mean of a metric over all sets, over the seeds that have it."""

        def over_sets(one: JobFolder) -> float | None:
            found = [_figure(self._measured(one, split), metric) for split in self.splits]
            known = [value for value in found if value is not None]
            return fmean(known) if known else None

        return self._over_seeds(row, over_sets)

    def gold(self, split: str, metric: Metric) -> float:
        """num_present or num_absent of the gold phrases."""
        any_job = next(iter(self.rows.values()))[0]
        return self._measured(any_job, split).gold[metric]

    def _over_seeds(self, row: str, of: Callable[[JobFolder], float | None]) -> Value | None:
        found = [of(one) for one in self.rows.get(row, [])]
        values = [value for value in found if value is not None]
        if not values:
            return None
        return Value(fmean(values), stdev(values) if len(values) > 1 else None)

    def codes_by_seed(self, row: str, split: str) -> list[Sequence[CodeShares]]:
        """What each control code says, seed by seed."""
        return [self._measured(one, split).codes for one in self.rows.get(row, [])]

    def codes(self, row: str, split: str) -> list[CodeShares]:
        """What each control code says, mean over seeds. Only halves of codes have the same role in
        every seed: what is said of single codes must be found out seed by seed."""
        return [
            CodeShares(
                present=fmean(one.present for one in shares),
                absent=fmean(one.absent for one in shares),
                null=fmean(one.null for one in shares),
            )
            for shares in zip(*self.codes_by_seed(row, split), strict=True)
        ]

    # --- Differences ------------------------------------------------------------------------------

    def differences(self, row: str, base: str, split: str) -> dict[Metric, Difference]:
        """F1 of a row less that of another, on one set."""
        key = row, base, split
        if key not in self._compared:
            self._compared[key] = self._bootstrap(*key)
        return self._compared[key]

    def _bootstrap(self, row: str, base: str, split: str) -> dict[Metric, Difference]:
        pair = [self._addends(name, split) for name in (base, row)]
        stacked = np.stack(pair, axis=1)  # (D, 2, F, 3, 2)
        found = paired_bootstrap(stacked, YE2021, resamples=RESAMPLES, seed=0).difference[1]
        f1 = metrics_from_sums(stacked.sum(axis=0), YE2021)[2]  # (2, F)
        return {
            metric: Difference(float(f1[1, at] - f1[0, at]), *map(float, found[at]))
            for at, metric in enumerate(CELLS)
        }

    def _addends(self, row: str, split: str) -> Floats:
        """Each document's part in the F1s, mean over seeds.  (D, F, 3, 2)"""
        mean: Floats = np.mean([one.addends(split) for one in self.rows[row]], axis=0)
        return mean

    # --- Time -------------------------------------------------------------------------------------

    def training_speed(self, row: str) -> Value | None:
        """Documents in training per second of the processor; by the clock if there is no other."""

        def speed(one: JobFolder) -> float:
            record = one.training_record()
            if record.cpu_seconds and record.cpu_examples:
                return record.cpu_examples / record.cpu_seconds
            return record.examples_seen / record.seconds

        return self._over_seeds(row, speed)

    def generation_speed(self, row: str) -> Value | None:
        """Documents per second of the processor, over all sets."""

        def speed(one: JobFolder) -> float:
            found = [self._measured(one, split) for split in self.splits]
            return sum(x.documents for x in found) / sum(x.cpu_seconds for x in found)

        return self._over_seeds(row, speed)

    def curves(self, row: str, name: str) -> list[Curve]:
        """A metric of validation as training went on, of each seed."""
        curves = []
        for one in self.rows.get(row, []):
            history = one.history()
            train = [line for line in history if line["kind"] == "train"]
            valid = [line for line in history if line["kind"] == "valid" and name in line]
            if train and valid:
                steps, documents = ([line[key] for line in train] for key in ("step", "documents"))
                at = np.interp([line["step"] for line in valid], [0, *steps], [0, *documents])
                curves.append(Curve(row, one.job.seed, at.tolist(), [x[name] for x in valid]))
        return curves
