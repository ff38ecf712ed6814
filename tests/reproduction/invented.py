"""Invented results, to test the report."""

import math
from collections.abc import Collection, Mapping, Sequence

from one2set.reproduction.measure import CodeShares
from one2set.reproduction.plan import ROWS
from one2set.reproduction.published import METRICS, Metric, Value, get_published_value
from one2set.reproduction.results import Curve, Difference, Results

SET = "kp20k"
Codes = Sequence[tuple[float, float]]  # the shares of present and absent phrases of each code
Changes = Mapping[tuple[str, Metric], float | None]
_OTHERS: dict[Metric, float] = {"num_present": 4.0, "num_absent": 1.0, "duplication": 0.2}


class Invented(Results):
    """The paper's numbers on KP20k, unless they are overridden."""

    def __init__(
        self,
        changes: Changes | None = None,
        *,
        without: tuple[str, ...] = (),
        speeds: Mapping[str, float] | None = None,
        codes: Mapping[str, Sequence[Codes]] | None = None,
        unsure: Collection[Metric] = (),
        validations: Sequence[float] = (0.1, 0.2),
        hardware: Mapping[str, str] | None = None,
        seed_differences: Sequence[float] = (),
    ) -> None:
        """Changed figures; rows that are missing; speeds; codes of each seed; the metrics whose
        differences are not significant; F1 as training goes on; the hardware of rows; the
        difference of any two rows in any metric, for each seed."""
        self._changes, self._speeds, self._codes = changes or {}, speeds or {}, codes or {}
        self._unsure, self._validations = unsure, list(validations)
        self._hardware = hardware or {}
        self._seed_differences = list(seed_differences)
        self.rows = {row: [] for row in ROWS if row not in without}

    splits = [SET]  # noqa: RUF012
    reference = SET

    def value(self, row: str, split: str, metric: Metric) -> Value | None:
        if (row, metric) in self._changes:
            changed = self._changes[row, metric]
            return None if changed is None else Value(changed, 0.001)
        known = get_published_value(row, split, metric)
        return known or Value(_OTHERS.get(metric, 0.1))

    def average(self, row: str, metric: Metric) -> Value | None:
        return self.value(row, SET, metric)

    def gold(self, split: str, metric: Metric) -> float:
        return {"num_present": 3.31, "num_absent": 1.95}[metric]

    def codes_by_seed(self, row: str, split: str) -> list[Sequence[CodeShares]]:
        return [
            [
                CodeShares(present=present, absent=absent, null=1 - present - absent)
                for present, absent in codes
            ]
            for codes in self._codes.get(row, [[]])
        ]

    def differences(self, row: str, base: str, split: str) -> dict[Metric, Difference]:
        pairs = {f: [self.value(name, split, f) for name in (row, base)] for f in METRICS}
        result = {
            f: math.nan if ours is None or other is None else ours.mean - other.mean
            for f, (ours, other) in pairs.items()
        }
        return {
            metric: Difference(x, x - 0.002, x + 0.002)
            if metric not in self._unsure
            else Difference(x, -1.0, 1.0)
            for metric, x in result.items()
        }

    def seed_differences(self, row: str, base: str, split: str, metric: Metric) -> list[float]:
        return self._seed_differences

    def number_difference(self, row: str, base: str, split: str) -> Difference:
        both = self.differences(row, base, split)
        counts: list[Metric] = ["num_present", "num_absent"]
        low, mean, high = (sum(both[metric][at] for metric in counts) for at in (1, 0, 2))
        unsure = any(metric in self._unsure for metric in counts)
        return Difference(mean, -1.0, 1.0) if unsure else Difference(mean, low, high)

    def on_same_hardware(self, *rows: str) -> bool:
        return len({self._hardware.get(row) for row in rows}) == 1

    def training_speed(self, row: str) -> Value | None:
        return Value(self._speeds.get(row, 1.0))

    generation_speed = training_speed

    def curves(self, row: str, name: str) -> list[Curve]:
        seen = [float(number) for number, _ in enumerate(self._validations)]
        return [Curve(row, 0, seen, self._validations)]
