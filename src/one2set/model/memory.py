"""What a Transformer decoder remembers: the documents, and the rows that it has begun to write.

Shapes: S source words, D width; ΣS is packed, the words of all documents without padding.
"""

from dataclasses import dataclass

from torch import Tensor

from one2set.model.network import Memory, State

KeysValues = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The documents, ready to be attended to."""

    states: Tensor  # (ΣS, D)
    keys_values: list[KeysValues]  # of each decoder layer, (ΣS, D)


@dataclass
class Cache:
    """The keys and values of what the rows have written, in one decoder layer."""

    key: Tensor  # (rows, steps, D), of which `length` steps are filled
    value: Tensor
    length: int = 0

    def append(self, key: Tensor, value: Tensor) -> KeysValues:
        """Keep those of a further step (rows, D); all until now (rows, length, D)."""
        self.key[:, self.length], self.value[:, self.length] = key, value
        self.length += 1
        return self.key[:, : self.length], self.value[:, : self.length]

    def select(self, rows: Tensor) -> "Cache":
        return Cache(self._selected(self.key, rows), self._selected(self.value, rows), self.length)

    def _selected(self, x: Tensor, rows: Tensor) -> Tensor:
        new = x.new_empty(len(rows), *x.shape[1:])
        new[:, : self.length] = x[rows, : self.length]
        return new


@dataclass
class TransformerState(State):
    """Rows, and all that they have written."""

    memory: TransformerMemory
    row: Tensor  # (rows,) which of its document's rows it is
    caches: list[Cache]  # of each decoder layer
    step: int = 0

    def select(self, rows: Tensor) -> "TransformerState":
        return TransformerState(
            self.memory,
            [self.documents[row] for row in rows.tolist()],
            self.row[rows],
            [cache.select(rows) for cache in self.caches],
            self.step,
        )
