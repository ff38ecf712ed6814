"""An index of a phrase list: finds phrases by hash, and those whose words are scattered in a text.

Shapes: P phrases of the list, M those of several words, L words of the longest, Q phrases that are
looked up, U distinct words of a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from one2set.arrays import Ints
from one2set.extraction.arrays import Arrays, check_shapes, find_sorted, load_arrays, save_arrays
from one2set.extraction.ngrams import HashedPhrases, Hashes

FILE = "phrase_index.safetensors"


@dataclass(frozen=True, slots=True)
class PhraseIndex:
    """The phrases of a list as hashes, sorted in two ways."""

    phrases: HashedPhrases  # (P, L)
    hashes: Hashes  # (P,) of the phrases, sorted
    order: Ints  # (P,) the index of the phrase with each of these hashes
    rarest_words: Hashes  # (M,) the rarest word of each phrase of several words, sorted
    by_rarest: Ints  # (M,) the index of the phrase with each of these words

    @classmethod
    def of(cls, stems: Sequence[Sequence[str]]) -> "PhraseIndex":
        """Sort stemmed phrases."""
        phrases = HashedPhrases.of(stems)
        order = np.argsort(phrases.hash)
        _, which, frequency = np.unique(phrases.words, return_inverse=True, return_counts=True)
        frequencies = frequency[which.reshape(phrases.words.shape)]
        frequencies[phrases.words == 0] = phrases.words.size + 1
        several = np.flatnonzero(phrases.length > 1)
        rarest = phrases.words[several, frequencies[several].argmin(axis=1)]
        by_rarest = np.argsort(rarest)
        return cls(phrases, phrases.hash[order], order, rarest[by_rarest], several[by_rarest])

    def save(self, folder: Path, checksum: int) -> None:
        """Write it into a model's folder, with the checksum of the list."""
        arrays = {name: getattr(self, name) for name in self.__slots__[1:]}
        phrases = {"words": self.phrases.words, "length": self.phrases.length}
        save_arrays(
            folder / FILE,
            {**arrays, **phrases, "hash": self.phrases.hash, "checksum": np.array(checksum)},
        )

    @classmethod
    def load(cls, folder: Path, checksum: int) -> "PhraseIndex | None":
        """Load it from a model's folder; None if it has none of the list with this checksum."""

        def build(arrays: Arrays) -> "PhraseIndex | None":
            if arrays["checksum"] != checksum:
                return None
            shapes = {"words": "PL", "length": "P", "hash": "P", "hashes": "P", "order": "P"}
            check_shapes(arrays, {**shapes, "rarest_words": "M", "by_rarest": "M"})
            for indices in (arrays["order"], arrays["by_rarest"]):
                if np.any(indices < 0) or np.any(indices >= len(arrays["hash"])):
                    raise ValueError("there are indices of no phrase")
            phrases = HashedPhrases(arrays["words"], arrays["length"], arrays["hash"])
            return cls(phrases, *(arrays[name] for name in cls.__slots__[1:]))

        return load_arrays(folder, FILE, "an index of phrases", build)

    def index_of(self, hashes: Hashes) -> Ints:
        """(Q,) the index of each phrase in the list; −1 if it is not there."""
        at = find_sorted(self.hashes, hashes)
        index = np.full(len(at), -1)
        index[at >= 0] = self.order[at[at >= 0]]
        return index

    def find_scattered(self, words: Hashes) -> Ints:
        """The indices of the phrases of several words that all occur in a text, anywhere. `words`
        (U,) are those of the text, sorted and distinct."""
        first, last = (self.rarest_words.searchsorted(words, side) for side in ("left", "right"))
        count = last - first
        within = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
        possible = self.by_rarest[np.repeat(first, count) + within]
        phrase_words = self.phrases.words[possible]  # (n, L)
        occurs = find_sorted(words, phrase_words) >= 0
        scattered: Ints = possible[(occurs | (phrase_words == 0)).all(axis=1)]
        return scattered
