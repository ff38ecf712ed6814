"""Phrases as people write them: whole terms of a text, with the capitals of running text.

KP20k's tokenisation splits terms: *Alzheimer's disease* becomes four words, *C++* the word *c*.
Phrases are still compared by these words, but shown in another form: an occurrence that begins or
ends inside a term is extended to the whole term, and capitals that only mark the beginning of a
sentence or a title are removed.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, partial

from one2set.data.document import Document
from one2set.data.phrase_list import APOSTROPHES, HYPHENS
from one2set.data.text import (
    Span,
    StemmedSource,
    Stems,
    restore_numbers,
    stem,
    stem_all,
    words_of,
    words_with_numbers,
)
from one2set.keyphrases.phrase_speller import WORD, PhraseSpeller

_LETTERS = "(?:[^\\W_]|[\u0300-\u036f])+"
_JOIN = "|".join(
    (
        f"[{HYPHENS}\u00ad{APOSTROPHES}/+_@=^~*·]",
        r"&(?!#?\w{1,8};)",  # R&D, but not &nbsp;
        "::",
        r"(?<=\d)[.,:](?=\d)",  # 4.0, 10,000
        r"(?<=[A-Z]),(?=[A-Z]-)",  # N,N-dimethyl
        r"(?<=[^\W\d_])\.(?=[a-z])",  # Node.js
        r"(?<=[A-Z])\.(?=[A-Z](?![a-z]))",  # ASP.NET
        rf"\((?=[\w,+]{{1,12}}\)[\w{HYPHENS}])",  # Ca(OH)2
        rf"(?<=\w)\)[{HYPHENS}]?(?=\w)",
    )
)
_SIGN = r"(?<=[A-Za-z])\+\+|(?<=[A-Z0-9])\+(?!\w)|(?<=\b[A-Z])[#*](?!\w)"  # C++, Ca2+, C#, A*
_TERM = re.compile(
    rf"(?:(?<![^\s(\[])\.)?{_LETTERS}(?:(?:{_JOIN}){_LETTERS})*(?:{_SIGN})?"  # .NET too
)
_SIGN_HERE, _SIGN_AT_END = re.compile(_SIGN), re.compile(rf"(?:{_SIGN})$")
_POSSESSIVE = re.compile(f"[{APOSTROPHES}]s", re.IGNORECASE)
# A name may continue with a noun ("Kepler's equation") or a number ("TLS 1.3"). A number belongs to
# a name if it has a dot or a letter, or follows the name more than once. Years, counts and numbers
# such as 88.5, probably a measurement, do not.
_OWNED = re.compile(rf"[{APOSTROPHES}](?:s(?=\s)|(?<=s[{APOSTROPHES}]))\s+([^\W\d_]{{3,}})\b")
_VERSION = re.compile(
    r"\s(?!(?:19|20)\d\d\b)v?\d\w*+(?:\.\w++)*+(?!\s?%|[,:]\d|\s(?:[mb]|tr)illion)"
)
_QUANTITY = re.compile(r"\d+|\d\d\.\d")
# URLs, e-mail addresses and file paths contain no phrases of the text. Each run of characters
# between spaces that contains / @ or . is examined once, however long it is.
_MARKED = re.compile(r"(?<!\S)[^\s/@.]*+[/@.]\S*+")
_ADDRESS = re.compile(
    r"://|www\.|\w@[\w-]++\.\w|\w\.(?:com|org|net|io|edu|gov)/|\w/\w++/\w++/|^(?:~|\.\.?)?/\w"
)
_PATH, _QUERY = re.compile(r"\w/"), re.compile("[?=]")
# Tags and character references: what occurs in them is no phrase either.
_MARKUP = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>|&(?:#x?)?\w{2,8};")
# A dash between spaces, or at the beginning of a line: the items of a list. A new line that begins
# with a capital, unlike the word before it, is a new paragraph. A word may go on in the next line.
_CLAUSE_END = re.compile(
    r"[;:!?…•—|。，、；：！？]|\s[-–*+>]+\s|\n\s*\n|\b[a-z]\S*+[^\S\n]*+\n\s*+[A-Z][a-z]"
)
_BROKEN_WORD = re.compile(r"[-\u00ad][^\S\n]*+\n\s*+[a-z]")
# Quotes and brackets: the first word of a phrase has lost the opening one.
_HALF_PAIR = re.compile(r"[\"“”„«»\[\]{}]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:•。！？]|\n\s*\n)[\s\"'“”‘’(\[*#>-]*$")
_COMMON_ENDING = re.compile(r"(?:[^s]s|ing|ion|ment|ity|ness|[ae]nce|able|ible|ive|ical|ous|ism)$")
_NOUN = 0.3  # the least share of phrases with a noun that end with it
_LOOK_BACK = 12  # characters before a word that tell whether a sentence begins
_MAX_WORDS = 8  # of a shown phrase
_LONG_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]{9}")  # a sentence, not a word


class Surface:
    """The terms of a document's text, and how its phrases are written."""

    def __init__(self, document: Document, speller: PhraseSpeller) -> None:
        self.document, self._text, self._speller = document, document.text, speller
        self._stems: dict[Span, tuple[str, ...]] = {}
        self._extended: dict[tuple[Span, ...], tuple[Span, ...]] = {}
        self._spellings: dict[tuple[tuple[Span, ...], tuple[str, ...]], str] = {}

    def extend_to_terms(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The occurrences of a phrase that neither begin nor end inside a term. If there are none,
        the occurrences of the most frequent whole term around them; () if nothing can be shown."""
        spans = tuple(spans)
        if spans not in self._extended:
            self._extended[spans] = self._find_terms(spans)
        return self._extended[spans]

    def _find_terms(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        if self.document.tokenised:  # marks are apart already
            return spans
        uncut: list[Span] = []
        extended: dict[tuple[str, ...], list[Span]] = {}
        for span in spans:
            whole = self._extend(span)
            if whole == span:
                uncut.append(span)
            elif whole is not None and not uncut:
                stems = self.stems(whole)
                if len(stems) <= _MAX_WORDS:
                    extended.setdefault(stems, []).append(whole)
        if uncut or not extended:
            return tuple(uncut)
        most_frequent = max(extended, key=lambda stems: len(extended[stems]))
        return tuple(extended[most_frequent])

    def extend_names(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The occurrences of a phrase. If it is a name that the text always continues in the same
        way, they include the continuation: *Alzheimer's disease*, if *Alzheimer* never occurs
        without it."""
        spans = tuple(spans)
        if self.document.tokenised:
            return spans
        longer = tuple(filter(None, map(self._extend_name, spans)))
        written = {" ".join(self._text[slice(*span)].lower().split()) for span in longer}
        is_quantity = len(spans) == 1 and any(
            _QUANTITY.fullmatch(spelling.split()[-1]) for spelling in written
        )
        same = len(written) == 1 and len(longer) == len(spans)
        return longer if same and not is_quantity else spans

    def _extend_name(self, span: Span) -> Span | None:
        """A span with the noun that it owns, or the number after it; None if there is none."""
        start, end = span
        if not self._text[start].isupper():
            return None
        match = _VERSION.match(self._text, end)
        owned = _OWNED.match(self._text, end)
        if owned is not None and self._speller.share_at_end(owned[1]) >= _NOUN:
            match = owned
        return match and self._extend((start, match.end()))

    def stems(self, span: Span) -> tuple[str, ...]:
        """The stems of the words in a span, and its numbers. A long term may be the whole of many
        spans."""
        if span not in self._stems:
            self._stems[span] = stem_term(self._text[slice(*span)])
        return self._stems[span]

    def find(self, phrase: str) -> tuple[Span, ...]:
        """The occurrences of a phrase, in any inflection."""
        stems, sign = stem_all(words_with_numbers(phrase)), _find_sign(_SIGN_AT_END.search(phrase))
        source, spans = self._source
        found = []
        for at in source.positions(stems) if stems else ():
            start, end = spans[at][0], spans[at + len(stems) - 1][1]
            if _find_sign(_SIGN_HERE.match(self._text, end)) == sign:
                found.append((start, end + len(sign)))
        return tuple(found)

    @cached_property
    def _source(self) -> tuple[StemmedSource, Sequence[Span]]:
        """The stems of the text, with its numbers, and their spans."""
        tokens = self.document.tokens()
        return StemmedSource(restore_numbers(self._text, tokens)), tokens.spans

    def _extend(self, span: Span) -> Span | None:
        """A span with all of the terms that it cuts; None if it is no phrase."""
        start, end = span
        written = self._text[start:end]
        if _CLAUSE_END.search(written) or _LONG_HAN.search(written):
            return None
        for excluded in (self._addresses, self._markup):
            if excluded.find(start) or excluded.find(end - 1):
                return None
        if _BROKEN_WORD.match(self._text, end):
            return None
        first, last = self._terms.find(start), self._terms.find(end - 1)
        if first is not None:
            start = first[0]
        if last is not None and not _POSSESSIVE.fullmatch(self._text, end, last[1]):
            end = last[1]
        return start, end

    @cached_property
    def _terms(self) -> "_Spans":
        return _Spans(match.span() for match in _TERM.finditer(self._text))

    @cached_property
    def _addresses(self) -> "_Spans":
        words = _MARKED.finditer(self._text)
        return _Spans(match.span() for match in words if _is_address(match[0]))

    @cached_property
    def _markup(self) -> "_Spans":
        return _Spans(match.span() for match in _MARKUP.finditer(self._text))

    def share_at_end(self, spans: Iterable[Span]) -> float:
        """Of the phrases that have a phrase's last word, the share that end with it, for the form
        of the word that has the highest."""
        return max(map(self._share_at_end, {self._text[slice(*span)] for span in spans}))

    def _share_at_end(self, written: str) -> float:
        words = WORD.findall(written)
        return self._speller.share_at_end(words[-1]) if words else 1.0

    def spell(self, spans: Sequence[Span], words: Sequence[str]) -> str:
        """The most frequent spelling of a phrase in running text. The inflection of `words` is
        preferred, and a noun to an adjective: *optimisation*, not *optimal*. If the phrase occurs
        only in titles or at the beginning of sentences, their capitals are removed."""
        key = tuple(spans), tuple(words)
        if key not in self._spellings:
            self._spellings[key] = self._find_spelling(spans, words)
        return self._spellings[key]

    def _find_spelling(self, spans: Sequence[Span], words: Sequence[str]) -> str:
        tokenised = self.document.tokenised
        written = [(span, self._write(span)) for span in spans]
        nouns = [pair for pair in written if self._share_at_end(pair[1]) >= _NOUN]
        written = nouns or written
        same = [pair for pair in written if words_of(pair[1], tokenised=tokenised) == words]
        chosen = same or written
        running = [text for span, text in chosen if self._in_running_text(span)]
        # The first of equally frequent ones.
        if running:
            return Counter(running).most_common(1)[0][0]
        ((text, _),) = Counter(text for _, text in chosen).most_common(1)
        start = next(span[0] for span, spelling in chosen if spelling == text)
        in_capitals = self._line_at(start).isupper()
        in_title = start < self._title_end
        spelt = WORD.sub(partial(self._without_title_capital, in_capitals, in_title), text)
        if spelt != text:  # other words have lost the capitals of a title
            spelt = WORD.sub(self._without_rare_capital, spelt)
        return spelt

    def _write(self, span: Span) -> str:
        return " ".join(_HALF_PAIR.sub("", self._text[slice(*span)]).split())

    def _without_title_capital(
        self, in_capitals: bool, in_title: bool, match: "re.Match[str]"
    ) -> str:
        """A word with the capitals of running text. Capitals in a line that has others too are
        those of an acronym. *St* keeps its capital in *St Paul*, though *ST* is known."""
        word = match[0]
        if word.islower() or not (word.istitle() or word.isupper()):
            return word
        if word.isupper() and len(word) > 1 and not in_capitals:
            return word
        running, known = self._running_word(word.lower()), self._speller.case(word)
        if running is None and known == word and stem(word.lower()) in self._lower_stems:
            return word.lower()  # a title's Commute, of a text about commuting
        if running is None and word.istitle() and known.isupper():
            before_capital = match.string[match.end() :].lstrip()[:1].isupper()
            is_name = before_capital and not in_title and not in_capitals
            return word if is_name else word.lower()
        return running or known

    def _without_rare_capital(self, match: "re.Match[str]") -> str:
        """A word that no phrase of the list has, and that ends like a common noun or adjective,
        without the capital of a title."""
        word = match[0]
        is_name = self._speller.has(word) or not _COMMON_ENDING.search(word)
        return word.lower() if word.istitle() and not is_name else word

    def _line_at(self, start: int) -> str:
        end = self._text.find("\n", start)
        return self._text[self._text.rfind("\n", 0, start) + 1 : end if end >= 0 else None]

    def spell_absent(self, text: str) -> str:
        """How authors write a phrase that the text does not have. If it is in lower case, as
        networks generate it, its words have the capitals that they have in other documents, and
        acronyms those of running text."""
        if text != text.lower():
            return text
        spelt = self._speller.spell(words_of(text, tokenised=self.document.tokenised))
        return WORD.sub(self._with_acronyms, spelt)

    def _with_acronyms(self, match: "re.Match[str]") -> str:
        running = self._running_word(match[0]) or match[0]
        return match[0] if running.istitle() else running

    def _in_running_text(self, span: Span) -> bool:
        """Whether a span is within a sentence: neither its beginning nor part of a title that has
        capitals of its own."""
        start, end = span
        if start < self._title_end and (start == 0 or self._has_title_case):
            return False
        if start == self._abstract_start or self._is_heading(start, end):
            return False
        before = self._text[max(start - _LOOK_BACK, 0) : start]
        if before.rstrip(" \t").endswith("\n") and self._text[start : start + 2].istitle():
            return False  # perhaps a new paragraph
        return not _SENTENCE_START.search(before)

    def _is_heading(self, start: int, end: int) -> bool:
        """Whether a span in capitals is in a line of capitals."""
        return (
            self._text[start:end].isupper()
            and self._headings.find(start) is not None
            and self._headings.find(end - 1) is not None
        )

    @cached_property
    def _headings(self) -> "_Spans":
        """The lines of capitals that have several words."""
        lines = re.finditer(r"[^\n]+", self._text)
        return _Spans(
            line.span() for line in lines if line[0].isupper() and len(line[0].split()) > 1
        )

    @property
    def _title_end(self) -> int:
        return len(self.document.title)

    @property
    def _abstract_start(self) -> int:
        return len(self._text) - len(self.document.abstract)

    @cached_property
    def _has_title_case(self) -> bool:
        """Whether most long words of the title begin with capitals."""
        words = [word for word in WORD.findall(self.document.title) if len(word) > 3]
        capitals: int = sum(word[0].isupper() for word in words)
        return capitals > len(words) / 2

    def _running_word(self, word: str) -> str | None:
        """A word in lower case, with its most frequent capitals in running text."""
        spans = (span for span in self._words.get(word, ()) if self._in_running_text(span))
        counts = Counter(self._text[slice(*span)] for span in spans)
        return counts.most_common(1)[0][0] if counts else None

    @cached_property
    def _lower_stems(self) -> frozenset[str]:
        """The stems of all words that the text has in lower case."""
        return frozenset(stem_all([word for word in WORD.findall(self._text) if word.islower()]))

    @cached_property
    def _words(self) -> dict[str, list[Span]]:
        """Where each word occurs, by the word in lower case."""
        spans: dict[str, list[Span]] = {}
        for match in WORD.finditer(self._text):
            spans.setdefault(match[0].lower(), []).append(match.span())
        return spans


def stem_term(text: str) -> Stems:
    """The stems of the words of a term, and its numbers. The sign of C++ or C# is part of its last
    stem: these are different terms."""
    stems = stem_all(words_with_numbers(text))
    sign = _find_sign(_SIGN_AT_END.search(text))
    return (*stems[:-1], stems[-1] + sign) if stems and sign else stems


def _find_sign(match: "re.Match[str] | None") -> str:
    return match[0] if match else ""


def _is_address(word: str) -> bool:
    path = _PATH.search(word)
    has_query = path is not None and _QUERY.search(word, path.end()) is not None
    return has_query or _ADDRESS.search(word) is not None


class _Spans:
    """Spans of a text, in order."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.all = list(spans)
        self._starts = [start for start, _ in self.all]

    def find(self, at: int) -> Span | None:
        """The one that has the character at an index."""
        number = bisect_right(self._starts, at) - 1
        return self.all[number] if number >= 0 and self.all[number][1] > at else None
