"""Results that somebody invented, to see what is made of them."""

from collections.abc import Mapping

from one2set.reproduction.measure import CELLS, CodeShares
from one2set.reproduction.plan import ROWS
from one2set.reproduction.published import Figure, Value, published_value
from one2set.reproduction.results import Curve, Difference, Results

SET = "kp20k"
_OTHERS: dict[Figure, float] = {"num_present": 4.0, "num_absent": 1.0, "duplication": 0.2}


class Invented(Results):
    """The paper's own numbers on KP20k, where it has some and nobody says otherwise."""

    def __init__(
        self,
        changes: Mapping[tuple[str, Figure], float] | None = None,
        *,
        without: tuple[str, ...] = (),
        speeds: Mapping[str, float] | None = None,
        codes: Mapping[str, list[tuple[float, float]]] | None = None,
    ) -> None:
        self._changes, self._speeds, self._codes = changes or {}, speeds or {}, codes or {}
        self.rows = {row: [] for row in ROWS if row not in without}

    splits = [SET]  # noqa: RUF012
    reference = SET

    def value(self, row: str, split: str, figure: Figure) -> Value | None:
        if (row, figure) in self._changes:
            return Value(self._changes[row, figure], 0.001)
        known = published_value(row, split, figure)
        return known or Value(_OTHERS.get(figure, 0.1))

    def average(self, row: str, figure: Figure) -> Value | None:
        return self.value(row, SET, figure)

    def gold(self, split: str, figure: Figure) -> float:
        return {"num_present": 3.31, "num_absent": 1.95}[figure]

    def codes(self, row: str, split: str) -> list[CodeShares]:
        return [
            CodeShares(present=present, absent=absent, null=1 - present - absent)
            for present, absent in self._codes.get(row, [])
        ]

    def differences(self, row: str, base: str, split: str) -> dict[Figure, Difference]:
        pairs = {f: [self.value(name, split, f) for name in (row, base)] for f in CELLS}
        found = {
            f: (ours or Value(0)).mean - (other or Value(0)).mean
            for f, (ours, other) in pairs.items()
        }
        return {figure: Difference(x, x - 0.002, x + 0.002) for figure, x in found.items()}

    def training_speed(self, row: str) -> Value | None:
        return Value(self._speeds.get(row, 1.0))

    generation_speed = training_speed

    def curves(self, row: str, name: str) -> list[Curve]:
        return [Curve(row, 0, [1.0, 2.0], [0.1, 0.2])]
