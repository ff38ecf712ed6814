"""Calibration: what it says of a candidate, its dial, and its file."""

import math
from pathlib import Path

import pytest

from one2set.errors import DataError
from one2set.inference.calibration import Calibration, Half
from one2set.inference.candidates import INPUTS, Candidate
from one2set.inference.prediction import NullBias, Slot


def candidate(*probabilities: float, present: bool = True) -> Candidate:
    slot = Slot(0, "a b", ("a", "b", "<eos>"), probabilities, ended=True, null=0.2)
    return Candidate(("a", "b"), (slot,), ((0, 3),) if present else (), 0 if present else -1, False)


def test_without_weights_a_phrase_is_as_likely_as_its_tokens() -> None:
    assert Half().probability(candidate(0.5, 0.5, 0.8)) == pytest.approx(0.2)


def test_weights_are_those_of_a_logistic() -> None:
    half = Half(intercept=0.3, weights={"probability": 0.5, "words": -1.0})
    z = 0.3 + 0.5 * math.log(0.2) - 2
    expected = 1 / (1 + math.exp(-z))
    assert half.probability(candidate(0.5, 0.5, 0.8)) == pytest.approx(expected)
    assert Half(intercept=1e6, weights={}).probability(candidate(0.5)) == 1.0
    assert Half(intercept=-1e6, weights={}).probability(candidate(0.5)) == 0.0


def test_each_side_has_its_half() -> None:
    calibration = Calibration(Half(intercept=20.0, weights={}), Half(intercept=-20.0, weights={}))
    present, absent = candidate(0.5), candidate(0.5, present=False)
    assert calibration.half(present).probability(present) == pytest.approx(1)
    assert calibration.half(absent).probability(absent) == pytest.approx(0, abs=1e-6)


def test_the_dial_moves_biases_and_least_odds_alike() -> None:
    calibration = Calibration(Half(-1.0, 0.2), Half(0.5, 0.0))
    assert calibration.null_bias() == NullBias(-1.0, 0.5)
    assert calibration.null_bias(2.0) == NullBias(-3.0, -1.5)
    assert calibration.present.least_for(0.0) == pytest.approx(0.2)
    assert calibration.present.least_for(math.log(4)) == pytest.approx(1 / 17)
    assert calibration.present.least_for(-100.0) == pytest.approx(1)
    assert calibration.absent.least_for(-3.0) == 0


def test_it_is_stored_with_a_model(tmp_path: Path) -> None:
    assert Calibration.load(tmp_path) == Calibration()
    half = Half(-1.5, 0.125, 0.5, dict.fromkeys(INPUTS, -2.0))
    calibration = Calibration(half, Half(), drop_parts=True)
    calibration.save(tmp_path)
    assert Calibration.load(tmp_path) == calibration


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"present": {"bias": 1}, "absent": {}}',
        '{"present": {}, "absent": {}, "other": 1}',
        '{"present": {"weights": {"colour": 1}}, "absent": {}}',
    ],
)
def test_a_damaged_file_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(DataError, match="one2set calibrate"):
        Calibration.load(tmp_path)
