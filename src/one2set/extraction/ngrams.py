"""The n-grams of texts as hashes, so that none of them needs a string.

Each stem has a hash of 64 bits, and a run of stems has one that is computed from theirs. So a few
operations on arrays find all n-grams of a text.

Shapes: D documents, S their words end to end, O occurrences of n-grams, Q phrases, L words of the
longest of them.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Flags, Ints
from one2set.data.specials import SPECIALS
from one2set.data.text import PUNCTUATION

Hashes = NDArray[np.uint64]

MAX_NGRAM_WORDS = 5
_MARKS = PUNCTUATION.union(SPECIALS)  # no n-gram contains one
# Odd numbers, so that multiplication modulo 2⁶⁴ is invertible: 2⁶⁴ over the golden ratio, and
# another.
_NEXT, _DOCUMENT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


class _Hashes(dict[str, int]):
    """Hashes by stem, the same in every process."""

    def __missing__(self, stem: str) -> int:
        if len(self) >= _MAX_HASHES:
            self.clear()
        digest = blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[stem] = value = int.from_bytes(digest, "little")
        return value


_MAX_HASHES = 1 << 17
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
            hash=hash_words([stem for source in sources for stem in source]),
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
        hashes = self.hash[at]
        for shift in range(1, length):
            hashes = hashes * _NEXT + self.hash[at + shift]  # modulo 2⁶⁴
        return at, hashes

    def hash_in_document(self, at: Ints, hashes: Hashes) -> Hashes:
        """Hashes (O,) of n-grams that start at `at` (O,), made different in different documents."""
        return hash_with_document(self.document[at], hashes)


def hash_with_document(document: Ints, hashes: Hashes) -> Hashes:
    """Hashes (O,) of n-grams, made different in different documents (O,)."""
    return hashes ^ ((document.astype(np.uint64) + np.uint64(1)) * _DOCUMENT)


class HashedPhrases(NamedTuple):
    """Phrases as hashes."""

    words: Hashes  # (Q, L) the hashes of their words, 0 beyond the end of a phrase
    length: Ints  # (Q,) in words
    hash: Hashes  # (Q,) as in `HashedTexts.ngrams`

    @classmethod
    def of(cls, phrases: Sequence[Sequence[str]]) -> "HashedPhrases":
        """Hash stemmed phrases."""
        length = np.array([len(stems) for stems in phrases], np.int64)
        words = np.zeros((len(phrases), length.max(initial=1)), np.uint64)
        words[np.arange(words.shape[1]) < length[:, None]] = hash_words(
            [stem for stems in phrases for stem in stems]
        )
        return cls.of_words(words, length)

    @classmethod
    def of_words(cls, words: Hashes, length: Ints) -> "HashedPhrases":
        """Phrases of these lengths (Q,) from the hashes of their words (Q, L)."""
        hashes = np.zeros(len(length), np.uint64)
        for at, column in enumerate(words.T):
            hashes = np.where(length > at, hashes * _NEXT + column, hashes)
        return cls(words, length, hashes)

    def append(self, other: "HashedPhrases") -> "HashedPhrases":
        """These phrases, then others."""
        (count, width), (more, other_width) = self.words.shape, other.words.shape
        words = np.zeros((count + more, max(width, other_width)), np.uint64)
        words[:count, :width], words[count:, :other_width] = self.words, other.words
        length = np.concatenate([self.length, other.length])
        return HashedPhrases(words, length, np.concatenate([self.hash, other.hash]))

    def take(self, which: Ints | Flags) -> "HashedPhrases":
        """Some of these phrases."""
        return HashedPhrases(self.words[which], self.length[which], self.hash[which])


class NgramIndex:
    """Finds where phrases occur in one text (S,), in any inflection. The n-grams of a length are
    sorted when a phrase of this length is first looked for; then a phrase takes O(log S)."""

    def __init__(self, words: Hashes) -> None:
        self._words = words
        self._sorted: dict[int, tuple[Hashes, Ints]] = {}  # hashes and positions, by length

    def find(self, hashes: Hashes, length: Ints) -> tuple[Ints, Ints]:
        """How often phrases of these hashes and lengths occur, and where first. The position of one
        that does not occur is 0.  (Q,), (Q,)"""
        count, first = np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.int64)
        for n in {*length.tolist()}:
            which = np.flatnonzero(length == n)
            ordered, positions = self._of_length(n)
            begin = ordered.searchsorted(hashes[which])
            count[which] = number = ordered.searchsorted(hashes[which], "right") - begin
            occurs = number > 0
            first[which[occurs]] = positions[begin[occurs]]
        return count, first

    def positions(self, hash: int, length: int) -> tuple[int, ...]:
        """The index of the first word of each occurrence, in order."""
        ordered, positions = self._of_length(length)
        begin, end = (ordered.searchsorted(np.uint64(hash), side) for side in ("left", "right"))
        return tuple(positions[begin:end].tolist())

    def _of_length(self, length: int) -> tuple[Hashes, Ints]:
        if length not in self._sorted:
            count = max(len(self._words) - length + 1, 0) if length else 0
            hashes = np.zeros(count, np.uint64)
            for shift in range(length):
                hashes = hashes * _NEXT + self._words[shift : shift + count]
            order = np.argsort(hashes, kind="stable")
            self._sorted[length] = hashes[order], order
        return self._sorted[length]


def hash_words(stems: Iterable[str]) -> Hashes:
    """(S,) the hash of each stem."""
    return np.array([_hashes[stem] for stem in stems], np.uint64)


def hash_of(stems: Sequence[str]) -> int:
    """The hash of a phrase, the same as in `HashedTexts.ngrams`."""
    value = 0
    for stem in stems:
        value = (value * int(_NEXT) + _hashes[stem]) % (1 << 64)
    return value
