"""What every network is to the rest: to losses, to decoding, to the engine.

A network reads documents into a *memory* and writes *rows*: one per document, or one per control
code. `decode` runs all cells of known rows at once (teacher forcing); `start` and `step` write them
word by word and give the same mixtures.

Shapes: B documents, R rows per document, L cells per row, C real cells of a batch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.model.pointer import CopySource, Mixture


@dataclass(frozen=True)
class Memory:
    """What a network knows of the documents; each adds what its decoder wants to keep."""

    lengths: tuple[int, ...]
    copy_source: CopySource


@dataclass
class State(ABC):
    """Rows that are being written, sorted by document. Each `step` of the network moves it on."""

    memory: Memory
    documents: list[int]  # the document of each row

    @property
    def counts(self) -> list[int]:
        """How many rows each document has."""
        counts = [0] * len(self.memory.lengths)
        for document in self.documents:
            counts[document] += 1
        return counts

    @abstractmethod
    def select(self, rows: Tensor) -> Self:
        """Some of the rows, or some of them repeatedly; they must stay sorted by document."""


class Network(nn.Module, ABC):
    """A memory or state that a method takes is one that the same network has given."""

    rows: int = 1  # that it writes for a document
    vocabulary_size: int
    dropout: float
    arguments: dict[str, Any]  # plain values that build it again

    @abstractmethod
    def encode(self, batch: Batch) -> Memory:
        """Read the sources of a batch."""

    @abstractmethod
    def decode(self, memory: Any, inputs: Tensor, mask: Tensor) -> Mixture:
        """Mixtures for the C real cells, in their order, of which each reads its own input.

        inputs (B, R, L) extended ids; mask (B, R, L), True = real, the first cells of each row.
        """

    @abstractmethod
    def start(self, memory: Any, *, steps: int) -> State:
        """All rows of all documents, with room for `steps` words."""

    @abstractmethod
    def step(self, state: Any, tokens: Tensor) -> Mixture:
        """Mixtures for the next word of each row, which last wrote (rows,) extended ids."""
