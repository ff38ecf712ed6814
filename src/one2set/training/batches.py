"""Which documents form which batch: a pure function of the seed and the epoch.

So the epoch and the batch number are enough to resume a run, and all processes agree on every batch
without communicating.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of each epoch over documents of the given lengths.

    A batch has at most `documents` documents and at most `tokens` source words, padding included; 0
    means no limit. Documents are shuffled, then sorted by length within pools of `pool` batches;
    finally the batches are shuffled.
    """

    lengths: Indices  # source words of each document
    documents: int
    tokens: int
    pool: int
    seed: int

    def epoch(self, number: int) -> list[Indices]:
        """The batches of an epoch (from 0), each as document indices, longest first."""
        generator = np.random.default_rng([self.seed, number])
        order = generator.permutation(len(self.lengths))
        if self.pool > 1:
            pools = np.arange(len(order)) // (self._typical_documents() * self.pool)
            order = order[np.lexsort([-self.lengths[order], pools])]
        batches = list(self.cut(order))
        return [batches[index] for index in generator.permutation(len(batches))]

    def cut(self, order: Indices) -> Iterator[Indices]:
        """Cut `order` into batches of consecutive documents."""
        start, longest = 0, 0
        for end, length in enumerate(self.lengths[order].tolist()):
            grown = max(longest, length)
            count = end - start
            full = 0 < self.documents <= count
            heavy = 0 < self.tokens < grown * (count + 1)
            if count and (full or heavy):
                yield self._longest_first(order[start:end])
                start, grown = end, length
            longest = grown
        if start < len(order):
            yield self._longest_first(order[start:])

    def _longest_first(self, batch: Indices) -> Indices:
        return batch[np.argsort(-self.lengths[batch], kind="stable")]

    def _typical_documents(self) -> int:
        """The approximate number of documents per batch."""
        limits = [self.documents] if self.documents else []
        if self.tokens:
            limits.append(int(self.tokens / self.lengths.mean()))
        return max(1, min(limits))


def split_batch(batch: Indices, count: int) -> list[Indices]:
    """Split a batch into `count` micro-batches, round robin: each gets long and short documents.

    If there are fewer documents than micro-batches, the last ones are empty.
    """
    return [batch[first::count] for first in range(count)]
