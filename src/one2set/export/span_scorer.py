"""The span scorer of an exported model: the log odds that an n-gram is a keyphrase, by the network.

It is `model.heads.SpanScorer` without torch. The first layer is part of the encoder's graph, which
computes it once per token (the *edges*); the rest is small and runs in numpy.

Shapes: S words of a text, W and W' hidden widths, Q n-grams.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from one2set.arrays import Arrays, Float32s, Ints, load_npz, silu, single_thread_matmul

FILE = "span_scorer.npz"


@dataclass(frozen=True, slots=True)
class SpanScorer:
    """The layers above the first one."""

    length: Float32s  # (longest, W) added to the first layer for n-grams of 1, 2, … words
    hidden: Float32s  # (W, W')
    hidden_bias: Float32s  # (W',)
    out: Float32s  # (W',)
    out_bias: Float32s  # (1,)

    def __call__(self, edges: Float32s, at: Ints, length: Ints) -> Float32s:
        """(Q,) log odds of n-grams that begin `at` words (Q,) of a text. Its words have edges
        (S, 2W): what the word adds if an n-gram begins with it, then if one ends with it."""
        width = self.length.shape[1]
        x = edges[at, :width] + edges[at + length - 1, width:]
        x = silu(x + self.length[np.minimum(length, len(self.length)) - 1])  # (Q, W)
        x = silu(single_thread_matmul(x, self.hidden) + self.hidden_bias)  # (Q, W')
        log_odds: Float32s = single_thread_matmul(x, self.out) + self.out_bias
        return log_odds

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        np.savez(folder / FILE, **{name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def load(cls, folder: Path) -> "SpanScorer | None":
        """The one in a model's folder; None where there is none."""

        def build(arrays: Arrays) -> "SpanScorer":
            return cls(*(arrays[name].astype(np.float32) for name in cls.__slots__))

        return load_npz(folder, (FILE,), "a span scorer", build)
