"""The lexicon: what training documents teach of words and phrases by counting alone.

In how many texts a phrase stands, and of how many documents it is a keyphrase; in how many texts a
word stands, and of how many documents keyphrases begin with it, end with it or hold it. Names are
not kept, only 32 bits of their hashes (`ngrams`): of a hundred thousand phrases that it does not
hold, some six are taken for ones that it does.

Letters: W words, P phrases, n of either that are asked for.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Flags, Floats
from one2set.errors import DataError
from one2set.extraction.ngrams import Hashes

FILE = "lexicon.npz"
# A word that so many texts hold is no stop word if it begins (or ends) keyphrases of this share.
_COMMON, _LEAST_SHARE = 200, 0.0015
Keys = NDArray[np.uint32]
Logs = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """(n,) each: of how many documents."""

    texts: Floats
    begin: Floats
    end: Floats
    inside: Floats

    @property
    def may_begin(self) -> Flags:
        """(n,) whether a keyphrase could begin with it: stop words cannot."""
        return (self.texts < _COMMON) | (self.begin >= _LEAST_SHARE * self.texts)

    @property
    def may_end(self) -> Flags:
        """(n,) whether a keyphrase could end with it."""
        return (self.texts < _COMMON) | (self.end >= _LEAST_SHARE * self.texts)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Counts, as float16 of log(1 + count). Keys are in order."""

    documents: int
    word_keys: Keys  # (W,)
    word_logs: Logs  # (W, 4) as in `WordCounts`
    phrase_keys: Keys  # (P,)
    phrase_logs: Logs  # (P, 2) documents whose keyphrase it is, and texts

    def words(self, hashes: Hashes) -> WordCounts:
        """Of words (n,)."""
        return WordCounts(*_counts(self.word_keys, self.word_logs, hashes))

    def every_word(self) -> WordCounts:
        """Of all words (W,)."""
        return WordCounts(*np.expm1(self.word_logs.astype(np.float64)).T)

    def phrases(self, hashes: Hashes) -> tuple[Floats, Floats]:
        """Of how many documents phrases are keyphrases, how many texts hold them.  (n,), (n,)"""
        keyphrase, texts = _counts(self.phrase_keys, self.phrase_logs, hashes)
        return keyphrase, texts

    def plus(self, other: "Lexicon") -> "Lexicon":
        """The counts of both."""
        words = _sum(self.word_keys, self.word_logs, other.word_keys, other.word_logs)
        phrases = _sum(self.phrase_keys, self.phrase_logs, other.phrase_keys, other.phrase_logs)
        return Lexicon(self.documents + other.documents, *words, *phrases)

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        arrays = {name: getattr(self, name) for name in self.__slots__}
        np.savez_compressed(folder / FILE, **arrays)

    @classmethod
    def load(cls, folder: Path) -> "Lexicon | None":
        """A model's; None where it has none."""
        path = folder / FILE
        if not path.exists():
            return None
        try:
            with np.load(path) as arrays:
                values = {name: arrays[name] for name in cls.__slots__}
            return cls(**values | {"documents": int(values["documents"])})
        except (ValueError, KeyError, OSError, EOFError):
            raise DataError(
                "is no lexicon", fix="make it again with one2set learn", path=path
            ) from None


def key_of(hashes: Hashes) -> Keys:
    """What is kept of hashes (n,)."""
    return (hashes >> np.uint64(32)).astype(np.uint32)


def _counts(keys: Keys, logs: Logs, hashes: Hashes) -> Floats:
    """(columns, n); 0 of what is not there."""
    found = np.zeros((logs.shape[1], len(hashes)))
    if len(keys):
        wanted = key_of(hashes)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = keys[at] == wanted
        found[:, there] = np.expm1(logs[at[there]].astype(np.float64)).T
    return found


def _sum(keys: Keys, logs: Logs, other_keys: Keys, other_logs: Logs) -> tuple[Keys, Logs]:
    """The rows of either table; where both have one, their counts are added."""
    either = np.union1d(keys, other_keys)
    counts = np.zeros((len(either), logs.shape[1]))
    for some, its in ((keys, logs), (other_keys, other_logs)):
        counts[np.searchsorted(either, some)] += np.expm1(its.astype(np.float64))
    return either, np.log1p(counts).astype(np.float16)
