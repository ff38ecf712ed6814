"""The phrase classifier: which phrases of a list are keyphrases of a text, from its bag of words.

Every word and every phrase has a vector. The vector of a text is a weighted sum over its words, and
P(phrase | text) = softmax(phrases · text + bias). It is fitted on training documents in a minute or
two, and finds absent phrases that no code generates. (`model.heads.PhraseClassifier` is another
model: a torch head on the encoder's states.)

Shapes: V words, A phrases, D width, B documents, S words of a text, U distinct ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Arrays, Float32s, Ints, load_npz, single_thread_matmul
from one2set.errors import missing_extra
from one2set.extraction.lexicon import Keys, Lexicon, key_of
from one2set.extraction.ngrams import HashedTexts, Hashes

if TYPE_CHECKING:
    from torch import Tensor

FILE = "phrase_classifier.npz"
OLD_FILE = "associations.npz"
_MIN_TEXTS = 20  # that contain a word
_WIDTH, _EPOCHS, _BATCH, _RATE, _WARMUP, _DROPOUT = 64, 2, 256, 4e-3, 100, 0.1
_MIN_STEPS = 300


@dataclass(frozen=True, slots=True)
class BagOfWordsClassifier:
    """The vectors of words and phrases."""

    keys: Keys  # (V,) of words, sorted
    words: Float32s  # (V + 1, D); the last one, of unknown words, is zero
    phrases: Float32s  # (A, D)
    bias: Float32s  # (A,)
    prior: Float32s  # (A,) log P(phrase)

    def __call__(self, text: HashedTexts) -> tuple[Float32s, Float32s]:
        """For one text: log P(phrase | text), and the pointwise mutual information
        log P(phrase | text) − log P(phrase).  (A,), (A,)"""
        which, weights = _bag(text.hash, int(text.title[0]), self.keys)
        vector = single_thread_matmul(self.words[which].T, weights)  # (D,)
        logits = single_thread_matmul(self.phrases, vector) + self.bias
        highest = logits.max(initial=0.0)
        log_probabilities = logits - highest - np.log(np.exp(logits - highest).sum())
        return log_probabilities, log_probabilities - self.prior

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, the vectors as int8."""
        arrays: dict[str, NDArray[np.generic]] = {
            "keys": self.keys,
            "bias": self.bias,
            "prior": self.prior,
        }
        for name, table in (("words", self.words), ("phrases", self.phrases)):
            scale = np.abs(table).max(axis=1, initial=1e-9) / 127
            arrays[name] = np.round(table / scale[:, None]).astype(np.int8)
            arrays[f"{name}_scale"] = scale.astype(np.float32)
        np.savez_compressed(folder / FILE, **arrays)  # type: ignore[arg-type]  # numpy/numpy#23206

    @classmethod
    def load(cls, folder: Path) -> "BagOfWordsClassifier | None":
        """The one in a model's folder; None where there is none."""

        def build(arrays: Arrays) -> "BagOfWordsClassifier":
            words, phrases = (
                arrays[name].astype(np.float32) * arrays[f"{name}_scale"][:, None]
                for name in ("words", "phrases")
            )
            return cls(arrays["keys"], words, phrases, arrays["bias"], arrays["prior"])

        return load_npz(folder, (FILE, OLD_FILE), "a phrase classifier", build)


def _bag(hashes: Hashes, title: int, keys: Keys) -> tuple[Ints, Float32s]:
    """The distinct words (S,) of a text, then those of its title: indices and weights.
    (U,), (U,)"""
    bags = [_known(part, keys) for part in (hashes, hashes[:title])]
    weights = [np.full(len(bag), 1 / np.sqrt(len(bag) + 1), np.float32) for bag in bags]
    return np.concatenate(bags), np.concatenate(weights)


def _known(hashes: Hashes, keys: Keys) -> Ints:
    """The indices of the distinct known words."""
    wanted = np.unique(key_of(hashes))
    at = np.searchsorted(keys, wanted)
    at, wanted = at[at < len(keys)], wanted[at < len(keys)]
    found: Ints = at[keys[at] == wanted]
    return found


def fit_phrase_classifier(
    texts: Iterable[HashedTexts],
    targets: Sequence[Sequence[int]],
    counts: Sequence[int],
    lexicon: Lexicon,
) -> BagOfWordsClassifier:
    """Fit it to texts of many documents. `targets` are the indices of each document's keyphrases
    among the A phrases, `counts` (A,) the documents that have each phrase."""
    try:
        import torch
        from torch.nn.functional import dropout, embedding_bag
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a phrase classifier") from None

    keys = _informative_words(lexicon)
    bags = [
        _bag(hashes, title, keys)
        for text in texts
        for hashes, title in zip(
            np.split(text.hash, text.start[1:]), text.title.tolist(), strict=True
        )
    ]
    generator = torch.Generator().manual_seed(0)
    words = torch.randn(len(keys) + 1, _WIDTH, generator=generator) * 0.1
    phrases = torch.randn(len(counts), _WIDTH, generator=generator) * 0.05
    prior = torch.tensor(counts, dtype=torch.float32).div(max(sum(counts), 1)).log()
    weights = [words.requires_grad_(), phrases.requires_grad_(), prior.clone().requires_grad_()]
    optimizer = torch.optim.Adam(weights)

    def logits(chosen: Sequence[int]) -> "Tensor":
        given = [bags[one] for one in chosen]
        starts = np.cumsum([0, *(len(which) for which, _ in given[:-1])])
        summed = embedding_bag(
            torch.from_numpy(np.concatenate([which for which, _ in given])),
            weights[0],
            torch.from_numpy(starts),
            mode="sum",
            per_sample_weights=torch.from_numpy(np.concatenate([share for _, share in given])),
        )
        return dropout(summed, _DROPOUT) @ weights[1].T + weights[2]  # (B, A)

    useful = [one for one, phrases_of in enumerate(targets) if phrases_of]
    batch = min(_BATCH, max(len(useful), 1))
    epochs = max(_EPOCHS, _MIN_STEPS // max(len(useful) // batch, 1))
    steps, step = epochs * (len(useful) // batch), 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for _ in range(epochs):
            order = torch.randperm(len(useful), generator=generator).tolist()
            for at in range(0, len(useful) - batch + 1, batch):
                step, chosen = step + 1, [useful[one] for one in order[at : at + batch]]
                rows = [row for row, one in enumerate(chosen) for _ in targets[one]]
                columns = [phrase for one in chosen for phrase in targets[one]]
                loss = -logits(chosen).log_softmax(dim=1)[rows, columns].mean()
                factor = min(step / _WARMUP, 1) * (1 - (step - 1) / steps)
                optimizer.param_groups[0]["lr"] = _RATE * factor
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    found = [weight.detach().numpy() for weight in weights]
    found[0][-1] = 0
    return BagOfWordsClassifier(keys, found[0], found[1], found[2], prior.numpy())


def _informative_words(lexicon: Lexicon) -> Keys:
    """The keys of words that are neither rare nor stop words."""
    counts = lexicon.every_word()
    informative = counts.may_begin | counts.may_end
    return lexicon.word_keys[informative & (counts.texts >= _MIN_TEXTS)]
