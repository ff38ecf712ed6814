"""Assert that predictions are equal."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from one2set.prediction.prediction import Prediction


def assert_same(predictions: Sequence[Prediction], expected: Sequence[Prediction]) -> None:
    """Tokens and text exactly, probabilities up to rounding."""
    assert [prediction.id for prediction in predictions] == [
        expected_one.id for expected_one in expected
    ]
    for prediction, own in zip(predictions, expected, strict=True):
        assert len(prediction.slots) == len(own.slots)
        for slot, twin in zip(prediction.slots, own.slots, strict=True):
            assert replace(slot, probabilities=(), null=0.0) == replace(
                twin, probabilities=(), null=0.0
            )
            assert slot.probabilities == pytest.approx(twin.probabilities, abs=1e-5)
            assert slot.null == pytest.approx(twin.null, abs=1e-5)
