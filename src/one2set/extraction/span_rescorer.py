"""The span rescorer: corrects the log odds of n-grams by the encoder's states.

The candidate scorer knows counts only, but the encoder has read every word in context. A small MLP
reads the encoder states of an n-gram's first and last word beside its features, and its output is
added to the candidate scorer's log odds. It is fitted to one network (`fit_knowledge`), and runs
without torch. (`model.heads.SpanScorer` is another model: a torch head that scores spans alone.)

Shapes: S words of a text, D width of the network, H and H' hidden widths, Q n-grams, F features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints
from one2set.data.text import Span
from one2set.errors import DataError
from one2set.extraction.arrays import (
    Arrays,
    check_shapes,
    load_arrays,
    save_arrays,
    single_thread_matmul,
)
from one2set.extraction.features import NUM_FEATURES, check_feature_names, encode_feature_names
from one2set.prediction.prediction import TokenStates

FILE = "span_rescorer.safetensors"
WordStates = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class SpanRescorer:
    """The MLP, with two hidden layers."""

    edges: Float32s  # (D, 2H) weights of the first word's state, then of the last word's
    features: Float32s  # (F + 1, H) weights of the standardised features and the log odds
    bias: Float32s  # (H,)
    hidden: Float32s  # (H, H')
    hidden_bias: Float32s  # (H',)
    last: Float32s  # (H',)

    def project(self, states: Float32s) -> WordStates:
        """(S, D) → (S, 2H): the part of the first layer that depends on one word only."""
        if states.shape[1] != len(self.edges):
            raise DataError(
                f"the span rescorer is for states of width {len(self.edges)}, the network has "
                f"{states.shape[1]}",
                fix="make the model again with one2set learn",
            )
        return single_thread_matmul(states, self.edges).astype(np.float16)

    def __call__(
        self,
        features: Float32s,
        log_odds: Float32s,
        word_states: WordStates,
        at: Ints,
        length: Ints,
    ) -> Float32s:
        """(Q,) corrected log odds of n-grams that begin `at` words (Q,) of a text."""
        width = len(self.bias)
        x = single_thread_matmul(np.column_stack([features, log_odds]), self.features) + self.bias
        x += word_states[at, :width]
        x += word_states[at + length - 1, width:]
        x = silu(x)  # (Q, H)
        x = silu(single_thread_matmul(x, self.hidden) + self.hidden_bias)  # (Q, H')
        return log_odds + single_thread_matmul(x, self.last)

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, in float16."""
        arrays = {name: getattr(self, name).astype(np.float16) for name in self.__slots__}
        save_arrays(folder / FILE, {**arrays, "feature_names": encode_feature_names()})

    @classmethod
    def load(cls, folder: Path) -> "SpanRescorer | None":
        """Load it from a model's folder; None if it has none."""

        def build(arrays: Arrays) -> "SpanRescorer":
            shapes = {"edges": "DE", "features": "FH", "bias": "H", "hidden": "HG"}
            check_shapes(arrays, {**shapes, "hidden_bias": "G", "last": "G"})
            rescorer = cls(*(arrays[name].astype(np.float32) for name in cls.__slots__))
            hidden = len(rescorer.bias)
            if len(rescorer.features) != NUM_FEATURES + 1 or rescorer.edges.shape[1] != 2 * hidden:
                raise ValueError
            check_feature_names(arrays)
            return rescorer

        return load_arrays(folder, FILE, "a span rescorer", build)


def pool_states(states: TokenStates, words: Sequence[Span]) -> NDArray[Any]:
    """The states of words at these spans of a document's text: the mean over the tokens of a word,
    and 0 where none was read.  (words, ·)"""
    start, end = np.array(states.spans).T
    begins, ends = np.reshape(words, (-1, 2)).T  # tokens may be of no word
    first = np.searchsorted(end, begins, side="right")
    count = np.maximum(np.searchsorted(start, ends) - first, 0) * (ends > begins)
    total = np.zeros((len(states.values) + 1, states.values.shape[1]))
    np.cumsum(states.values, axis=0, dtype=np.float64, out=total[1:])
    mean = (total[first + count] - total[first]) / np.maximum(count, 1)[:, None]
    pooled: NDArray[Any] = mean.astype(states.values.dtype)
    return pooled


def silu(x: Float32s) -> Float32s:
    """x · σ(x)"""
    product: Float32s = x * (0.5 * (1 + np.tanh(0.5 * x)))
    return product
