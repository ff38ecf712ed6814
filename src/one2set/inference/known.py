"""Known phrases: what authors of training documents chose as keyphrases, and how often.

Where such a phrase stands in a text, or all its words do, it is a candidate even if no code says
it. How much that is worth, a calibration learns.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from one2set.data.document import Document
from one2set.data.specials import SPECIALS
from one2set.errors import DataError
from one2set.text import DIGIT, stem_all

FILE = "phrases.tsv"
_LEAST, _MOST_WORDS = 3, 5  # documents and words: rarer and longer ones are not kept
_LEAST_SCATTERED = 10  # documents: rarer ones are hardly ever right where they are absent
_UNREADABLE = {*SPECIALS, DIGIT, ".", ","}
Stems = tuple[str, ...]


class Known(NamedTuple):
    """A phrase as it is most often written, and of how many documents it is a keyphrase."""

    text: str
    documents: int


class KnownPhrases:
    """Known phrases by their stems."""

    def __init__(self, phrases: dict[Stems, Known]) -> None:
        self.phrases = phrases

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "KnownPhrases":
        """Those of documents whose keyphrases are known."""
        spellings: dict[Stems, Counter[str]] = {}
        for document in documents:
            phrases = {stem_all(words): " ".join(words) for words in document.phrase_words()}
            for stems, text in phrases.items():
                if 0 < len(stems) <= _MOST_WORDS and _UNREADABLE.isdisjoint(stems):
                    spellings.setdefault(stems, Counter())[text] += 1
        found = {
            stems: Known(texts.most_common(1)[0][0], texts.total())
            for stems, texts in spellings.items()
            if texts.total() >= _LEAST
        }
        return cls(dict(sorted(found.items(), key=lambda pair: -pair[1].documents)))

    def save(self, folder: Path) -> None:
        """Store them with a model."""
        with (folder / FILE).open("w", encoding="utf-8") as file:
            for stems, (text, documents) in self.phrases.items():
                file.write(f"{text}\t{' '.join(stems)}\t{documents}\n")

    @classmethod
    def load(cls, folder: Path) -> "KnownPhrases":
        """A model's; none where it has none."""
        path = folder / FILE
        if not path.exists():
            return cls({})
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            rows = (line.split("\t") for line in lines)
            return cls({tuple(stems.split(" ")): Known(text, int(n)) for text, stems, n in rows})
        except ValueError:
            raise DataError(
                "is no list of phrases", fix="make it again with one2set export", path=path
            ) from None

    def within(self, stems: Sequence[str]) -> set[Stems]:
        """Those that stand in a stemmed text."""
        text = tuple(stems)
        return {
            text[at : at + length]
            for at, stem in enumerate(text)
            for length in self._lengths.get(stem, ())
            if text[at : at + length] in self.phrases
        }

    def scattered(self, stems: Sequence[str]) -> set[Stems]:
        """Frequent ones of several words that all stand in a stemmed text, wherever."""
        words = set(stems)
        return {
            phrase
            for word in words
            for phrase in self._by_rarest.get(word, ())
            if words.issuperset(phrase)
        }

    @cached_property
    def _lengths(self) -> dict[str, set[int]]:
        """How long the phrases are that begin with a word."""
        lengths: dict[str, set[int]] = {}
        for stems in self.phrases:
            lengths.setdefault(stems[0], set()).add(len(stems))
        return lengths

    @cached_property
    def _by_rarest(self) -> dict[str, list[Stems]]:
        """Such phrases by the word that fewest phrases have."""
        frequency = Counter(word for stems in self.phrases for word in set(stems))
        found: dict[str, list[Stems]] = {}
        for stems, known in self.phrases.items():
            if len(stems) > 1 and known.documents >= _LEAST_SCATTERED:
                found.setdefault(min(stems, key=frequency.__getitem__), []).append(stems)
        return found


NOTHING_KNOWN = KnownPhrases({})
