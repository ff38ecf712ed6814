"""The candidate scorer: the log odds that an n-gram of a text is a keyphrase, from its features.

A small MLP of two hidden layers (`fit_knowledge` fits it), which runs without torch. A
`span_rescorer` corrects it by the encoder's states, where a model has one. Its output is one of the
inputs of a calibration, which also knows what the control codes generate.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints
from one2set.extraction.arrays import (
    Arrays,
    check_shapes,
    load_arrays,
    save_arrays,
    single_thread_matmul,
)
from one2set.extraction.features import (
    NUM_FEATURES,
    CandidateNgrams,
    check_feature_names,
    encode_feature_names,
)
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import HashedTexts
from one2set.extraction.span_rescorer import SpanRescorer, WordStates, silu

FILE = "candidate_scorer.safetensors"
MIN_LOG_ODDS = -4.0  # n-grams below it are no candidates
_MAX_DEVIATIONS = 6.0  # standardised features are clipped here


@dataclass(frozen=True, slots=True)
class FeatureMLP:
    """The MLP on F features, with hidden widths H and H'."""

    mean: Float32s  # (F,)
    scale: Float32s  # (F,) standard deviations
    weights: tuple[Float32s, Float32s, Float32s]  # (F, H), (H, H'), (H', 1)
    biases: tuple[Float32s, Float32s, Float32s]  # (H,), (H',), (1,)

    def __call__(self, features: Float32s) -> Float32s:
        """(Q, F) → (Q,) log odds of being a keyphrase."""
        x = self.standardize(features)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = silu(single_thread_matmul(x, weight) + bias)
        log_odds: Float32s = single_thread_matmul(x, self.weights[-1][:, 0]) + self.biases[-1]
        return log_odds

    def standardize(self, features: Float32s) -> Float32s:
        """(Q, F) → (Q, F)"""
        deviations = (features - self.mean) / self.scale
        clipped: Float32s = np.clip(deviations, -_MAX_DEVIATIONS, _MAX_DEVIATIONS)
        return clipped


@dataclass(frozen=True, slots=True)
class CandidateScorer:
    """The lexicon, the MLP on the features, and the span rescorer of the model it belongs to."""

    lexicon: Lexicon
    mlp: FeatureMLP
    span_rescorer: SpanRescorer | None = None

    def select(
        self, text: HashedTexts, word_states: WordStates | None = None
    ) -> tuple[Ints, Ints, Float32s]:
        """The n-grams of one document with at least `MIN_LOG_ODDS`: the index of the first word of
        their first occurrence, their lengths and their log odds, rescored if the states of the
        document's words are given.  (q,) each"""
        ngrams = CandidateNgrams(text, self.lexicon)
        if not len(ngrams.hash):
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        features = ngrams.features()
        log_odds = self.mlp(features)
        likely = log_odds >= MIN_LOG_ODDS
        at, length, log_odds = ngrams.at[likely], ngrams.length[likely], log_odds[likely]
        if self.span_rescorer is not None and word_states is not None:
            standardized = self.mlp.standardize(features[likely])
            log_odds = self.span_rescorer(standardized, log_odds, word_states, at, length)
        return at, length, log_odds

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        self.lexicon.save(folder)
        arrays: dict[str, NDArray[Any]] = {"mean": self.mlp.mean, "scale": self.mlp.scale}
        for layer, (weight, bias) in enumerate(zip(self.mlp.weights, self.mlp.biases, strict=True)):
            arrays |= {f"weight{layer}": weight, f"bias{layer}": bias}
        save_arrays(folder / FILE, {**arrays, "feature_names": encode_feature_names()})
        if self.span_rescorer is not None:
            self.span_rescorer.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "CandidateScorer | None":
        """Load it from a model's folder; None if it has none."""
        lexicon = Lexicon.load(folder)
        mlp = load_arrays(folder, FILE, "a candidate scorer", _load_mlp)
        if lexicon is None or mlp is None:
            return None
        return cls(lexicon, mlp, SpanRescorer.load(folder))


def _load_mlp(arrays: Arrays) -> FeatureMLP:
    first, second, third = (arrays[f"weight{layer}"] for layer in range(3))
    shapes = {"weight0": "FH", "bias0": "H", "weight1": "HG", "bias1": "G"}
    check_shapes(arrays, {"mean": "F", "scale": "F", **shapes, "weight2": "G1", "bias2": "1"})
    if len(first) != NUM_FEATURES:
        raise ValueError
    check_feature_names(arrays)
    biases = arrays["bias0"], arrays["bias1"], arrays["bias2"]
    return FeatureMLP(arrays["mean"], arrays["scale"], (first, second, third), biases)
