"""The n-grams of texts as hashes, so that none of them needs a string.

Each stem has a hash of 64 bits, and a run of stems has one that is computed from theirs. So a few
operations on arrays find all n-grams of a text.

Shapes: D documents, S their words end to end, O occurrences of n-grams.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Flags, Ints
from one2set.data.specials import SPECIALS
from one2set.text import PUNCTUATION

Hashes = NDArray[np.uint64]

LONGEST = 5  # words of an n-gram
_MARKS = PUNCTUATION.union(SPECIALS)  # no n-gram contains one
# Odd numbers, so that multiplication modulo 2⁶⁴ is invertible: 2⁶⁴ over the golden ratio, and
# another.
_NEXT, _DOCUMENT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


class _Hashes(dict[str, int]):
    """Hashes by stem, the same in every process."""

    def __missing__(self, stem: str) -> int:
        if len(self) >= _MOST_HASHES:
            self.clear()
        digest = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[stem] = found = int.from_bytes(digest, "little")
        return found


_MOST_HASHES = 1 << 17
_hashes = _Hashes()


class HashedTexts(NamedTuple):
    """The hashed stems of documents, end to end."""

    hash: Hashes  # (S,)
    mark: Flags  # (S,) whether it is punctuation or a special token
    document: Ints  # (S,)
    start: Ints  # (D,) the index of each document's first word
    title: Ints  # (D,) the number of words of the title, which come first

    @classmethod
    def of(cls, sources: Sequence[Sequence[str]], titles: Iterable[int]) -> "HashedTexts":
        """Hash stemmed sources, which begin with titles of these lengths."""
        lengths = np.array([len(source) for source in sources], np.int64)
        return cls(
            hash=np.array([_hashes[s] for source in sources for s in source], np.uint64),
            mark=np.array([s in _MARKS for source in sources for s in source], np.bool_),
            document=np.repeat(np.arange(len(sources)), lengths),
            start=np.cumsum(lengths) - lengths,
            title=np.array(list(titles), np.int64),
        )

    @property
    def position(self) -> Ints:
        """(S,) the index of each word in its document."""
        return np.arange(len(self.hash)) - self.start[self.document]

    @property
    def length(self) -> Ints:
        """(D,) the number of words of each document."""
        return np.bincount(self.document, minlength=len(self.start))

    def ngrams(self, length: int, begin: Flags, end: Flags) -> tuple[Ints, Hashes]:
        """The start indices and the hashes of the n-grams of a length, (O,) each. They contain no
        mark, their first word may `begin` (S,) and their last word may `end` (S,) an n-gram."""
        count = len(self.hash) - length + 1
        if count < 1:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        good = begin[:count] & end[length - 1 :]
        good &= self.document[:count] == self.document[length - 1 :]
        for shift in range(length):
            good &= ~self.mark[shift : shift + count]
        at = np.flatnonzero(good)
        found = self.hash[at]
        for shift in range(1, length):
            found = found * _NEXT + self.hash[at + shift]  # modulo 2⁶⁴
        return at, found

    def hash_in_document(self, at: Ints, hashes: Hashes) -> Hashes:
        """Hashes (O,) of n-grams that start at `at` (O,), made different in different documents."""
        return hashes ^ ((self.document[at].astype(np.uint64) + np.uint64(1)) * _DOCUMENT)


def hash_of(stems: Sequence[str]) -> int:
    """The hash of a phrase, the same as in `HashedTexts.ngrams`."""
    found = 0
    for stem in stems:
        found = (found * int(_NEXT) + _hashes[stem]) % (1 << 64)
    return found
