"""Known phrases: what authors of many training documents chose as keyphrases, and how often.

Where all words of such a phrase stand in a text, scattered over it, or where they are associated
with it, it is a candidate even if no code says it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import Vocabulary
from one2set.errors import DataError
from one2set.text import DIGIT, stem_all, words_of

FILE = "phrases.tsv"
_LEAST = 10  # documents: rarer ones are hardly ever right where they are absent
_WORDS = range(1, 6)  # longer ones are rare
_UNREADABLE = {*SPECIALS, DIGIT, ".", ","}
Stems = tuple[str, ...]


class Known(NamedTuple):
    """A phrase as it is most often written, and of how many documents it is a keyphrase."""

    text: str
    documents: int


class PhraseList:
    """Known phrases by their stems."""

    def __init__(self, phrases: dict[Stems, Known]) -> None:
        self.phrases = phrases

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "PhraseList":
        """Those of documents whose keyphrases are known."""
        spellings: dict[Stems, Counter[str]] = {}
        for document in documents:
            phrases = {stem_all(words): " ".join(words) for words in document.phrase_words()}
            for stems, text in phrases.items():
                spellings.setdefault(stems, Counter())[text] += 1
        return cls._most_frequent(spellings)

    @classmethod
    def _most_frequent(cls, spellings: Mapping[Stems, Counter[str]]) -> "PhraseList":
        """The phrases that enough documents have, the most frequent first."""
        found = {
            stems: Known(texts.most_common(1)[0][0], texts.total())
            for stems, texts in spellings.items()
            if texts.total() >= _LEAST and len(stems) in _WORDS and _UNREADABLE.isdisjoint(stems)
        }
        return cls(dict(sorted(found.items(), key=lambda pair: -pair[1].documents)))

    @classmethod
    def from_examples(
        cls, examples: Iterable[Example], vocabulary: Vocabulary, *, limit: int
    ) -> "PhraseList":
        """The `limit` most frequent keyphrases of a corpus's examples."""
        written: Counter[bytes] = Counter()
        for example in examples:
            written.update({phrase.tobytes() for phrase in (*example.present, *example.absent)})
        spellings: dict[Stems, Counter[str]] = {}
        for ids, count in written.items():
            words = words_of(vocabulary.text(np.frombuffer(ids, np.int32).tolist()))
            spellings.setdefault(stem_all(words), Counter())[" ".join(words)] += count
        found = cls._most_frequent(spellings).phrases
        return cls(dict(islice(found.items(), limit)))

    def plus(self, other: "PhraseList") -> "PhraseList":
        """Those of both. Ours keep their numbers, by which associations know them."""
        phrases = dict(self.phrases)
        for stems, (text, documents) in other.phrases.items():
            mine = phrases.get(stems, Known(text, 0))
            phrases[stems] = Known(mine.text, mine.documents + documents)
        return PhraseList(phrases)

    def save(self, folder: Path) -> None:
        """Store them with a model."""
        with (folder / FILE).open("w", encoding="utf-8") as file:
            for stems, (text, documents) in self.phrases.items():
                file.write(f"{text}\t{' '.join(stems)}\t{documents}\n")

    @classmethod
    def load(cls, folder: Path) -> "PhraseList":
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
                "is no list of phrases", fix="make it again with one2set learn", path=path
            ) from None

    def scattered(self, stems: Sequence[str]) -> set[Stems]:
        """Those of several words that all stand in a stemmed text, wherever."""
        words = set(stems)
        return {
            phrase
            for word in words
            for phrase in self._by_rarest.get(word, ())
            if words.issuperset(phrase)
        }

    @cached_property
    def number(self) -> dict[Stems, int]:
        """Their numbers, the most frequent first; what was added later comes last."""
        return {stems: number for number, stems in enumerate(self.phrases)}

    @cached_property
    def in_order(self) -> list[tuple[Stems, str]]:
        """By their numbers, with their texts."""
        return [(stems, known.text) for stems, known in self.phrases.items()]

    @cached_property
    def _by_rarest(self) -> dict[str, list[Stems]]:
        """Phrases by the word that fewest of them have."""
        frequency = Counter(word for stems in self.phrases for word in set(stems))
        found: dict[str, list[Stems]] = {}
        for stems in (one for one in self.phrases if len(one) > 1):
            found.setdefault(min(stems, key=frequency.__getitem__), []).append(stems)
        return found


NOTHING_KNOWN = PhraseList({})
