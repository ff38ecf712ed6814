"""The lexicon: counts of words and phrases in training documents.

For a phrase: the texts that contain it and the documents that have it as a keyphrase, which is the
*keyphraseness* of KEA (Frank et al., 1999). For a word: the texts that contain it, and the
documents with a keyphrase that begins with it, ends with it or contains it. Words and phrases are
stored as 32 bits of their hashes (`ngrams`), so about 6 in 100,000 unknown phrases collide with a
known one.

Shapes: W words, P phrases, n words or phrases that are looked up.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Flags, Floats
from one2set.extraction.arrays import Arrays, check_shapes, find_sorted, load_arrays, save_arrays
from one2set.extraction.ngrams import Hashes

FILE = "lexicon.safetensors"
# A word that at least this many texts contain is a stop word if it begins (or ends) keyphrases of
# less than this share of them.
_COMMON, _MIN_SHARE = 200, 0.0015
Keys = NDArray[np.uint32]
Logs = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Numbers of documents, (n,) each."""

    texts: Floats
    begin: Floats
    end: Floats
    inside: Floats

    @property
    def may_begin(self) -> Flags:
        """(n,) whether a keyphrase may begin with it: not if it is a stop word."""
        return (self.texts < _COMMON) | (self.begin >= _MIN_SHARE * self.texts)

    @property
    def may_end(self) -> Flags:
        """(n,) whether a keyphrase may end with it."""
        return (self.texts < _COMMON) | (self.end >= _MIN_SHARE * self.texts)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Counts, stored as float16 of log(1 + count). Keys are sorted."""

    documents: int
    word_keys: Keys  # (W,)
    word_logs: Logs  # (W, 4) as in `WordCounts`
    phrase_keys: Keys  # (P,)
    phrase_logs: Logs  # (P, 2) documents with this keyphrase, and texts that contain it

    def words(self, hashes: Hashes) -> WordCounts:
        """The counts of words (n,)."""
        return WordCounts(*_counts(self.word_keys, self.word_logs, hashes))

    def every_word(self) -> WordCounts:
        """The counts of all words (W,)."""
        return WordCounts(*np.expm1(self.word_logs.astype(np.float64)).T)

    def phrases(self, hashes: Hashes) -> tuple[Floats, Floats]:
        """The documents that have phrases as keyphrases, and the texts that contain them.
        (n,), (n,)"""
        keyphrase, texts = _counts(self.phrase_keys, self.phrase_logs, hashes)
        return keyphrase, texts

    def merge(self, other: "Lexicon") -> "Lexicon":
        """The sum of both."""
        words = _sum(self.word_keys, self.word_logs, other.word_keys, other.word_logs)
        phrases = _sum(self.phrase_keys, self.phrase_logs, other.phrase_keys, other.phrase_logs)
        return Lexicon(self.documents + other.documents, *words, *phrases)

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        save_arrays(folder / FILE, {n: np.asarray(getattr(self, n)) for n in self.__slots__})

    @classmethod
    def load(cls, folder: Path) -> "Lexicon | None":
        """Load it from a model's folder; None if it has none."""

        def build(arrays: Arrays) -> "Lexicon":
            tables = {"word_keys": "W", "word_logs": "W4", "phrase_keys": "P", "phrase_logs": "P2"}
            check_shapes(arrays, {"documents": "", **tables})
            values: dict[str, Any] = {name: arrays[name] for name in cls.__slots__}
            return cls(**values | {"documents": int(values["documents"])})

        return load_arrays(folder, FILE, "a lexicon", build)


def key_of(hashes: Hashes) -> Keys:
    """The bits of hashes (n,) that are stored."""
    return (hashes >> np.uint64(32)).astype(np.uint32)


def _counts(keys: Keys, logs: Logs, hashes: Hashes) -> Floats:
    """(columns, n); 0 for unknown hashes."""
    counts = np.zeros((logs.shape[1], len(hashes)))
    at = find_sorted(keys, key_of(hashes))
    is_known = at >= 0
    counts[:, is_known] = np.expm1(logs[at[is_known]].astype(np.float64)).T
    return counts


def _sum(keys: Keys, logs: Logs, other_keys: Keys, other_logs: Logs) -> tuple[Keys, Logs]:
    """The rows of both tables; counts of common keys are added."""
    all_keys = np.union1d(keys, other_keys)
    counts = np.zeros((len(all_keys), logs.shape[1]))
    for table_keys, table_logs in ((keys, logs), (other_keys, other_logs)):
        counts[np.searchsorted(all_keys, table_keys)] += np.expm1(table_logs.astype(np.float64))
    return all_keys, np.log1p(counts).astype(np.float16)
