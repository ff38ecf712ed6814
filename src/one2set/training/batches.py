"""Which documents make which batch: a pure function of the seed and the epoch.

So a run continues where it was by two numbers, and any number of processes agree on every batch
without a word between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of every epoch over documents of the given lengths.

    A batch has at most `documents` documents, and at most `tokens` source words when each of its
    documents is as long as the longest; 0 is no limit. Documents are shuffled, and sorted by length
    within pools of `pool` batches; then the batches are shuffled.
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
            pools = np.arange(len(order)) // (self._usual_documents() * self.pool)
            order = order[np.lexsort([-self.lengths[order], pools])]
        batches = list(self.cut(order))
        return [batches[index] for index in generator.permutation(len(batches))]

    def cut(self, order: Indices) -> Iterator[Indices]:
        """Batches of documents that follow one another in `order`."""
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

    def _usual_documents(self) -> int:
        """About as many documents as a batch holds."""
        limits = [self.documents] if self.documents else []
        if self.tokens:
            limits.append(int(self.tokens / self.lengths.mean()))
        return max(1, min(limits))


def deal(batch: Indices, shares: int) -> list[Indices]:
    """A batch in so many shares, dealt out like cards: each gets long documents and short ones.

    A batch of fewer documents leaves the last shares empty.
    """
    return [batch[share::shares] for share in range(shares)]
