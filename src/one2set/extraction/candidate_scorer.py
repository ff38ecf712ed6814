"""The selector: how likely an n-gram of a text is one of its keyphrases, by its measures alone.

A small network of two hidden layers (`fitting` trains it), without torch; `sight` adds what the
model's encoder sees, where it has one. What they say is one of the inputs of a calibration, which
knows besides what the model's codes say.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from one2set.arrays import Float32s, Ints, single_thread_matmul
from one2set.errors import DataError
from one2set.extraction.features import NUM_MEASURES, Grams
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import Words
from one2set.extraction.span_scorer import Sight, Views, silu

FILE = "selector.npz"
UNLIKELY = -4.0  # log odds: n-grams below it are no candidates
FAR = 6.0  # standard deviations, beyond which a measure says no more


@dataclass(frozen=True, slots=True)
class Layers:
    """The network. H hidden numbers of either layer."""

    centre: Float32s  # (M,) the mean of each measure
    scale: Float32s  # (M,) its standard deviation
    weights: tuple[Float32s, Float32s, Float32s]  # (M, H), (H, H'), (H', 1)
    biases: tuple[Float32s, Float32s, Float32s]  # (H,), (H',), (1,)

    def __call__(self, measures: Float32s) -> Float32s:
        """(Q, M) → (Q,) log odds of being a keyphrase."""
        x = self.standardised(measures)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = silu(single_thread_matmul(x, weight) + bias)
        odds: Float32s = single_thread_matmul(x, self.weights[-1][:, 0]) + self.biases[-1]
        return odds

    def standardised(self, measures: Float32s) -> Float32s:
        """(Q, M) → (Q, M)"""
        found: Float32s = np.clip((measures - self.centre) / self.scale, -FAR, FAR)
        return found


@dataclass(frozen=True, slots=True)
class Selector:
    """Lexicon, network, and the sight of the model that it is stored with."""

    lexicon: Lexicon
    layers: Layers
    sight: Sight | None = None

    def select(self, text: Words, word_states: Views | None = None) -> tuple[Ints, Ints, Float32s]:
        """The n-grams of one document that are not `UNLIKELY`: where each first stands, its length
        and its log odds, by sight too if there are views of its words.  (q,) each"""
        grams = Grams(text, self.lexicon)
        if not len(grams.hash):
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        measures = grams.measures()
        odds = self.layers(measures)
        likely = odds >= UNLIKELY
        at, length, odds = grams.at[likely], grams.length[likely], odds[likely]
        if self.sight is not None and word_states is not None:
            odds = self.sight(
                self.layers.standardised(measures[likely]), odds, word_states, at, length
            )
        return at, length, odds

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        self.lexicon.save(folder)
        arrays = {"centre": self.layers.centre, "scale": self.layers.scale}
        for number, (weight, bias) in enumerate(
            zip(self.layers.weights, self.layers.biases, strict=True)
        ):
            arrays |= {f"weight{number}": weight, f"bias{number}": bias}
        np.savez(folder / FILE, **arrays)  # type: ignore[arg-type]  # numpy/numpy#23206
        if self.sight is not None:
            self.sight.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Selector | None":
        """A model's; None where it has none."""
        path, lexicon = folder / FILE, Lexicon.load(folder)
        if lexicon is None or not path.exists():
            return None
        try:
            with np.load(path) as arrays:
                first, second, third = (arrays[f"weight{number}"] for number in range(3))
                biases = arrays["bias0"], arrays["bias1"], arrays["bias2"]
                layers = Layers(arrays["centre"], arrays["scale"], (first, second, third), biases)
            if layers.weights[0].shape[0] != NUM_MEASURES:
                raise ValueError
        except (ValueError, KeyError, OSError, EOFError):
            raise DataError(
                "is no selector", fix="make it again with one2set learn", path=path
            ) from None
        return cls(lexicon, layers, Sight.load(folder))
