"""Calibration: where a model speaks, and how likely what it says is a keyphrase.

The product of a phrase's token probabilities ranks well but is no such likelihood: it falls with
every word, and networks are too sure. A logistic regression on what is known of a phrase, one for
present and one for absent phrases, mends that. The *operating point* says which phrases are kept:
a bias on ∅, the least likelihood, and an appetite for more. `tuning` finds all of it on documents
that training has not seen.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from one2set.atomic import atomic_file
from one2set.errors import DataError
from one2set.keyphrases.candidates import INPUTS, Candidate
from one2set.prediction.prediction import SIDES
from one2set.search.null_bias import NullBias

FILE = "calibration.json"
FEW = 5  # phrases: the cut of F1@5


@dataclass(frozen=True, slots=True)
class Curve:
    """A candidate is as likely as σ(intercept + Σ weight · input)."""

    intercept: float
    weights: dict[str, float]  # by the names of `INPUTS`

    def __call__(self, candidate: Candidate) -> float:
        named = zip(INPUTS, candidate.inputs, strict=True)
        z = self.intercept + sum(self.weights.get(name, 0.0) * value for name, value in named)
        return 0.5 * (1 + math.tanh(z / 2))  # σ(z), which never overflows


@dataclass(frozen=True, slots=True)
class Half:
    """One half of the codes, or of the phrases: those for present, or those for absent ones.

    As long as no curve is fitted, a phrase is as likely as its tokens together, and one that no
    code says is impossible.
    """

    null_bias: float = 0.0  # added to log P(∅) where one of its codes begins
    least: float = 0.0  # what is less likely is not shown
    said: Curve | None = None  # for phrases that a code says
    suggested: Curve | None = None  # for those that are only suggested
    appetite: float | None = None  # None: all that are likely enough are shown; else see `enough`

    def probability(self, candidate: Candidate) -> float:
        """How likely a candidate is a keyphrase."""
        if (curve := self.said if candidate.said else self.suggested) is not None:
            return curve(candidate)
        return candidate.slots[0].probability if candidate.said else 0.0

    def enough(self, likely: Sequence[float], more: float = 0.0) -> int:
        """How many of a document's phrases to show, of which those that are `least` likely are
        given, best first: as many as promise most.

        Of a document with G keyphrases, the k best have an expected F1@M of some 2 Σ p / (k + G),
        where p is how likely each is, and an F1@5 of 2 Σ p / (5 + G), where the sum ends at the
        fifth. The best k is that of their sum: a reader of a few phrases wants them to be right,
        but would rather have five than two. G is 1 + appetite · Σ p of all; both it and the
        weight of F1@5 grow by e^more, with either of which k can only grow.
        """
        if self.appetite is None:
            return len(likely)
        weight = math.exp(more)
        gold = 1 + self.appetite * weight * sum(likely)
        sums = list(accumulate(likely))
        promises = [
            right / (count + gold) + weight * sums[min(count, FEW) - 1] / (FEW + gold)
            for count, right in enumerate(sums, 1)
        ]
        return promises.index(max(promises)) + 1 if promises else 0

    def least_for(self, more: float) -> float:
        """`least`, with its odds divided by e^more."""
        if not 0 < self.least < 1:
            return self.least
        odds = self.least / (1 - self.least) * math.exp(-more)
        return odds / (1 + odds)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Both halves."""

    present: Half = Half()
    absent: Half = Half()
    drop_parts: bool = False  # leave out phrases that are part of a likelier one

    def half(self, candidate: Candidate) -> Half:
        """The half that a candidate belongs to."""
        return self.present if candidate.side == "present" else self.absent

    def null_bias(self, more: float = 0.0) -> NullBias:
        """The biases of both halves; `more` lets more codes speak, below 0 fewer."""
        return NullBias(self.present.null_bias - more, self.absent.null_bias - more)

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        with atomic_file(folder / FILE) as file:
            file.write(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, folder: Path) -> "Calibration":
        """A model's calibration; one that changes nothing where it has none."""
        path = folder / FILE
        if not path.exists():
            return cls()
        try:
            values = orjson.loads(path.read_bytes())
            return cls(**values | {side: _half(values[side]) for side in SIDES})
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise DataError(
                "is no calibration", fix="make it again with one2set calibrate", path=path
            ) from None


def _half(values: dict[str, Any]) -> Half:
    curves = {name: values[name] and Curve(**values[name]) for name in ("said", "suggested")}
    for curve in filter(None, curves.values()):
        if unknown := curve.weights.keys() - {*INPUTS}:
            raise KeyError(*unknown)
    return Half(**values | curves)
