"""An example: a document as dictionary ids, the one form in which training and generation see it.

Dictionary ids are ordered by frequency, specials first. A network's vocabulary is the ids below its
size; higher ids are words that it can only copy.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Example:
    """One document.

    The first `title_length` of the source's words are the title's. Present phrases stand in the
    order of their first occurrence, absent ones in author order. Words that even the dictionary
    lacks have the ids that follow it; `unknown` spells them.
    """

    id: str
    source: Ids  # (S,)
    title_length: int
    present: tuple[Ids, ...] = ()
    absent: tuple[Ids, ...] = ()
    unknown: tuple[str, ...] = ()


class Examples(Sequence[Example]):
    """Examples that are made or read one by one, as they are asked for."""

    __slots__ = ()

    @abstractmethod
    def at(self, index: int) -> Example:
        """The one at 0 … length − 1."""

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return [self.at(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.at(index % len(self))
