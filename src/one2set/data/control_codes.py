"""Control codes: which generate present phrases and which absent ones, and when one is silent.

Needs no torch, and numpy only to compare arrays.
"""

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from one2set.arrays import Flags

Side = Literal["present", "absent"]
SIDES: tuple[Side, Side] = ("present", "absent")
_MAX_BIAS = 80.0  # e^80 still fits into float32, and silences every code


def codes_by_side(num_codes: int) -> dict[str, slice]:
    """The codes of each side: the first half is for present phrases, the second for absent ones."""
    half = num_codes // 2
    return {"present": slice(0, half), "absent": slice(half, num_codes)}


def is_present_code(code: Any, num_codes: int) -> Any:
    """Whether a code is for present phrases; elementwise for an array of codes."""
    return code < codes_by_side(num_codes)["present"].stop


class NullBias(NamedTuple):
    """Added to log P(∅) at the first token of a control code, for the codes of present and of
    absent phrases. Negative values give more phrases, positive ones fewer."""

    present: float = 0.0
    absent: float = 0.0


AS_TRAINED = NullBias()
NO_NULL = NullBias(-math.inf, -math.inf)  # every code generates a phrase, never ∅


def is_silent(word: Any, null: Any, bias: Any) -> "Flags":
    """Whether codes generate ∅: P(∅)·e^bias > P(word), for numbers or for arrays of one shape."""
    import numpy as np  # not at the top: the command line starts without numpy

    factor = np.exp(np.minimum(bias, _MAX_BIAS)).astype(np.float32)
    silent: Flags = np.asarray(null * factor > word)
    return silent
