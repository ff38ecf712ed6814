"""The phrase list: the keyphrases of many training documents, and how often each was chosen.

A phrase of the list is a candidate for a text if its words are scattered over the text or if a
classifier finds it likely, even if no code generates it.

Phrases are compared by stems. `SpellingCounts` learns how authors write each one: its capitals,
hyphens and apostrophes, by majority over the keyphrases of training documents.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from zlib import crc32

import numpy as np

from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.text import DIGIT, Stems, stem_all, words_of
from one2set.data.vocabulary import Vocabulary
from one2set.errors import DataError

FILE = "phrases.tsv"
_MIN_DOCUMENTS = 10  # rarer phrases are rarely correct as absent ones
_WORDS = range(1, 6)  # longer ones are rare
_UNREADABLE = {*SPECIALS, DIGIT, ".", ","}
# Lines of spelling, stems and documents, in UTF-8.
_CONTENT = re.compile(rb"(?:[^\t\n]*+\t[^\t\n]++\t[0-9]++\n)*+")
# For a character class: hyphen-minus, hyphen, non-breaking hyphen, figure dash, en dash, minus.
HYPHENS = r"\-‐‑‒–−"
APOSTROPHES = "'’ʼ"
_WORD = re.compile(r"[^\W_]+")
_HYPHEN, _APOSTROPHE = re.compile(f"[{HYPHENS}]"), re.compile(f"[{APOSTROPHES}‘]")
_EDGES = re.compile(r"^[^\w(.]+|[^\w)+#*]+$")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
_UNINFORMATIVE = 1e-3  # the weight of a spelling whose capitals may be those of a list


def tidy(phrase: str) -> str:
    """A keyphrase with plain hyphens and apostrophes, without quotes or spaces around marks."""
    plain = _HYPHEN.sub("-", normalize("NFKC", phrase)).replace("\u00ad", "")
    return _EDGES.sub("", close_up(_APOSTROPHE.sub("'", " ".join(plain.split()))))


def close_up(text: str) -> str:
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


class KnownPhrase(NamedTuple):
    """A phrase in its most frequent spelling, and the number of documents that have it as a
    keyphrase."""

    text: str
    documents: int


class PhraseList:
    """Phrases by their stems, the most frequent first."""

    def __init__(self, phrases: Mapping[Stems, KnownPhrase]) -> None:
        self._lines = [
            f"{text}\t{' '.join(stems)}\t{documents}"
            for stems, (text, documents) in phrases.items()
        ]

    def __len__(self) -> int:
        return len(self._lines)

    def entry(self, index: int) -> tuple[Stems, str]:
        """Stems and spelling of a phrase, by index."""
        text, stems, _ = self._lines[index].split("\t")
        return tuple(stems.split(" ")), text

    def spellings(self) -> list[str]:
        """The spelling of each phrase."""
        return [line.partition("\t")[0] for line in self._lines]

    @cached_property
    def phrases(self) -> dict[Stems, KnownPhrase]:
        """All phrases. To generate, `entry` is enough, and the list need not be parsed."""
        rows = [line.split("\t") for line in self._lines]
        return {tuple(stems.split(" ")): KnownPhrase(text, int(n)) for text, stems, n in rows}

    @classmethod
    def from_documents(cls, documents: Iterable[Document]) -> "PhraseList":
        """The keyphrases of documents that have them."""
        documents_with: Counter[Stems] = Counter()
        spellings = SpellingCounts()
        for document in documents:
            words = map(stem_all, document.phrase_words())
            phrases = dict(zip(words, document.keyphrases or (), strict=True))
            documents_with.update(phrases.keys())
            spellings.add(document, phrases)
        return cls._most_frequent(documents_with, spellings.spelling)

    @classmethod
    def _most_frequent(
        cls, documents_with: Mapping[Stems, int], spelling: Callable[[Stems], str]
    ) -> "PhraseList":
        """The phrases that enough documents have, the most frequent first."""
        phrases = {
            stems: KnownPhrase(spelling(stems), documents)
            for stems, documents in documents_with.items()
            if documents >= _MIN_DOCUMENTS
            and len(stems) in _WORDS
            and _UNREADABLE.isdisjoint(stems)
        }
        return cls(dict(sorted(phrases.items(), key=lambda pair: -pair[1].documents)))

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
        most_frequent = cls._most_frequent(
            {stems: texts.total() for stems, texts in spellings.items()},
            lambda stems: spellings[stems].most_common(1)[0][0],
        )
        return cls(dict(islice(most_frequent.phrases.items(), limit)))

    def merge(self, other: "PhraseList") -> "PhraseList":
        """The phrases of both. Those of this list keep their indices: a phrase classifier needs
        them."""
        phrases = dict(self.phrases)
        for stems, (text, documents) in other.phrases.items():
            mine = phrases.get(stems, KnownPhrase(text, 0))
            phrases[stems] = KnownPhrase(mine.text, mine.documents + documents)
        return PhraseList(phrases)

    def save(self, folder: Path) -> None:
        """Write it into a model's folder."""
        (folder / FILE).write_bytes(self._content)

    @property
    def _content(self) -> bytes:
        return "".join(f"{line}\n" for line in self._lines).encode()

    @cached_property
    def checksum(self) -> int:
        """Of its file."""
        return crc32(self._content)

    @classmethod
    def load(cls, folder: Path) -> "PhraseList":
        """The one in a model's folder; an empty one where there is none."""
        phrase_list, path = cls({}), folder / FILE
        if not path.exists():
            return phrase_list
        try:
            content = path.read_bytes()
            if not _CONTENT.fullmatch(content):
                raise ValueError
            phrase_list._lines = content.decode().split("\n")[:-1]
        except (ValueError, OSError):
            raise DataError(
                "is not a phrase list", fix="make it again with one2set learn", path=path
            ) from None
        phrase_list.checksum = crc32(content)
        return phrase_list

    @cached_property
    def index(self) -> dict[Stems, int]:
        """The indices of phrases: the most frequent first, but merged ones last."""
        return {stems: index for index, stems in enumerate(self.phrases)}


NO_PHRASES = PhraseList({})
