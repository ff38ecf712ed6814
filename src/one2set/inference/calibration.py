"""Calibration: how likely a generated phrase is one of the document's keyphrases.

The product of a phrase's token probabilities ranks well but is no such likelihood: it falls with
every word, and networks are too sure. A logistic regression on three numbers, one for present and
one for absent phrases, mends that. It is fitted on documents that training has not seen.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from one2set.atomic import complete_file
from one2set.data.document import Document
from one2set.errors import DataError
from one2set.inference.prediction import Prediction, Slot
from one2set.text import StemmedSource, stem_all

FILE = "calibration.json"
Floats = NDArray[np.float64]
_TINY = 1e-12  # whose logarithm stands for that of 0


@dataclass(frozen=True, slots=True)
class Curve:
    """σ(bias + weights · inputs), with `inputs` as below."""

    bias: float
    probability: float  # weight of the log-probability of all tokens
    score: float  # weight of the logarithm of the authors' score
    words: float  # weight of the number of words

    def __call__(self, slot: Slot) -> float:
        weights = np.array([self.bias, self.probability, self.score, self.words])
        return float(_sigmoid(weights @ np.array([1.0, *inputs(slot)])))


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve for each half; None where there was nothing to fit it on."""

    present: Curve | None
    absent: Curve | None

    def __call__(self, slot: Slot, *, present: bool) -> float:
        """How likely a phrase is a keyphrase."""
        curve = self.present if present else self.absent
        return slot.probability if curve is None else curve(slot)

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        with complete_file(folder / FILE) as file:
            file.write(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))

    @classmethod
    def load(cls, folder: Path) -> "Calibration | None":
        """A model's calibration; None where it has none."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            halves = orjson.loads(path.read_bytes())
            return cls(**{half: curve and Curve(**curve) for half, curve in halves.items()})
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            raise DataError(
                "is no calibration", fix="make it again with one2set calibrate", path=path
            ) from None


@dataclass(frozen=True, slots=True)
class Judged:
    """A generated phrase, and whether it was right."""

    slot: Slot
    present: bool
    correct: bool


def inputs(slot: Slot) -> tuple[float, float, float]:
    """What a curve weighs."""
    return (
        math.log(max(slot.probability, _TINY)),
        math.log(max(slot.score, _TINY)),
        float(len(slot.word_probabilities)),
    )


def judge(document: Document, prediction: Prediction) -> list[Judged]:
    """Every phrase of a prediction, for a document whose keyphrases are known."""
    source = StemmedSource(document.words())
    gold = {stem_all(words) for words in document.phrase_words()}
    phrases = prediction.phrases
    words = document.phrase_words([slot.text for slot in phrases])
    return [
        Judged(slot, present=stems in source, correct=stems in gold)
        for slot, stems in zip(phrases, map(stem_all, words), strict=True)
    ]


def brier_score(judged: Sequence[Judged], probabilities: Iterable[float]) -> float:
    """The mean squared difference of probability and truth; the smaller the better."""
    pairs = zip(judged, probabilities, strict=True)
    return sum((p - one.correct) ** 2 for one, p in pairs) / len(judged)


def calibrate(judged: Iterable[Judged]) -> Calibration:
    """The calibration that fits best."""
    halves: dict[bool, list[Judged]] = {True: [], False: []}
    for one in judged:
        halves[one.present].append(one)
    curves = [
        Curve(
            *fit_logistic(
                np.array([inputs(one.slot) for one in half]),
                np.array([one.correct for one in half]),
            ).tolist()
        )
        if half
        else None
        for half in halves.values()
    ]
    return Calibration(*curves)


def fit_logistic(x: Floats, correct: NDArray[np.bool_]) -> Floats:
    """(1 + I,) bias and weights of a logistic regression on x (n, I).

    Targets are those of Platt (1999), a little inside 0 and 1, so that the weights stay finite
    where few phrases or only right ones are given.
    """
    from scipy.optimize import minimize

    right = int(correct.sum())
    wrong = len(correct) - right
    target = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))
    columns = np.column_stack([np.ones(len(x)), x])

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = columns @ weights
        value = np.logaddexp(0, z) - target * z
        return float(value.mean()), columns.T @ (_sigmoid(z) - target) / len(x)

    weights: Floats = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="BFGS").x
    return weights


def _sigmoid(z: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(z / 2))  # never overflows
