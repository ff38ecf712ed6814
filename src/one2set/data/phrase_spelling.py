"""How authors write phrases: their capitals, hyphens and apostrophes, by majority.

Phrases are compared by stems, which have none of these. `SpellingCounts` learns the spelling of
each phrase from the keyphrases of training documents; `PhraseSpeller` writes any phrase word by
word, as the phrases of a list write their words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
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
            text += self._joins.get((left, right), " ") + self.case(right)
        return _close_up(text)

    def case(self, word: str) -> str:
        """The usual capitals of a word; as it is given if they are unknown."""
        return self._cases.get(word.lower(), word)

    def share_at_end(self, word: str) -> float:
        """Of the phrases that have a word, the share that end with it: near 0 for adjectives. A
        noun has a plural, which tells as well; words of few phrases are judged by their last
        letters too."""
        singular = word.lower()
        plural = "" if singular.endswith("ic") else f"{singular}s"  # of graphic, not graphics
        known = [plural] if plural in self._places[0] else []
        return max(map(self._share_at_end, [singular, *known]))

    def _share_at_end(self, word: str) -> float:
        inside, end = (counts[word] for counts in self._places)
        similar, shares = (counts[word[-_SUFFIX:]] for counts in self._suffixes)
        usual = (shares + _SMOOTHING * _USUAL_SHARE) / (similar + _SMOOTHING)
        return (end + usual) / (inside + 1)

    @cached_property
    def _phrases(self) -> list[list[str]]:
        """The words of each phrase."""
        return [_WORD.findall(text) for text in self._spellings()]

    @cached_property
    def _cases(self) -> dict[str, str]:
        counts = Counter(chain.from_iterable(self._phrases))
        # The most frequent spelling of a word is the last, and stays.
        return {word.lower(): word for word, _ in reversed(counts.most_common())}

    @cached_property
    def _places(self) -> tuple[Counter[str], Counter[str]]:
        """How many phrases have each word, in lower case, and how many end with it."""
        inside = Counter(map(str.lower, chain.from_iterable(self._phrases)))
        return inside, Counter(words[-1].lower() for words in self._phrases if words)

    @cached_property
    def _suffixes(self) -> tuple[Counter[str], Counter[str]]:
        """The number of words with each suffix, and the sum of their shares at ends."""
        inside, end = self._places
        similar: Counter[str] = Counter()
        shares: Counter[str] = Counter()
        for word, count in inside.items():
            suffix = word[-_SUFFIX:]
            similar[suffix] += 1
            shares[suffix] += end[word] / count  # type: ignore[assignment]
        return similar, shares

    @cached_property
    def _joins(self) -> dict[tuple[str, str], str]:
        """The text between two words, in lower case."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for text in self._spellings():
            for left, right in pairwise(_WORD.finditer(text)):
                between = text[left.end() : right.start()]
                if between in _JOINS:
                    pair = left[0].lower(), right[0].lower()
                    counts.setdefault(pair, Counter())[between] += 1
        return {pair: counter.most_common(1)[0][0] for pair, counter in counts.items()}


NO_SPELLER = PhraseSpeller(tuple)
