"""Calibration: it finds the curve that made the data, and mends what is too sure."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.inference.calibration import (
    Calibration,
    Curve,
    Judged,
    brier_score,
    calibrate,
    fit_logistic,
    inputs,
    judge,
)
from one2set.inference.prediction import Prediction, Slot


def slot(text: str, *probabilities: float) -> Slot:
    return Slot(0, text, (*text.split(), "<eos>"), probabilities, ended=True)


def sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-z))


def test_a_known_logistic_is_recovered() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(40_000, 3)) * [1.0, 2.0, 0.5]
    weights = np.array([-0.7, 1.5, -0.4, 2.0])
    correct = generator.random(len(x)) < sigmoid(weights[0] + x @ weights[1:])
    np.testing.assert_allclose(fit_logistic(x, correct), weights, atol=0.08)


def made_up(count: int, seed: int) -> list[Judged]:
    """Phrases of one to four words, of which the truth is less sure than the network: being right
    does not fall with the number of words, and present phrases are right more often."""
    generator = np.random.default_rng(seed)
    judged = []
    for _ in range(count):
        words = int(generator.integers(1, 5))
        sure = float(generator.beta(5, 1))
        token = np.clip(sure + generator.normal(scale=0.02, size=words + 1), 0.05, 0.999)
        present = bool(generator.random() < 0.5)
        chance = 0.7 * sure**2 if present else 0.2 * sure**2
        one = slot("w " * words, *token.tolist())
        judged.append(Judged(one, present, bool(generator.random() < chance)))
    return judged


def calibration_error(judged: list[Judged], probabilities: list[float]) -> float:
    """The reliability diagram's mean distance from the diagonal, over ten bins."""
    error = 0.0
    for low in np.arange(10) / 10:
        chosen = [i for i, p in enumerate(probabilities) if low <= p < low + 0.1]
        if chosen:
            said = sum(probabilities[i] for i in chosen)
            error += abs(said - sum(judged[i].correct for i in chosen))
    return error / len(judged)


def test_reliability_improves_on_phrases_that_the_fit_has_not_seen() -> None:
    calibration = calibrate(made_up(4000, seed=1))
    fresh = made_up(4000, seed=2)
    raw = [one.slot.probability for one in fresh]
    calibrated = [calibration(one.slot, present=one.present) for one in fresh]
    assert calibration_error(fresh, raw) > 0.2
    assert calibration_error(fresh, calibrated) < 0.05
    assert brier_score(fresh, calibrated) < 0.8 * brier_score(fresh, raw)


def test_halves_have_curves_of_their_own() -> None:
    judged = [replace(one, present=True) for one in made_up(500, seed=1)]
    calibration = calibrate(judged)
    assert calibration.present is not None
    assert calibration.absent is None
    one = slot("a b", 0.5, 0.5, 0.5)
    assert calibration(one, present=False) == one.probability
    assert calibration(one, present=True) == calibration.present(one)


@pytest.mark.parametrize("correct", [True, False])
def test_few_phrases_of_one_kind_give_finite_weights(correct: bool) -> None:
    judged = [Judged(slot("a", 0.9, 0.9), True, correct) for _ in range(3)]
    curve = calibrate(judged).present
    assert curve is not None
    assert (curve(judged[0].slot) > 0.5) == correct
    assert 0 < curve(judged[0].slot) < 1


def test_inputs_are_finite_for_any_slot() -> None:
    assert inputs(slot("a b", 0.5, 0.25, 0.5)) == pytest.approx(
        (math.log(0.0625), math.log(0.375), 2)
    )
    assert all(map(math.isfinite, inputs(slot("a", 0.0, 0.0))))
    assert all(map(math.isfinite, inputs(slot("", 1.0))))


def test_phrases_are_judged_by_their_stems() -> None:
    document = Document("d", "Graph networks", "We train them.", ("graph network", "deep learning"))
    slots = (
        slot("graph networks", 0.9, 0.9, 0.9),
        slot("deeper learn", 0.5, 0.5, 0.5),
        slot("train", 0.4, 0.4),
        slot("deep learnings", 0.3, 0.3, 0.3),
        slot("", 1.0),
    )
    judged = judge(document, Prediction("d", slots, "score", 5, 5))
    assert [(one.slot.text, one.present, one.correct) for one in judged] == [
        ("graph networks", True, True),
        ("deeper learn", False, False),
        ("train", True, False),
        ("deep learnings", False, True),
    ]


def test_it_is_stored_with_a_model(tmp_path: Path) -> None:
    assert Calibration.load(tmp_path) is None
    calibration = Calibration(Curve(0.5, 1.25, -2.0, 0.1), None)
    calibration.save(tmp_path)
    assert Calibration.load(tmp_path) == calibration


@pytest.mark.parametrize("content", ["", "[]", '{"present": {"bias": 1}, "absent": null}', "{}"])
def test_a_damaged_file_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(DataError, match="one2set calibrate"):
        Calibration.load(tmp_path)
