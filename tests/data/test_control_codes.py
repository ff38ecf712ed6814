"""The sides of control codes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.control_codes import SIDES, codes_by_side, is_present_code


@given(st.integers(1, 20))
def test_every_code_has_one_side_and_the_first_half_is_present(pairs: int) -> None:
    codes = range(2 * pairs)
    sides = codes_by_side(len(codes))
    assert tuple(sides) == SIDES
    assert [*codes[sides["present"]], *codes[sides["absent"]]] == [*codes]
    assert [is_present_code(code, len(codes)) for code in codes] == [True] * pairs + [False] * pairs
    assert is_present_code(np.arange(len(codes)), len(codes)).sum() == pairs
