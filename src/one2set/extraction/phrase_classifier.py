"""Associations: which known phrases the words of a text speak of, whether it holds them or not.

Every word and every phrase has a vector; a text's is the sum of its words', and a phrase is the
likelier the nearer it lies: P(phrase | text) = softmax(text · phrase + bias). That is learned from
training documents in a minute or two, and finds absent phrases that no code says.

Letters: V words, A phrases, D width, B documents, S words of a text, U different ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints, single_thread_matmul
from one2set.errors import DataError, missing_extra
from one2set.extraction.lexicon import Keys, Lexicon, key_of
from one2set.extraction.ngrams import Hashes, Words

if TYPE_CHECKING:
    from torch import Tensor

FILE = "associations.npz"
_LEAST_TEXTS = 20  # that hold a word
_WIDTH, _EPOCHS, _BATCH, _RATE, _WARMUP, _DROPOUT = 64, 2, 256, 4e-3, 100, 0.1
_LEAST_STEPS = 300


@dataclass(frozen=True, slots=True)
class Associations:
    """The vectors of words and of phrases."""

    keys: Keys  # (V,) of words, in order
    words: Float32s  # (V + 1, D); the last is that of unknown words, zero
    phrases: Float32s  # (A, D)
    bias: Float32s  # (A,)
    prior: Float32s  # (A,) log of how often a keyphrase is this one

    def __call__(self, text: Words) -> tuple[Float32s, Float32s]:
        """Of one text: log P(phrase | text), and how much that is above the prior.  (A,), (A,)"""
        which, weights = _bag(text.hash, int(text.title[0]), self.keys)
        theme = single_thread_matmul(self.words[which].T, weights)  # (D,)
        logits = single_thread_matmul(self.phrases, theme) + self.bias
        highest = logits.max(initial=0.0)
        likely = logits - highest - np.log(np.exp(logits - highest).sum())
        return likely, likely - self.prior

    def save(self, folder: Path) -> None:
        """Store it with a model, the vectors in 8 bits."""
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
    def load(cls, folder: Path) -> "Associations | None":
        """A model's; None where it has none."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            with np.load(path) as arrays:
                words, phrases = (
                    arrays[name].astype(np.float32) * arrays[f"{name}_scale"][:, None]
                    for name in ("words", "phrases")
                )
                return cls(arrays["keys"], words, phrases, arrays["bias"], arrays["prior"])
        except (ValueError, KeyError, OSError, EOFError):
            raise DataError(
                "holds no associations", fix="make it again with one2set learn", path=path
            ) from None


def _bag(hashes: Hashes, title: int, keys: Keys) -> tuple[Ints, Float32s]:
    """The words (S,) of a text, each once, then those of its title: which, and how they weigh.
    (U,), (U,)"""
    bags = [_known(part, keys) for part in (hashes, hashes[:title])]
    weights = [np.full(len(bag), 1 / np.sqrt(len(bag) + 1), np.float32) for bag in bags]
    return np.concatenate(bags), np.concatenate(weights)


def _known(hashes: Hashes, keys: Keys) -> Ints:
    """Which of the keys words have, each once."""
    wanted = np.unique(key_of(hashes))
    at = np.searchsorted(keys, wanted)
    at, wanted = at[at < len(keys)], wanted[at < len(keys)]
    found: Ints = at[keys[at] == wanted]
    return found


def fit_associations(
    texts: Iterable[Words],
    targets: Sequence[Sequence[int]],
    counts: Sequence[int],
    lexicon: Lexicon,
) -> Associations:
    """From texts of many documents, and which of A phrases are keyphrases of each document.
    `counts` (A,) says of how many each phrase is."""
    try:
        import torch
        from torch.nn.functional import dropout, embedding_bag
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Learning associations") from None

    keys = _words_of(lexicon)
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
    epochs = max(_EPOCHS, _LEAST_STEPS // max(len(useful) // batch, 1))
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
                share = min(step / _WARMUP, 1) * (1 - (step - 1) / steps)
                optimizer.param_groups[0]["lr"] = _RATE * share
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    found = [weight.detach().numpy() for weight in weights]
    found[0][-1] = 0
    return Associations(keys, found[0], found[1], found[2], prior.numpy())


def _words_of(lexicon: Lexicon) -> Keys:
    """The words that can tell: neither rare nor stop words."""
    counts = lexicon.every_word()
    telling = counts.may_begin | counts.may_end
    return lexicon.word_keys[telling & (counts.texts >= _LEAST_TEXTS)]
