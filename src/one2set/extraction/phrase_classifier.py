"""The phrase classifier: which phrases of a list are keyphrases of a text, from its terms.

The terms of a text are its words and those n-grams that many training texts contain. Every term and
every phrase has a vector. The vector of a text is a weighted sum over its terms, and
P(phrase | text) = softmax(phrases · text + bias), as in fastText (Joulin et al., 2017). It is
fitted on training documents in some minutes, and finds absent phrases that no code generates.

Shapes: V terms, A phrases, W width, B documents of a batch, D of some texts, U terms of theirs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints
from one2set.errors import missing_extra
from one2set.extraction.arrays import (
    Arrays,
    check_shapes,
    distinct,
    find_sorted,
    load_arrays,
    save_arrays,
    single_thread_matmul,
)
from one2set.extraction.lexicon import Keys, Lexicon, key_of
from one2set.extraction.ngrams import HashedTexts

if TYPE_CHECKING:
    from torch import Tensor

FILE = "phrase_classifier.safetensors"
_MIN_WORD_TEXTS, _MIN_NGRAM_TEXTS = 20, 40  # that contain a term
_LONGEST = 3  # words of a term
_WIDTH, _EPOCHS, _BATCH, _RATE, _WARMUP, _DROPOUT = 128, 3, 256, 4e-3, 100, 0.1
_MIN_STEPS = 300
Int8s = NDArray[np.int8]


class Bags(NamedTuple):
    """The distinct terms of texts, and again those of their titles."""

    terms: Ints  # (U,) indices, text after text
    weights: Float32s  # (U,)
    start: Ints  # (D + 1,) where those of each text begin

    @classmethod
    def of(cls, texts: HashedTexts, keys: Keys, longest: int) -> "Bags":
        """Find the terms of texts. A term has at most `longest` words."""
        every, ends = np.ones(len(texts.hash), np.bool_), texts.start + texts.title
        term_ids, in_title = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        for length in range(1, longest + 1):
            at, hashes = texts.ngrams(length, every, every)
            index = find_sorted(keys, key_of(hashes))
            known = index >= 0
            document = texts.document[at[known]]
            term_ids.append(document * len(keys) + index[known])
            in_title.append(at[known] + length <= ends[document])
        every_term, of_title = np.concatenate(term_ids), np.concatenate(in_title)
        parts = [distinct(every_term), distinct(every_term[of_title])]
        document, index = np.divmod(np.concatenate(parts), len(keys))  # nothing, where no keys are
        weights = [_weigh(part // len(keys), len(texts.start)) for part in parts]
        order = np.argsort(document, kind="stable")
        return cls(
            index[order],
            np.concatenate(weights)[order],
            np.searchsorted(document[order], np.arange(len(texts.start) + 1)),
        )


def _weigh(document: Ints, documents: int) -> Float32s:
    """(U,) 1 / √(1 + the number of terms) for terms of these documents."""
    counts = np.bincount(document, minlength=documents)
    return (1 / np.sqrt(counts[document] + 1)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class PhraseClassifier:
    """The vectors of terms and phrases."""

    keys: Keys  # (V,) of terms, sorted
    terms: Int8s  # (V, W)
    terms_scale: Float32s  # (V,) a term's vector is its row times its scale
    phrases: Float32s  # (A, W)
    bias: Float32s  # (A,)
    prior: Float32s  # (A,) log P(phrase)
    longest: int  # words of a term

    def embed(self, text: HashedTexts) -> Float32s:
        """(W,) the vector of one text."""
        vector: Float32s = self.embed_all(text)[0]
        return vector

    def embed_all(self, texts: HashedTexts) -> Float32s:
        """(D, W) the vectors of texts."""
        bags = Bags.of(texts, self.keys, self.longest)
        vectors = np.empty((len(texts.start), self.terms.shape[1]), np.float32)
        for number, (start, end) in enumerate(pairwise(bags.start.tolist())):
            terms = bags.terms[start:end]
            rows = self.terms[terms].astype(np.float32)  # (u, W)
            weights = bags.weights[start:end] * self.terms_scale[terms]
            vectors[number] = single_thread_matmul(rows.T, weights)
        return vectors

    def __call__(self, vector: Float32s) -> tuple[Float32s, Float32s]:
        """For the vector (W,) of a text: log P(phrase | text), and the pointwise mutual information
        log P(phrase | text) − log P(phrase).  (A,), (A,)"""
        logits = single_thread_matmul(self.phrases, vector) + self.bias
        highest = logits.max(initial=0.0)
        log_probabilities = logits - highest - np.log(np.exp(logits - highest).sum())
        return log_probabilities, log_probabilities - self.prior

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        phrases, phrases_scale = quantize_rows(self.phrases)
        arrays = {name: np.asarray(getattr(self, name)) for name in self.__slots__}
        arrays |= {"phrases": phrases, "phrases_scale": phrases_scale}
        save_arrays(folder / FILE, arrays)

    @classmethod
    def load(cls, folder: Path) -> "PhraseClassifier | None":
        """Load it from a model's folder; None if it has none."""

        def build(arrays: Arrays) -> "PhraseClassifier":
            shapes = {"keys": "V", "terms": "TW", "terms_scale": "T", "phrases": "AW"}
            check_shapes(arrays, {**shapes, "phrases_scale": "A", "bias": "A", "prior": "A"})
            longest = int(arrays["longest"])
            if len(arrays["terms"]) < len(arrays["keys"]) or not 0 < longest <= 2 * _LONGEST:
                raise ValueError(f"there are too few terms, or terms of {longest} words")
            return cls(
                keys=arrays["keys"],
                terms=arrays["terms"],
                terms_scale=arrays["terms_scale"],
                phrases=arrays["phrases"] * arrays["phrases_scale"][:, None],
                bias=arrays["bias"],
                prior=arrays["prior"],
                longest=longest,
            )

        return load_arrays(folder, FILE, "a phrase classifier", build)


