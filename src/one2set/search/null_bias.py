"""The bias on ∅, and the rule by which a control code is silent. Needs no torch."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from one2set.arrays import Flags

_MAX_BIAS = 80.0  # e^80 still fits into float32, and silences every code


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
