"""The results of jobs: means and deviations over seeds, differences, speeds, curves.

Letters: D documents, B resamples.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from statistics import correlation, fmean, stdev
from typing import NamedTuple

import numpy as np

from one2set.arrays import Floats
from one2set.evaluation.comparison import interval, paired_bootstrap, resample_sums
from one2set.evaluation.metrics import compute_from_sums
from one2set.evaluation.protocols import YE2021
from one2set.reproduction.execution import JOBS, Plan
from one2set.reproduction.job import JobFolder
from one2set.reproduction.measure import CELLS, COUNTS, CodeShares, DocumentAddends, Measured
from one2set.reproduction.plan import PARTS, ROWS, Setup, select_rows
from one2set.reproduction.published import Metric, Value, find_paper_set, get_published_value

RESAMPLES = 10_000  # with 1,000, bounds near 0 depended on the seed
_MIN_RANKED = 3  # rows for a rank correlation
_JOB = re.compile(r"(?P<row>.+)-seed(?P<seed>\d+)-(?P<key>[0-9a-f]+)")
_REFERENCE = "kp20k"  # the set of the paper's ablations and figures


class Difference(NamedTuple):
    """The difference between two rows in a metric, with its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0. It does not if it is unknown (NaN)."""
        return self.low > 0 or self.high < 0


class Curve(NamedTuple):
    """A validation metric by the number of examples seen."""

    row: str
    seed: int
    examples_seen: list[float]
    values: list[float]


def _get_metric(measured: Measured, metric: Metric) -> float | None:
    """A metric of a model on one set. Without predictions there is no duplication: 0/0."""
    predicts = any(measured.figures[name] for name in COUNTS)
    return measured.figures[metric] if predicts or metric != "duplication" else None


def _divide(sums: Floats) -> Floats:
    """Numerators divided by denominators, (…, 2) → (…); 0/0 is NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _resample_counts(pair: Sequence[DocumentAddends]) -> tuple[Floats, Floats]:
    """`COUNTS` of two rows: of all documents (2, 3), and of each resample (B, 2, 3)."""
    counts = np.stack([addends.counts for addends in pair], axis=1)  # (D, 2, 3, 2)
    drawn = [_divide(sums) for sums in resample_sums(counts, resamples=RESAMPLES, seed=0)]
    return _divide(counts.sum(axis=0)), np.concatenate(drawn)


def _average_addends(seeds: Sequence[DocumentAddends]) -> DocumentAddends:
    return DocumentAddends(*(np.mean(arrays, axis=0) for arrays in zip(*seeds, strict=True)))


def _rank(values: Floats) -> Floats:
    """The rank of each value from 1, the mean rank for equal ones."""
    below = (values[:, None] > values).sum(axis=1)
    equal = (values[:, None] == values).sum(axis=1)
    return np.asarray(below + (equal + 1) / 2)


