"""An example: a document as dictionary ids, the input of training and prediction.

Dictionary ids are ordered by frequency, specials first. A network's vocabulary is the ids below its
size; higher ids are words that it can only copy.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Example:
    """One document.

    The first `title_length` ids of the source are the title. Present phrases are in the order of
    their first occurrence, absent ones in the author's order. Words that are not in the dictionary
    have the ids after it; `unknown` has their text.
    """

    id: str
    source: Ids  # (S,)
    title_length: int
    present: tuple[Ids, ...] = ()
    absent: tuple[Ids, ...] = ()
    unknown: tuple[str, ...] = ()
