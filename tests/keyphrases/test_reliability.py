"""The check of a calibration: its bins, its error, its picture."""

from pathlib import Path

import numpy as np
import pytest

from one2set.keyphrases.reliability import (
    CalibrationCheck,
    draw_reliability_diagram,
    group_related,
)


def check(likely: list[float], correct: list[bool], present: list[bool]) -> CalibrationCheck:
    quality = {"present": 0.0, "absent": 0.0}
    return CalibrationCheck(
        np.array(likely),
        np.array(correct, dtype=np.float64),
        np.array(present, dtype=np.bool_),
        before=quality,  # type: ignore[arg-type]
        after=quality,  # type: ignore[arg-type]
    )


def test_bins_hold_equal_numbers_of_like_phrases() -> None:
    made = check([0.9, 0.1, 0.2, 0.8, 0.5], [True, False, True, True, True], [True] * 4 + [False])
    low, high = made.reliability("present", bins=2)
    assert low == pytest.approx((0.15, 0.5, 2))
    assert high == pytest.approx((0.85, 1.0, 2))
    assert made.reliability("absent") == [(0.5, 1.0, 1)]
    assert made.calibration_error("absent") == pytest.approx(0.5)


def test_what_is_perfect_has_no_error_and_nothing_has_none() -> None:
    generator = np.random.default_rng(0)
    likely = generator.random(20_000)
    correct = generator.random(20_000) < likely
    made = check(likely.tolist(), correct.tolist(), [True] * 20_000)
    assert made.calibration_error("present") < 0.02
    assert made.calibration_error("absent") == 0


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    made = check([0.2, 0.8], [False, True], [True, False])
    draw_reliability_diagram(made, tmp_path / "reliability.png")
    assert (tmp_path / "reliability.png").read_bytes().startswith(b"\x89PNG")


def test_related_documents_are_grouped() -> None:
    gold = [np.array(one, np.uint64) for one in ([1, 2], [9], [2, 1], [1], [], [9, 8])]
    groups = list(group_related(gold, (2, 3)))
    assert groups == [[0, 2], [1, 5, 3], [4]]
