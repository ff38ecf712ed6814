"""Calibration: the probability that a candidate is a keyphrase, and which candidates are shown.

The product of a phrase's token probabilities ranks well but is no calibrated probability: it falls
with every word, and networks are overconfident. Logistic regression on the inputs of a candidate
corrects this. There are four regressions: for present and for absent phrases, each for generated
phrases and for phrases that are only proposed. An *operating point* decides which phrases are
shown: `f1` maximises the metrics, `shown` is for readers. It consists of a bias on ∅, a threshold,
the penalties of overlapping phrases, and a cutoff for their number. `tuning` fits all of these on
documents that were not used for training.

Shapes: Q candidates, I inputs.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from one2set.arrays import Flags, Floats
from one2set.atomic import atomic_file
from one2set.data.control_codes import SIDES, Side
from one2set.errors import DataError
from one2set.extraction.candidates import INPUTS, Candidates
from one2set.model.manifest import update_manifest
from one2set.prediction.prediction import NullBias

FILE = "calibration.json"
TOP_K = 5  # the k of F1@5
# Even if F1@5 would gain, nobody wants to read phrases of which 49 in 50 are wrong.
MIN_THRESHOLD = 0.02
# The log of the largest weight of F1@5. With a larger one, F1@M is lost in the rounding of the sum.
_MAX_LOG_WEIGHT = 18.0
_PROBABILITY = INPUTS.index("probability")


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """Logistic regression: a candidate has probability σ(intercept + Σ weight · input)."""

    intercept: float
    weights: dict[str, float]  # by the names in `INPUTS`

    def __call__(self, inputs: Floats) -> Floats:
        """(Q, I) inputs → (Q,) probabilities"""
        z = self.intercept + inputs @ [self.weights.get(name, 0.0) for name in INPUTS]
        probabilities: Floats = 0.5 * (1 + np.tanh(z / 2))  # σ(z) without overflow
        return probabilities


@dataclass(frozen=True, slots=True)
class SideCalibration:
    """The calibration of one side: present phrases and their codes, or absent ones.

    Until a model is fitted, a generated phrase has the probability of its tokens, and a phrase that
    no code generates has probability 0.
    """

    null_bias: float = 0.0  # added to log P(∅) at the first step of the side's codes
    threshold: float = 0.0  # candidates with a lower probability are not shown
    generated: LogisticModel | None = None  # for phrases that a code generates
    proposed: LogisticModel | None = None  # for phrases that are only proposed
    # None shows all candidates above the threshold; see `cutoff_by_expected_f1`.
    expected_gold_factor: float | None = None
    # Added to the log odds of a phrase that overlaps a chosen one, by `overlap.relation`.
    overlap: dict[str, float] = field(default_factory=dict)
    floor: float = 0.0  # minimum score at the operating point `shown`; see `Selection.floor`

    def probabilities(self, inputs: Floats, generated: Flags) -> Floats:
        """(Q,) the probabilities that candidates are keyphrases, from their inputs (Q, I) and from
        whether codes generate them (Q,)."""
        p = np.where(generated, np.exp(inputs[:, _PROBABILITY]), 0.0)
        for model, chosen in ((self.generated, generated), (self.proposed, ~generated)):
            if model is not None:
                p[chosen] = model(inputs[chosen])
        return p

    def cutoff_by_expected_f1(self, probabilities: Sequence[float], more: float = 0.0) -> int:
        """The number k of a document's phrases to show that maximises the expected F1@5 + F1@M.
        `probabilities` are those above the threshold, best first.

        If the document has G keyphrases, the expected F1@M of the first k is about
        2 Σ p / (k + G), and F1@5 is about 2 Σ p / (5 + G), where the second sum ends at the fifth.
        G is estimated as 1 + expected_gold_factor · Σ p over all. Both G and the weight of F1@5 are
        multiplied by e^more, and k grows with either.
        """
        if self.expected_gold_factor is None:
            return len(probabilities)
        weight = math.exp(min(more, _MAX_LOG_WEIGHT))
        gold = 1 + self.expected_gold_factor * weight * sum(probabilities)
        sums = list(accumulate(probabilities))
        expected = [
            correct / (count + gold) + weight * sums[min(count, TOP_K) - 1] / (TOP_K + gold)
            for count, correct in enumerate(sums, 1)
        ]
        return expected.index(max(expected)) + 1 if expected else 0

    def threshold_at(self, more: float) -> float:
        """The threshold, with its odds divided by e^more. If there is none, showing fewer phrases
        begins at `MIN_THRESHOLD`."""
        threshold = MIN_THRESHOLD if self.threshold == 0 and more < 0 else self.threshold
        if not 0 < threshold < 1:
            return threshold
        odds = threshold / (1 - threshold) * math.exp(-more)
        return odds / (1 + odds)


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of both sides."""

    present: SideCalibration = SideCalibration()
    absent: SideCalibration = SideCalibration()
    diversity: float = 0.0  # of the operating point `f1`; see `overlap`

    @property
    def sides(self) -> "dict[Side, SideCalibration]":
        """Both sides by name."""
        return {"present": self.present, "absent": self.absent}

    def probabilities(self, candidates: Candidates) -> Floats:
        """(Q,) the probability that each candidate is a keyphrase."""
        given = candidates.inputs, candidates.generated
        return np.where(
            candidates.present,
            self.present.probabilities(*given),
            self.absent.probabilities(*given),
        )

    def null_bias(self) -> NullBias:
        """The biases of both sides."""
        return NullBias(self.present.null_bias, self.absent.null_bias)

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        with atomic_file(folder / FILE) as file:
            file.write(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))
        update_manifest(folder)

    @classmethod
    def load(cls, folder: Path) -> "Calibration":
        """The calibration in a model's folder; one without effect where there is none."""
        path = folder / FILE
        if not path.exists():
            return cls()
        try:
            values = orjson.loads(path.read_bytes())
            calibration = cls(**values | {side: _load_side(values[side]) for side in SIDES})
            _check_numbers(diversity=calibration.diversity)
            return calibration
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            fix = "make it again with one2set calibrate"
            raise DataError(f"is not a calibration ({error})", fix=fix, path=path) from None


def _load_side(values: dict[str, Any]) -> SideCalibration:
    models = {name: _load_model(values[name]) for name in ("generated", "proposed")}
    side = SideCalibration(**values | models)
    _check_numbers(null_bias=side.null_bias, threshold=side.threshold, floor=side.floor)
    _check_numbers(**side.overlap)
    if side.expected_gold_factor is not None:
        _check_numbers(expected_gold_factor=side.expected_gold_factor)
        if side.expected_gold_factor < 0:
            raise ValueError("expected_gold_factor is below 0")
    return side


def _check_numbers(**values: Any) -> None:
    for name, value in values.items():
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r:.40}, no number")


def _load_model(values: dict[str, Any] | None) -> LogisticModel | None:
    if values is None:
        return None
    weights = values["weights"]
    if unknown := weights.keys() - {*INPUTS}:
        raise KeyError(*unknown)
    model = LogisticModel(**values)
    _check_numbers(intercept=model.intercept, **weights)
    return model
