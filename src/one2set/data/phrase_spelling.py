"""How authors write phrases: their capitals, hyphens and apostrophes, by majority.

Phrases are compared by stems, which have none of these. `SpellingCounts` learns the spelling of
each phrase from the keyphrases of training documents; `PhraseSpeller` writes any phrase word by
word, as the phrases of a list write their words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from unicodedata import normalize

from one2set.data.document import Document
from one2set.text import stem_all, words_of

Stems = tuple[str, ...]

# For a character class: hyphen-minus, hyphen, non-breaking hyphen, figure dash, en dash, minus.
HYPHENS = r"\-‐‑‒–−"
APOSTROPHES = "'’ʼ"
_HYPHEN, _APOSTROPHE = re.compile(f"[{HYPHENS}]"), re.compile(f"[{APOSTROPHES}‘]")
_EDGES = re.compile(r"^[^\w(.]+|[^\w)+#*]+$")
_WORD = re.compile(r"[^\W_]+")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
_JOINS = (" ", "-", "/")
_SUFFIX = 3  # letters
_USUAL_SHARE, _SMOOTHING = 0.6, 5  # of words at ends; words of a suffix that count as much as it
_CACHED = 4096  # suffixes, and pairs of words
_UNINFORMATIVE = 1e-3  # the weight of a spelling whose capitals may be those of a list


def tidy(phrase: str) -> str:
    """A keyphrase with plain hyphens and apostrophes, without quotes or spaces around marks."""
    plain = _HYPHEN.sub("-", normalize("NFKC", phrase)).replace("\u00ad", "")
    return _EDGES.sub("", _close_up(_APOSTROPHE.sub("'", " ".join(plain.split()))))


def _close_up(text: str) -> str:
    """Remove the spaces that preprocessing adds around marks: `alzheimer ' s`, `( eeg )`."""
    text = re.sub(r"(?<=\w) ' ?(?=s\b)", "'", text)
    return re.sub(r"\( | (?=\))", lambda match: match[0].strip(), text)


def _running_case(phrase: str, abstract: str) -> str | None:
    """A keyphrase without the capitals that only a list gives it: the abstract has its words in
    lower case. None if the abstract does not show whether a word is capitalised."""
    for word in _CAPITALISED.findall(phrase):
        if f" {word.lower()}" in abstract:
            phrase = re.sub(rf"\b{word}\b", word.lower(), phrase)
        elif not re.search(rf"[a-z,] {word}", abstract):
            return None
    return phrase


class SpellingCounts:
    """How often documents spell each phrase in each way."""

    def __init__(self) -> None:
        self._phrases: dict[Stems, Counter[str]] = {}
        self._words: dict[str, Counter[str]] = {}

    def add(self, document: Document, keyphrases: Mapping[Stems, str]) -> None:
        """Count the keyphrases of a document, given by their stems."""
        for stems, phrase in keyphrases.items():
            text = tidy(phrase)
            if stem_all(words_of(text)) != stems:
                continue
            running = None if document.tokenised else _running_case(text, document.abstract)
            counts = self._phrases.setdefault(stems, Counter())
            if running is None:
                counts[text] += _UNINFORMATIVE  # type: ignore[assignment]
                continue
            counts[running] += 1
            for word in _WORD.findall(running):
                self._words.setdefault(word.lower(), Counter())[word] += 1

    def spelling(self, stems: Stems) -> str:
        """The most frequent spelling of a phrase. If no document shows its capitals, its words have
        those that they have in other phrases."""
        if stems not in self._phrases:
            return " ".join(stems)
        ((text, weight),) = self._phrases[stems].most_common(1)
        return text if weight >= 1 else _WORD.sub(lambda word: self._cased(word[0]), text)

    def _cased(self, word: str) -> str:
        counts = self._words.get(word.lower())
        return counts.most_common(1)[0][0] if counts else word


class PhraseSpeller:
    """Writes phrases as the phrases of a list are written. They are asked for when the first phrase
    is to be written."""

    def __init__(self, spellings: Callable[[], Iterable[str]]) -> None:
        self._spellings = spellings

    def spell(self, words: Sequence[str]) -> str:
        """The words of a phrase, in the field's form (`text.tokenise`), joined as authors do."""
        text = "".join(map(self.case, words[:1]))
        for left, right in pairwise(words):
            text += self._join(left, right) + self.case(right)
        return _close_up(text)

    def case(self, word: str) -> str:
        """The usual capitals of a word; as it is given if they are unknown."""
        return max(self._forms.get(word.lower(), [word]), key=self._counts.__getitem__)

    def share_at_end(self, word: str) -> float:
        """Of the phrases that have a word, the share that end with it: near 0 for adjectives. A
        noun has a plural, which tells as well; words of few phrases are judged by their last
        letters too."""
        singular = word.lower()
        plural = "" if singular.endswith("ic") else f"{singular}s"  # of graphic, not graphics
        known = [plural] if plural in self._forms else []
        return max(map(self._share_at_end, [singular, *known]))

    def _share_at_end(self, word: str) -> float:
        usual = self._usual_share(word[-_SUFFIX:])
        return (self._ends[word] + usual) / (self._count(word) + 1)

    @lru_cache(_CACHED)  # noqa: B019  (there are few spellers)
    def _usual_share(self, suffix: str) -> float:
        """The share at ends of the words with a suffix."""
        words = self._suffixes.get(suffix, ())
        shares = sum(self._ends[word] / self._count(word) for word in words)
        return (shares + _SMOOTHING * _USUAL_SHARE) / (len(words) + _SMOOTHING)

    def _count(self, word: str) -> int:
        """How often phrases have a word, in any form."""
        return sum(map(self._counts.__getitem__, self._forms.get(word, ())))

    @cached_property
    def _text(self) -> str:
        """All phrases, each between line ends."""
        return "\n".join(["", *self._spellings()])

    @cached_property
    def _lower(self) -> str:
        return self._text.lower()

    @cached_property
    def _counts(self) -> Counter[str]:
        """How often phrases have each word, as it is written."""
        return Counter(_find_words(self._text))

    @cached_property
    def _forms(self) -> dict[str, list[str]]:
        """How each word is written, by the word in lower case."""
        forms: dict[str, list[str]] = {}
        for word in self._counts:
            forms.setdefault(word.lower(), []).append(word)
        return forms

    @cached_property
    def _ends(self) -> Counter[str]:
        """How many phrases end with each word, in lower case."""
        phrases = self._lower.split("\n")
        ends = Counter([phrase[phrase.rfind(" ") + 1 :] for phrase in phrases])
        for token in [token for token in ends if not token.isalnum()]:
            ends.update(_WORD.findall(token)[-1:] * ends[token])
        return ends

    @cached_property
    def _suffixes(self) -> dict[str, list[str]]:
        """The words with each suffix."""
        words: dict[str, list[str]] = {}
        for word in self._forms:
            words.setdefault(word[-_SUFFIX:], []).append(word)
        return words

    @lru_cache(_CACHED)  # noqa: B019
    def _join(self, left: str, right: str) -> str:
        """The text between two words, in lower case."""
        if (left, right) not in self._joined:
            return " "
        # The lookahead lets occurrences overlap.
        pair = re.compile(rf"{left}(?=({'|'.join(_JOINS)}){right}(?![^\W_]))")
        text = self._lower
        matches = (match for match in pair.finditer(text) if not text[match.start() - 1].isalnum())
        return Counter(match[1] for match in matches).most_common(1)[0][0]

    @cached_property
    def _joined(self) -> set[tuple[str, str]]:
        """The pairs of words that a phrase joins by another mark than a space."""
        return {
            (left[0], right[0])
            for text in self._lower.split("\n")
            if "-" in text or "/" in text
            for left, right in pairwise(_WORD.finditer(text))
            if text[left.end() : right.start()] in _JOINS[1:]
        }


def _find_words(text: str) -> Iterator[str]:
    """The words of a text, as `_WORD` finds them; most are whole tokens, which is seen sooner."""
    for token in text.split():
        if token.isalnum():
            yield token
        else:
            yield from _WORD.findall(token)


NO_SPELLER = PhraseSpeller(tuple)