class Results:
    """The finished jobs of a setup in a folder, by row; a row has a job for each seed."""

    def __init__(self, setup: Setup, root: Path) -> None:
        self.setup, self.root = setup, root
        matches = [_JOB.fullmatch(path.name) for path in sorted((root / JOBS).glob("*"))]
        names = [match for match in matches if match]
        seeds = sorted({int(match["seed"]) for match in names})
        jobs = setup.jobs(select_rows(PARTS), seeds)
        plan = Plan(jobs, setup, root, splits=setup.splits)
        self.rows: dict[str, list[JobFolder]] = {}
        for job_folder in plan.done():
            self.rows.setdefault(job_folder.job.row.name, []).append(job_folder)
        # Jobs of another corpus, scale, code or number of training examples.
        self.others = sum(match.string not in plan.jobs for match in names)

        self._read: dict[tuple[str, str], Measured] = {}
        self._compared: dict[tuple[str, str, str], dict[Metric, Difference]] = {}

    @property
    def splits(self) -> list[str]:
        return self.setup.splits

    def _measured(self, job_folder: JobFolder, split: str) -> Measured:
        """The metrics of a job on a set, read once."""
        key = job_folder.job.name, split
        if key not in self._read:
            self._read[key] = job_folder.measured(split)
        return self._read[key]

    @cached_property
    def reference(self) -> str:
        """The set where the paper shows KP20k only: KP20k, or else the largest."""
        counts = self.setup.corpus.manifest.splits
        return max(
            self.splits, key=lambda s: (find_paper_set(s) == _REFERENCE, counts[s].documents)
        )

    def has(self, *rows: str) -> bool:
        return all(row in self.rows for row in rows)

    @property
    def seeds(self) -> list[int]:
        return sorted({job_folder.job.seed for jobs in self.rows.values() for job_folder in jobs})

    # --- Figures ----------------------------------------------------------------------------------

    def value(self, row: str, split: str, metric: Metric) -> Value | None:
        """A metric on one set, over the seeds that have it."""
        return self._over_seeds(
            row, lambda job_folder: _get_metric(self._measured(job_folder, split), metric)
        )

    def average(self, row: str, metric: Metric) -> Value | None:
        """The mean of a metric over all sets, over the seeds that have it."""

        def over_sets(job_folder: JobFolder) -> float | None:
            values = [
                _get_metric(self._measured(job_folder, split), metric) for split in self.splits
            ]
            known = [value for value in values if value is not None]
            return fmean(known) if known else None

        return self._over_seeds(row, over_sets)

    def gold(self, split: str, metric: Metric) -> float:
        """num_present or num_absent of the gold phrases."""
        any_job = next(iter(self.rows.values()))[0]
        return self._measured(any_job, split).gold[metric]

    def _over_seeds(self, row: str, of: Callable[[JobFolder], float | None]) -> Value | None:
        every = map(of, self.rows.get(row, []))
        values = [value for value in every if value is not None]
        if not values:
            return None
        return Value(fmean(values), stdev(values) if len(values) > 1 else None)

    def codes_by_seed(self, row: str, split: str) -> list[Sequence[CodeShares]]:
        """The output of each control code, seed by seed."""
        return [self._measured(job_folder, split).codes for job_folder in self.rows.get(row, [])]

    def codes(self, row: str, split: str) -> list[CodeShares]:
        """The output of each control code, mean over seeds. Single codes play other roles in other
        seeds; only their halves can be compared."""
        return [
            CodeShares(
                present=fmean(share.present for share in shares),
                absent=fmean(share.absent for share in shares),
                null=fmean(share.null for share in shares),
            )
            for shares in zip(*self.codes_by_seed(row, split), strict=True)
        ]

    # --- Differences ------------------------------------------------------------------------------

    def differences(self, row: str, base: str, split: str) -> dict[Metric, Difference]:
        """The metrics of a row minus those of another, on one set. NaN where one predicts nothing
        and so has no duplication."""
        key = row, base, split
        if key not in self._compared:
            self._compared[key] = self._bootstrap(*key)
        return self._compared[key]

    def _bootstrap(self, row: str, base: str, split: str) -> dict[Metric, Difference]:
        pair = self._paired_addends(row, base, split)
        f1 = np.stack([addends.f1 for addends in pair], axis=1)  # (D, 2, 4, 3, 2)
        counts, drawn = _resample_counts(pair)
        values = np.concatenate(
            [compute_from_sums(f1.sum(axis=0), YE2021)[2], counts], axis=1
        )  # (2, 7)
        intervals = np.concatenate(
            [
                paired_bootstrap(f1, YE2021, resamples=RESAMPLES, seed=0).difference[1],
                interval(drawn[:, 1] - drawn[:, 0]),
            ]
        )  # (7, 2)
        return {
            metric: Difference(float(values[1, at] - values[0, at]), *map(float, intervals[at]))
            for at, metric in enumerate((*CELLS, *COUNTS))
        }

    def seed_differences(self, row: str, base: str, split: str, metric: Metric) -> list[float]:
        """A metric of a row minus that of another on one set, for each seed that both have."""
        ours, theirs = (
            {
                job_folder.job.seed: _get_metric(self._measured(job_folder, split), metric)
                for job_folder in self.rows.get(name, [])
            }
            for name in (row, base)
        )
        return [
            mine - other
            for seed, mine in ours.items()
            if mine is not None and (other := theirs.get(seed)) is not None
        ]

    def number_difference(self, row: str, base: str, split: str) -> Difference:
        """#PK + #AK of a row minus that of another, on one set."""
        counts, drawn = _resample_counts(self._paired_addends(row, base, split))
        numbers = [COUNTS.index(name) for name in ("num_present", "num_absent")]
        mean, resampled = (x[..., numbers].sum(axis=-1) for x in (counts, drawn))  # (2,), (B, 2)
        low, high = interval((resampled[:, 1] - resampled[:, 0])[:, None])[0]
        return Difference(float(mean[1] - mean[0]), float(low), float(high))

    def _paired_addends(self, row: str, base: str, split: str) -> list[DocumentAddends]:
        """What each document adds to the metrics of `base` and of `row`, means over seeds. Another
        search is compared with the very models that it searches with, not with those of other
        seeds; the models of two systems have nothing in common, so all of them count."""
        of_base, of_row = self.rows[base], self.rows[row]
        if ROWS[row].decoding and ROWS[row].after == base:
            seeds = {job_folder.job.seed for job_folder in of_row}
            of_base = [job_folder for job_folder in of_base if job_folder.job.seed in seeds]
        return [
            _average_addends([job_folder.addends(split) for job_folder in job_folders])
            for job_folders in (of_base, of_row)
        ]

    # --- Rank order -------------------------------------------------------------------------------

    def rank_correlation(self, rows: Sequence[str], split: str, metric: Metric) -> float | None:
        """Spearman's ρ between our values of some rows and the published ones. None for fewer than
        three rows that have both, or if all values of a side are equal."""
        pairs = [
            (ours.mean, known.mean)
            for row in rows
            if (ours := self.value(row, split, metric)) is not None
            and (known := get_published_value(row, split, metric)) is not None
        ]
        if len(pairs) < _MIN_RANKED:
            return None
        ranks = [_rank(np.array(values)) for values in zip(*pairs, strict=True)]
        if any(np.ptp(side) == 0 for side in ranks):
            return None
        return correlation(*(side.tolist() for side in ranks))

    # --- Time -------------------------------------------------------------------------------------

    def on_same_hardware(self, *rows: str) -> bool:
        """Whether all jobs of some rows were trained on the same hardware, so that their speeds can
        be compared. Unknown hardware counts as one kind."""
        job_folders = [job_folder for row in rows for job_folder in self.rows[row]]
        return len({job_folder.training_record().hardware for job_folder in job_folders}) <= 1

    def training_speed(self, row: str) -> Value | None:
        """Training documents per second of CPU time, or of wall time if CPU time is unknown."""

        def speed(job_folder: JobFolder) -> float:
            record = job_folder.training_record()
            if record.cpu_seconds and record.cpu_examples:
                return record.cpu_examples / record.cpu_seconds
            return record.examples_seen / record.seconds

        return self._over_seeds(row, speed)

    def generation_speed(self, row: str) -> Value | None:
        """Generated documents per second of CPU time, over all sets."""

        def speed(job_folder: JobFolder) -> float:
            measured = [self._measured(job_folder, split) for split in self.splits]
            return sum(x.documents for x in measured) / sum(x.cpu_seconds for x in measured)

        return self._over_seeds(row, speed)

    def curves(self, row: str, name: str) -> list[Curve]:
        """The learning curve of a validation metric, for each seed."""
        curves = []
        for job_folder in self.rows.get(row, []):
            history = job_folder.history()
            train = [line for line in history if line["kind"] == "train"]
            valid = [line for line in history if line["kind"] == "valid" and name in line]
            if train and valid:
                steps, documents = ([line[key] for line in train] for key in ("step", "documents"))
                at = np.interp([line["step"] for line in valid], [0, *steps], [0, *documents])
                curves.append(
                    Curve(row, job_folder.job.seed, at.tolist(), [x[name] for x in valid])
                )
        return curves
