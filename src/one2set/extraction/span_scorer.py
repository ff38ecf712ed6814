"""Sight: how likely an n-gram of a text is one of its keyphrases, by what the network sees there.

The selector knows counts, and codes say few phrases; but the encoder has read every word in its
place. What it holds of an n-gram's first and last word is read here by a small network, beside the
n-gram's measures, and added to the selector's log odds. It belongs to the network that it was
fitted to (`fitting`).

Letters: S words of a text, D width of the network, H and H' hidden numbers, Q n-grams, M measures.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints, single_thread_matmul
from one2set.errors import DataError
from one2set.extraction.features import NUM_MEASURES

FILE = "sight.npz"
Views = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Sight:
    """The network, of two hidden layers."""

    edges: Float32s  # (D, 2H) what the first word of an n-gram brings, and what the last
    measures: Float32s  # (M + 1, H) what its standardised measures and its log odds bring
    bias: Float32s  # (H,)
    hidden: Float32s  # (H, H')
    hidden_bias: Float32s  # (H',)
    last: Float32s  # (H',)

    def word_states(self, states: Float32s) -> Views:
        """(S, D) → (S, 2H), all that needs to be kept of what the network holds of words."""
        return single_thread_matmul(states, self.edges).astype(np.float16)

    def __call__(
        self, measures: Float32s, odds: Float32s, word_states: Views, at: Ints, length: Ints
    ) -> Float32s:
        """(Q,) better log odds of n-grams that stand `at` some words (Q,) of a text."""
        count = len(self.bias)
        x = single_thread_matmul(np.column_stack([measures, odds]), self.measures) + self.bias
        x += word_states[at, :count]
        x += word_states[at + length - 1, count:]
        x = silu(x)  # (Q, H)
        return odds + single_thread_matmul(
            silu(single_thread_matmul(x, self.hidden) + self.hidden_bias), self.last
        )

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        arrays = {name: getattr(self, name).astype(np.float16) for name in self.__slots__}
        np.savez(folder / FILE, **arrays)

    @classmethod
    def load(cls, folder: Path) -> "Sight | None":
        """A model's; None where it has none."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            with np.load(path) as arrays:
                found = cls(**{name: arrays[name].astype(np.float32) for name in cls.__slots__})
            if found.measures.shape != (NUM_MEASURES + 1, len(found.bias)):
                raise ValueError
        except (ValueError, KeyError, OSError, EOFError):
            raise DataError(
                "is no sight", fix="make it again with one2set learn", path=path
            ) from None
        return found


def silu(x: Float32s) -> Float32s:
    """x · σ(x)"""
    found: Float32s = x * (0.5 * (1 + np.tanh(0.5 * x)))
    return found