def quantize_rows(table: Float32s) -> tuple[Int8s, Float32s]:
    """A table (R, W) as int8, and the scales of its rows (R,)."""
    scale = (np.abs(table).max(axis=1, initial=1e-9) / 127).astype(np.float32)
    return np.round(table / scale[:, None]).astype(np.int8), scale


def fit_phrase_classifier(
    texts: Iterable[HashedTexts],
    targets: Sequence[Sequence[int]],
    counts: Sequence[int],
    lexicon: Lexicon,
) -> PhraseClassifier:
    """Fit it to texts of many documents. `targets` are the indices of each document's keyphrases
    among the A phrases, `counts` (A,) the documents that have each phrase."""
    try:
        import torch
        from torch.nn.functional import dropout, embedding_bag
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a phrase classifier") from None

    keys = _choose_terms(lexicon)
    bags = [Bags.of(text, keys, _LONGEST) for text in texts]
    # Of each document: its terms and their weights, views of arrays.
    by_document = [
        (bag.terms[start:end], bag.weights[start:end])
        for bag in bags
        for start, end in pairwise(bag.start.tolist())
    ]
    generator = torch.Generator().manual_seed(0)
    terms = torch.randn(max(len(keys), 1), _WIDTH, generator=generator) * 0.1
    phrases = torch.randn(len(counts), _WIDTH, generator=generator) * 0.05
    prior = torch.tensor(counts, dtype=torch.float32).div(max(sum(counts), 1)).log()
    weights = [terms.requires_grad_(), phrases.requires_grad_(), prior.clone().requires_grad_()]
    optimizer = torch.optim.Adam(weights, fused=True)

    def logits(chosen: Sequence[int]) -> "Tensor":
        rows = [by_document[document] for document in chosen]
        starts = np.cumsum([0, *(len(which) for which, _ in rows[:-1])])
        summed = embedding_bag(
            torch.from_numpy(np.concatenate([which for which, _ in rows])),
            weights[0],
            torch.from_numpy(starts),
            mode="sum",
            per_sample_weights=torch.from_numpy(np.concatenate([share for _, share in rows])),
        )
        return dropout(summed, _DROPOUT) @ weights[1].T + weights[2]  # (B, A)

    useful = [document for document, phrases_of in enumerate(targets) if phrases_of]
    batch = min(_BATCH, max(len(useful), 1))
    epochs = max(_EPOCHS, _MIN_STEPS // max(len(useful) // batch, 1))
    steps, step = epochs * (len(useful) // batch), 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for _ in range(epochs):
            order = torch.randperm(len(useful), generator=generator).tolist()
            for at in range(0, len(useful) - batch + 1, batch):
                step, chosen = step + 1, [useful[index] for index in order[at : at + batch]]
                rows = [row for row, document in enumerate(chosen) for _ in targets[document]]
                columns = [phrase for document in chosen for phrase in targets[document]]
                loss = -logits(chosen).log_softmax(dim=1)[rows, columns].mean()
                factor = min(step / _WARMUP, 1) * (1 - (step - 1) / steps)
                optimizer.param_groups[0]["lr"] = _RATE * factor
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    arrays = [weight.detach().numpy() for weight in weights]
    return PhraseClassifier(
        keys, *quantize_rows(arrays[0]), arrays[1], arrays[2], prior.numpy(), _LONGEST
    )


def _choose_terms(lexicon: Lexicon) -> Keys:
    """The keys of words that are neither rare nor stop words, and of frequent n-grams."""
    counts = lexicon.every_word()
    informative = (counts.may_begin | counts.may_end) & (counts.texts >= _MIN_WORD_TEXTS)
    _, texts = np.expm1(lexicon.phrase_logs.astype(np.float64)).T
    frequent = lexicon.phrase_keys[texts >= _MIN_NGRAM_TEXTS]
    return np.union1d(lexicon.word_keys[informative], frequent)
