"""Text: normalise, tokenise with offsets, stem, and find phrases in a source.

The whole project uses one tokeniser. Its output has the format of preprocessed KP20k and of the
paper's test sets: Unicode NFKC, lower case, `<digit>` for a number, one word for a run of letters
and digits; the punctuation marks `. , ( ) ' % < > _` are words of their own, and everything else
(hyphens, slashes, quotes, emoji) only separates words. Each word keeps its span in the raw text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, is_normalized, normalize

from one2set.data.porter import porter_stem

DIGIT = "<digit>"
Span = tuple[int, int]
Stems = tuple[str, ...]

_APOSTROPHES = "'’‘ʼ"
_MARKS = ".,()%<>_" + _APOSTROPHES
PUNCTUATION = frozenset(".,()'%<>_")  # the normalised marks that are words of their own
# Preprocessed files contain these two tokens; any other <…> in raw text is punctuation.
_LITERAL = re.compile(r"(?ai:<(?:digit|unk)>)")
_ASCII = re.compile(r"<(?:digit|unk)>|[a-z0-9]+|[.,()%<>_']")
_UNICODE = re.compile(rf"{_LITERAL.pattern}|(?:(?!_)\w)+|[{re.escape(_MARKS)}]")
# Of a character, as in the Stream-Safe Text Format of UAX #15; no language has as many. NFKC sorts
# them, in time that grows with the square of their number.
_MOST_MARKS = 30
_CHUNK = re.compile(r"\S+")
_NOT_PREPROCESSED = re.compile(r"[^\w\s.,()%<>']|[^\s][,)](?!\S)|(?<!\S)\([^\s]")
_FREE_MARK = re.compile(r"(?<!\S)[.,](?!\S)")


class Tokens(NamedTuple):
    """The words of a text, each with its span of characters in the raw text."""

    words: list[str]
    spans: list[Span]


def tokenise(text: str, *, tokenised: bool = False) -> Tokens:
    """Words and their character spans; `text[start:end]` tokenises to exactly that word.

    With `tokenised`, the text is preprocessed like KP20k and is only split at white space.
    """
    if tokenised:
        matches = list(_CHUNK.finditer(text))
    elif text.isascii():
        matches = list(_ASCII.finditer(text.lower()))
    else:
        spans = list(_spans(text))
        return Tokens([_normalise(text[start:end]) for start, end in spans], spans)
    words = [match[0] for match in matches]
    if not tokenised:
        words = [DIGIT if word.isdigit() else word for word in words]
    return Tokens(words, [match.span() for match in matches])


def words_of(text: str, *, tokenised: bool = False) -> list[str]:
    """The words of `tokenise`, without their spans, which is faster."""
    if tokenised:
        return text.split()
    if text.isascii():
        words = _ASCII.findall(text.lower())
        return [DIGIT if word.isdigit() else word for word in words]
    return [_normalise(text[s:e]) for s, e in _spans(text)]


def words_with_numbers(text: str) -> list[str]:
    """The words of a text, with its numbers as they are written instead of `<digit>`."""
    return restore_numbers(text, tokenise(text))


def restore_numbers(text: str, tokens: Tokens) -> list[str]:
    """The words of the tokens of a text, with its numbers as they are written."""
    pairs = zip(*tokens, strict=True)
    return [text[start:end] if word == DIGIT else word for word, (start, end) in pairs]


def looks_tokenised(text: str) -> bool:
    """Whether a text is preprocessed like KP20k: lower case, spaces around marks, no hyphens.

    Use it on a whole source: a single phrase rarely shows the difference.
    """
    return (
        _FREE_MARK.search(text) is not None
        and _NOT_PREPROCESSED.search(text) is None
        and text == text.lower()
    )


def _spans(text: str) -> Iterator[Span]:
    """The spans of the words. Fast if no character combines with the one before it."""
    if text.isascii() or (
        is_normalized("NFKC", text) and not any(category(c)[0] == "M" for c in set(text))
    ):
        for match in _UNICODE.finditer(text):
            yield match.span()
        return
    done = 0
    for literal in _LITERAL.finditer(text):
        yield from _cluster_spans(text, done, literal.start())
        yield literal.span()
        done = literal.end()
    yield from _cluster_spans(text, done, len(text))


def _cluster_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """The same by grapheme clusters: a character and its combining marks stay together. A word ends
    where these are too many."""
    word_start = -1
    while start < end:
        stop, next_start = _cluster_ends(text, start, end)
        form = normalize("NFKC", text[start:stop])
        if any(c.isalnum() for c in form):
            if word_start < 0:
                word_start = start
            if next_start > stop:
                yield word_start, stop
                word_start = -1
        else:
            if word_start >= 0:
                yield word_start, start
                word_start = -1
            if form[:1] and form[0] in _MARKS:
                yield start, stop
        start = next_start
    if word_start >= 0:
        yield word_start, end


def _cluster_ends(text: str, start: int, end: int) -> Span:
    """Where a character and its combining marks end: as many of these as are used, and all."""
    used = after = start + 1
    if after == end or not _combines(text[after]):
        return used, after
    marks = _count_marks(text[start])
    while after < end and _combines(text[after]):
        marks += _count_marks(text[after])
        after += 1
        if marks <= _MOST_MARKS:
            used = after
    return used, after


@lru_cache(maxsize=1 << 12)
def _combines(character: str) -> bool:
    """Whether a character is a combining mark. (Hangul jamo compose too, but they are letters and
    so part of the word anyway.)"""
    return _is_combining(normalize("NFKC", character)[0])


@lru_cache(maxsize=1 << 12)
def _count_marks(character: str) -> int:
    """The number of combining marks in a character when all are split off. Neither NFKC nor lower
    case changes their sum, so that a normal form has as many as the raw text."""
    return sum(map(_is_combining, normalize("NFKD", character)))


def _is_combining(character: str) -> bool:
    return category(character)[0] == "M"


def _normalise(raw: str) -> str:
    """The normal form of one word: NFKC, lower case, `<digit>`."""
    if raw.isascii():
        word = raw.lower()
        return DIGIT if word.isdigit() else word
    word, folded = raw, _folded(raw)
    # NFKC can undo lower-casing and vice versa, so repeat until nothing changes.
    while folded != word:
        word, folded = folded, _folded(folded)
    return DIGIT if word.isdigit() else word


def _folded(word: str) -> str:
    word = normalize("NFKC", word).lower()
    if not any(c.isalnum() for c in word):
        return "'" if word[0] in _APOSTROPHES else word[0]
    # A compatibility character may expand to marks: ½ is 1⁄2, ⑴ is (1), ำ begins with a ring.
    letters = "".join(c for c in word if c.isalnum() or _is_combining(c))
    while _is_combining(letters[0]):
        letters = letters[1:]
    return letters


class _Stems(dict[str, str]):
    """A cache of stems by word. A dict lookup is faster than functools.lru_cache."""

    def __missing__(self, word: str) -> str:
        stemmed = porter_stem(word.strip().lower())
        if len(word) <= _LONGEST_STORED:
            if len(self) >= _MAX_STEMS:
                self.clear()
            self[word] = stemmed
        return stemmed


_LONGEST_STORED = 64  # characters: a sequence of genes may have a megabyte
_MAX_STEMS = 1 << 17  # about 25 MB; when full it is cleared, and frequent words return quickly
_stems = _Stems()


def stem(word: str) -> str:
    """The Porter stem, as the literature uses it in evaluation. Do not replace it: other stemmers
    differ on 2 % of words, and the lexicons of saved models contain these stems."""
    return _stems[word]


def stem_all(words: Sequence[str]) -> tuple[str, ...]:
    """The stems of a phrase or a source."""
    return tuple(map(_stems.__getitem__, words))


class StemmedSource:
    """The stems of a source, for finding contiguous stemmed phrases."""

    def __init__(self, words: Sequence[str]) -> None:
        # Stems contain no spaces, so a phrase occurs exactly if its joined stems do.
        self._joined = f" {' '.join(stem_all(words))} "

    def __contains__(self, stems: Sequence[str]) -> bool:
        return f" {' '.join(stems)} " in self._joined

    def positions(self, stems: Sequence[str]) -> Iterator[int]:
        """The index of the first word of each occurrence, in order."""
        needle = f" {' '.join(stems)} "
        at, index = 0, 0
        while (found := self._joined.find(needle, at)) >= 0:
            index += self._joined.count(" ", at, found)
            yield index
            # Occurrences may overlap, so continue at the next word.
            at = self._joined.index(" ", found + 1)
            index += 1


class PhraseSplit(NamedTuple):
    """Indices of phrases: present ones by first occurrence, absent ones in their given order."""

    present: list[int]
    absent: list[int]


def split_present_absent(phrases: Sequence[Sequence[str]], source: Sequence[str]) -> PhraseSplit:
    """Split phrases into present ones, whose stems occur contiguously in the stemmed source, and
    absent ones.

    Empty phrases, and phrases with the same stems as an earlier one, are left out.
    """
    if not phrases:
        return PhraseSplit([], [])
    stemmed = StemmedSource(source)
    first_seen: set[tuple[str, ...]] = set()
    present: list[tuple[int, int]] = []
    absent: list[int] = []
    for index, phrase in enumerate(phrases):
        stems = stem_all(phrase)
        if not stems or stems in first_seen:
            continue
        first_seen.add(stems)
        position = next(stemmed.positions(stems), None)
        if position is None:
            absent.append(index)
        else:
            present.append((position, index))
    return PhraseSplit([index for _, index in sorted(present)], absent)
