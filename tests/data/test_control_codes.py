"""The sides of control codes, and when one is silent."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.control_codes import (
    SIDES,
    codes_by_side,
    is_present_code,
    is_silent,
)


@given(st.integers(1, 20))
def test_every_code_has_one_side_and_the_first_half_is_present(pairs: int) -> None:
    codes = range(2 * pairs)
    sides = codes_by_side(len(codes))
    assert tuple(sides) == SIDES
    assert [*codes[sides["present"]], *codes[sides["absent"]]] == [*codes]
    assert [is_present_code(code, len(codes)) for code in codes] == [True] * pairs + [False] * pairs
    assert is_present_code(np.arange(len(codes)), len(codes)).sum() == pairs


def test_a_code_is_silent_if_null_is_more_probable_than_a_word() -> None:
    assert is_silent(0.2, 0.3, 0.0)
    assert not is_silent(0.3, 0.3, 0.0)
    assert not is_silent(0.2, 0.3, math.log(0.5))
    assert is_silent(0.3, 0.2, math.log(2))


def test_infinite_biases_decide_alone() -> None:
    assert not is_silent(1e-30, 1.0, -math.inf)
    assert is_silent(1.0, 1e-30, math.inf)
