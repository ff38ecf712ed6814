"""The encoder–decoder interface that losses, search and the engine use.

A network encodes documents into a *memory* and decodes *rows*: one per document, or one per control
code. A *cell* is a token position of a row; cells of padding are not real. `decode` runs all cells
of known rows at once (teacher forcing); `start` and `step` decode token by token and give the same
mixtures.

Shapes: B documents, R rows per document, L cells per row, C real cells of a batch.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.specials import PAD, UNK
from one2set.model.pointer import CopySource, Mixture


@dataclass(frozen=True)
class Memory:
    """The encoded documents; each network adds what its decoder needs."""

    lengths: tuple[int, ...]
    copy_source: CopySource


@dataclass
class State(ABC):
    """Rows during decoding, sorted by document. Each `Network.step` updates it."""

    memory: Memory
    documents: list[int]  # the document of each row

    @property
    def counts(self) -> list[int]:
        """The number of rows of each document."""
        counts = [0] * len(self.memory.lengths)
        for document in self.documents:
            counts[document] += 1
        return counts

    def documents_of(self, rows: Tensor) -> list[int]:
        """The document of each of some rows."""
        return [self.documents[row] for row in rows.tolist()]

    @abstractmethod
    def select(self, rows: Tensor) -> Self:
        """Select rows, possibly repeated. They must stay sorted by document."""


class Network(nn.Module, ABC):
    """Encoder–decoder interface. Pass a network only memories and states it created itself."""

    rows: int = 1  # rows per document
    vocabulary_size: int
    dropout: float
    arguments: dict[str, Any]  # plain values, to build it again

    @abstractmethod
    def encode(self, batch: Batch) -> Memory:
        """Encode the sources of a batch."""

    @abstractmethod
    def decode(self, memory: Any, inputs: Tensor, mask: Tensor) -> Mixture:
        """Mixtures for the C real cells, in order, each given its own input.

        inputs (B, R, L) extended ids; mask (B, R, L), True = real, the first cells of each row.
        """

    @abstractmethod
    def start(self, memory: Any, *, steps: int) -> State:
        """The state before the first step of all rows, with room for `steps` tokens."""

    @abstractmethod
    def step(self, state: Any, tokens: Tensor) -> Mixture:
        """Mixtures for the next token of each row, given its last one: (rows,) extended ids."""


def embed_tokens(tokens: Tensor, embedding: nn.Embedding) -> Tensor:
    """(…, E) decoder inputs for extended ids (…); unknown words as `<unk>`."""
    known = tokens.where(tokens < embedding.num_embeddings, UNK)
    # A sparse gradient is added to the encoder's dense one without a second table of V × E.
    return F.embedding(known, embedding.weight, PAD, sparse=True)
