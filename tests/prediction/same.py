"""Whether predictions are the same."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from one2set.prediction.prediction import Prediction


def assert_same(found: Sequence[Prediction], expected: Sequence[Prediction]) -> None:
    """Tokens and text exactly, probabilities up to rounding."""
    assert [one.id for one in found] == [one.id for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert len(one.slots) == len(other.slots)
        for slot, twin in zip(one.slots, other.slots, strict=True):
            assert replace(slot, probabilities=(), null=0.0) == replace(
                twin, probabilities=(), null=0.0
            )
            assert slot.probabilities == pytest.approx(twin.probabilities, abs=1e-5)
            assert slot.null == pytest.approx(twin.null, abs=1e-5)
