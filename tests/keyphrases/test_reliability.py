"""Reliability bins, calibration error, and the diagram."""

from pathlib import Path

import numpy as np
import pytest

from one2set.keyphrases.reliability import (
    CalibrationCheck,
    draw_reliability_diagram,
    group_related,
)


def make_check(likely: list[float], correct: list[bool], present: list[bool]) -> CalibrationCheck:
    quality = {"present": 0.0, "absent": 0.0}
    return CalibrationCheck(
        np.array(likely),
        np.array(correct, dtype=np.float64),
        np.array(present, dtype=np.bool_),
        before=quality,  # type: ignore[arg-type]
        after=quality,  # type: ignore[arg-type]
    )


def test_bins_have_equal_numbers_of_phrases_by_probability() -> None:
    made_check = make_check(
        [0.9, 0.1, 0.2, 0.8, 0.5], [True, False, True, True, True], [True] * 4 + [False]
    )
    low, high = made_check.reliability("present", bins=2)
    assert low == pytest.approx((0.15, 0.5, 2))
    assert high == pytest.approx((0.85, 1.0, 2))
    assert made_check.reliability("absent") == [(0.5, 1.0, 1)]
    assert made_check.calibration_error("absent") == pytest.approx(0.5)


def test_calibrated_probabilities_have_no_error() -> None:
    generator = np.random.default_rng(0)
    likely = generator.random(20_000)
    correct = generator.random(20_000) < likely
    made_check = make_check(likely.tolist(), correct.tolist(), [True] * 20_000)
    assert made_check.calibration_error("present") < 0.02
    assert made_check.calibration_error("absent") == 0


def test_the_diagram_is_a_png(tmp_path: Path) -> None:
    made_check = make_check([0.2, 0.8], [False, True], [True, False])
    draw_reliability_diagram(made_check, tmp_path / "reliability.png")
    assert (tmp_path / "reliability.png").read_bytes().startswith(b"\x89PNG")


def test_related_documents_are_grouped() -> None:
    gold = [np.array(hashes, np.uint64) for hashes in ([1, 2], [9], [2, 1], [1], [], [9, 8])]
    groups = list(group_related(gold, (2, 3)))
    assert groups == [[0, 2], [1, 5, 3], [4]]
