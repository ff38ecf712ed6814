"""Text: normalise, tokenise with offsets, stem, and find phrases in a source.

One tokeniser serves the whole project. It writes the field's form (KP20k and the paper's test
sets): Unicode NFKC, lower case, a number is `<digit>`, a run of letters and digits is one word, the
marks `. , ( ) ' % < > _` are words of their own, and everything else (hyphens, slashes, quotes,
emoji) only separates. Each word keeps the characters of the raw text that it stands for.

It does not know documents, files or vocabularies.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, is_normalized, normalize

from one2set.porter import porter_stem

DIGIT = "<digit>"
Span = tuple[int, int]

_APOSTROPHES = "'’‘ʼ"
_MARKS = ".,()%<>_" + _APOSTROPHES
PUNCTUATION = frozenset(".,()'%<>_")  # the marks that are words of their own, normalised
# The field's files hold these two inside running text; other <…> in raw text is only marks.
_LITERAL = re.compile(r"(?ai:<(?:digit|unk)>)")
_ASCII = re.compile(r"<(?:digit|unk)>|[a-z0-9]+|[.,()%<>_']")
_UNICODE = re.compile(rf"{_LITERAL.pattern}|(?:(?!_)\w)+|[{re.escape(_MARKS)}]")
_CHUNK = re.compile(r"\S+")
_NOT_FIELD = re.compile(r"[^\w\s.,()%<>']|[^\s][,)](?!\S)|(?<!\S)\([^\s]")
_FREE_MARK = re.compile(r"(?<!\S)[.,](?!\S)")


class Tokens(NamedTuple):
    """The words of a text, each with the span of raw characters that it stands for."""

    words: list[str]
    spans: list[Span]


def tokenise(text: str, *, tokenised: bool = False) -> Tokens:
    """Words and their character spans; `text[start:end]` tokenises to exactly that word.

    With `tokenised`, the text is in the field's form already and is only split at white space.
    """
    if tokenised:
        found = [(m.group(), m.span()) for m in _CHUNK.finditer(text)]
    else:
        found = [(_normalise(text[s:e]), (s, e)) for s, e in _spans(text)]
    return Tokens([word for word, _ in found], [span for _, span in found])


def words_of(text: str, *, tokenised: bool = False) -> list[str]:
    """The words of `tokenise`, without the cost of their spans."""
    if tokenised:
        return text.split()
    if text.isascii():
        words = _ASCII.findall(text.lower())
        return [DIGIT if word.isdigit() else word for word in words]
    return [_normalise(text[s:e]) for s, e in _spans(text)]


def looks_tokenised(text: str) -> bool:
    """Whether a text is in the field's form: lower case, its marks free-standing, hyphens gone.

    Judge a whole source, never a phrase: a single phrase rarely shows its form.
    """
    return (
        _FREE_MARK.search(text) is not None
        and _NOT_FIELD.search(text) is None
        and text == text.lower()
    )


def _spans(text: str) -> Iterator[Span]:
    """Where the words stand. Fast where no character combines with the one before it."""
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
    """The same over clusters: a character and what composes with it stay together."""
    word_start = -1
    while start < end:
        stop = start + 1
        while stop < end and _combines(text[stop]):
            stop += 1
        form = normalize("NFKC", text[start:stop])
        if any(c.isalnum() for c in form):
            if word_start < 0:
                word_start = start
        else:
            if word_start >= 0:
                yield word_start, start
                word_start = -1
            if form[:1] and form[0] in _MARKS:
                yield start, stop
        start = stop
    if word_start >= 0:
        yield word_start, end


@lru_cache(maxsize=1 << 12)
def _combines(character: str) -> bool:
    """Whether this is a mark on the character before it. (Hangul jamo compose too, but they are
    letters: the word has them anyway.)"""
    return _is_combining(normalize("NFKC", character)[0])


def _is_combining(character: str) -> bool:
    return category(character)[0] == "M"


def _normalise(raw: str) -> str:
    """The normal form of one word: NFKC, lower case, `<digit>`."""
    if raw.isascii():
        word = raw.lower()
        return DIGIT if word.isdigit() else word
    word, folded = raw, _folded(raw)
    # Each step can undo the other, so they are repeated until nothing changes.
    while folded != word:
        word, folded = folded, _folded(folded)
    return DIGIT if word.isdigit() else word


def _folded(word: str) -> str:
    word = normalize("NFKC", word).lower()
    if not any(c.isalnum() for c in word):
        return "'" if word[0] in _APOSTROPHES else word[0]
    # A compatibility character may bring marks along: ½ is 1⁄2, ⑴ is (1), ำ begins with a ring.
    kept = "".join(c for c in word if c.isalnum() or _is_combining(c))
    while _is_combining(kept[0]):
        kept = kept[1:]
    return kept


class _Stems(dict[str, str]):
    """Stems by word: a look-up in a plain dictionary, which nothing in Python beats."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        self[word] = stemmed = porter_stem(word.strip().lower())
        return stemmed


_MAX_STEMS = 1 << 17  # some 25 MB; frequent words are back at once
_stems = _Stems()


def stem(word: str) -> str:
    """The Porter stem of the field. Other stemmers differ on 2 % of words: never swap it."""
    return _stems[word]


def stem_all(words: Sequence[str]) -> tuple[str, ...]:
    """The stems of a phrase or a source."""
    return tuple(map(_stems.__getitem__, words))


class StemmedSource:
    """A source's stems, ready to be searched for contiguous stemmed phrases."""

    def __init__(self, words: Sequence[str]) -> None:
        # No stem holds a space, so a phrase is contiguous exactly when the joined string has it.
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
            # Occurrences may overlap, so the search goes on at the next word.
            at = self._joined.index(" ", found + 1)
            index += 1


class PhraseSplit(NamedTuple):
    """Indices of a document's phrases: present by first occurrence, absent in author order."""

    present: list[int]
    absent: list[int]


def split_present_absent(phrases: Sequence[Sequence[str]], source: Sequence[str]) -> PhraseSplit:
    """Present = the stemmed phrase is a contiguous word sequence of the stemmed source.

    Phrases whose stems repeat an earlier phrase, and empty ones, are left out.
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


class PhraseIndex:
    """Where phrases stand in a tokenised source, in any inflection. Made once for many phrases: the
    time to find one grows with how often its rarest word stands there, not with the source."""

    def __init__(self, source: Tokens) -> None:
        self._spans = source.spans
        self._stems = stem_all(source.words)
        self._places: dict[str, list[int]] = {}
        for place, stemmed in enumerate(self._stems):
            self._places.setdefault(stemmed, []).append(place)

    def count(self, stem: str) -> int:
        """How often a stem stands there."""
        return len(self._places.get(stem, ()))

    def places(self, stems: Sequence[str]) -> list[int]:
        """The index of the first word of each occurrence of a stemmed phrase, in order."""
        if not stems:
            return []
        wanted, count = tuple(stems), len(stems)
        rarest = min(range(count), key=lambda at: self.count(wanted[at]))
        starts = (place - rarest for place in self._places.get(wanted[rarest], ()))
        return [at for at in starts if at >= 0 and self._stems[at : at + count] == wanted]

    def span(self, place: int, count: int) -> Span:
        """The characters of so many words from a place on."""
        return self._spans[place][0], self._spans[place + count - 1][1]
