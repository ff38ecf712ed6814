"""Vocabularies: text to ids and back.

`WordVocabulary` is the paper's: the most frequent words; all others can only be copied.
`PieceVocabulary` has the word pieces of a `tokenizers` file, for pretrained encoders. They can
spell every text, so nothing is out of vocabulary.

Both map documents to dictionary ids (`Example`), ids back to text (`text`), and source ids to
characters of the raw text (`read`).
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from one2set.data.document import Document
from one2set.data.example import Example, Ids
from one2set.data.specials import SPECIALS, UNK
from one2set.data.text import DIGIT, Span, split_present_absent
from one2set.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_WORDS_FILE, _PIECES_FILE = "words.tsv", "tokenizer.json"
_HALVES = re.compile("[\ud800-\udfff]")  # unpaired surrogates


class Vocabulary(Protocol):
    """The interface of both vocabularies."""

    @property
    def size(self) -> int:
        """Networks know the ids below it; others can only be copied."""

    def encode(self, document: Document) -> Example:
        """The ids of a document and of its keyphrases, if it has any."""

    def encode_source(self, document: Document) -> tuple[Example, list[Span]]:
        """The ids of a document without its keyphrases, and the span of `document.text` of each
        source id."""

    def text(self, ids: Iterable[int], *, unknown: Sequence[str] = ()) -> str:
        """The text of a phrase; `unknown` is that of its example."""

    def group(
        self, ids: Sequence[int], *, unknown: Sequence[str] = ()
    ) -> list[tuple[str, int, int]]:
        """The ids of each word: its text, and the positions of its first and its last id."""

    def save(self, folder: Path) -> Path:
        """Write into a folder. Returns the name of the file."""


class WordVocabulary:
    """The most frequent words of the training data, specials first.

    `words` is the whole dictionary, which includes words that networks can only copy; the first
    `size` words are the networks' vocabulary.
    """

    def __init__(self, words: Sequence[str], *, size: int, counts: Sequence[int] = ()) -> None:
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise DataError(
                f"a vocabulary begins with {list(words[:3])}…; expected {', '.join(SPECIALS)}",
                fix="make it with one2set prepare",
            )
        self.words, self.counts = list(words), list(counts) or [0] * len(words)
        self.size = min(size, len(self.words))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return ids_of_words(self.words)

    def encode(self, document: Document) -> Example:
        title = document.title_words()
        source = title + document.abstract_words()
        return self._example(document.id, source, len(title), document.phrase_words())

    def encode_source(self, document: Document) -> tuple[Example, list[Span]]:
        words, spans = document.tokens()
        return self._example(document.id, words, document.count_title_words(spans), []), spans

    def _example(
        self,
        id: str,
        source: Sequence[str],
        title_length: int,
        phrases: Sequence[Sequence[str]],
    ) -> Example:
        split = split_present_absent(phrases, source)
        unknown: dict[str, int] = {}

        def ids(words: Iterable[str]) -> Ids:
            known = self._ids
            return np.array(
                [
                    known[w] if w in known else unknown.setdefault(w, len(known) + len(unknown))
                    for w in words
                ],
                dtype=np.int32,
            )

        return Example(
            id,
            source=ids(source),
            title_length=title_length,
            present=tuple(ids(phrases[i]) for i in split.present),
            absent=tuple(ids(phrases[i]) for i in split.absent),
            unknown=tuple(unknown),
        )

    def text(self, ids: Iterable[int], *, unknown: Sequence[str] = ()) -> str:
        known = len(self.words)
        return " ".join(self.words[i] if i < known else unknown[i - known] for i in ids)

    def group(
        self, ids: Sequence[int], *, unknown: Sequence[str] = ()
    ) -> list[tuple[str, int, int]]:
        known = len(self.words)
        words = (self.words[i] if i < known else unknown[i - known] for i in ids)
        return [(word, at, at) for at, word in enumerate(words)]

    def save(self, folder: Path) -> Path:
        path = folder / _WORDS_FILE
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"{word}\t{count}\n" for word, count in zip(self.words, self.counts, strict=True)
            )
        return path


class PieceVocabulary:
    """Word pieces of a `tokenizers` file; their ids follow the specials."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.size = len(SPECIALS) + tokenizer.get_vocab_size()

    @classmethod
    def from_file(cls, path: Path) -> "PieceVocabulary":
        from tokenizers import Tokenizer

        try:
            return cls(Tokenizer.from_file(str(path)))
        except Exception as error:  # the library raises plain Exception
            raise DataError(
                f"is not a tokenizers file ({error})",
                fix="pass a tokenizer.json of the Hugging Face tokenizers library",
                path=path,
            ) from None

    def pieces(self, text: str) -> Ids:
        """The ids of a text's pieces, without the special tokens of the pretrained model."""
        return _ids_of(self._encoded(text))

    def _encoded(self, text: str) -> "Encoding":
        """Encode a text. `<digit>` is read as 0, padded to the same length so that offsets stay
        valid; unpaired surrogates, which the library rejects, as the replacement character."""
        shown = _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)
        shown = shown.replace(DIGIT, "0".ljust(len(DIGIT)))
        return self._tokenizer.encode(shown, add_special_tokens=False)

    def encode(self, document: Document) -> Example:
        title, abstract = self.pieces(document.title), self.pieces(document.abstract)
        keyphrases = document.keyphrases or ()
        split = split_present_absent(document.phrase_words(), document.words())
        return Example(
            document.id,
            source=np.concatenate([title, abstract]),
            title_length=len(title),
            present=tuple(self.pieces(keyphrases[i]) for i in split.present),
            absent=tuple(self.pieces(keyphrases[i]) for i in split.absent),
        )

    def encode_source(self, document: Document) -> tuple[Example, list[Span]]:
        title, abstract = self._encoded(document.title), self._encoded(document.abstract)
        source = np.concatenate([_ids_of(title), _ids_of(abstract)])
        shift = len(document.text) - len(document.abstract)
        spans = title.offsets + [(start + shift, end + shift) for start, end in abstract.offsets]
        return Example(document.id, source, title_length=len(title.ids)), spans

    def text(self, ids: Iterable[int], *, unknown: Sequence[str] = ()) -> str:
        pieces: list[int] = []
        for id in ids:
            if id < len(SPECIALS):
                raise ValueError(f"id {id} is {SPECIALS[id]}, which is not text")
            pieces.append(id - len(SPECIALS))
        return self._tokenizer.decode(pieces, skip_special_tokens=False)

    def group(
        self, ids: Sequence[int], *, unknown: Sequence[str] = ()
    ) -> list[tuple[str, int, int]]:
        pieces, prefix = self._pieces
        words: list[tuple[str, int, int]] = []
        for at, id in enumerate(ids):
            piece = pieces[id]
            if words and piece.startswith(prefix):
                text, first, _ = words[-1]
                words[-1] = (text + piece.removeprefix(prefix), first, at)
            else:
                words.append((piece.removeprefix(prefix), at, at))
        return words

    @cached_property
    def _pieces(self) -> tuple[list[str], str]:
        """The text of every id, and the prefix of pieces that continue a word."""
        model = json.loads(self._tokenizer.to_str())["model"]
        if model["type"] != "WordPiece":
            raise ConfigError(
                f"the tokenizer is a {model['type']} model; only WordPiece marks where words "
                "begin: pass a WordPiece tokenizer.json, such as BERT's"
            )
        pieces = list(SPECIALS) + [""] * self._tokenizer.get_vocab_size()
        for piece, id in self._tokenizer.get_vocab().items():
            pieces[len(SPECIALS) + id] = piece
        return pieces, model["continuing_subword_prefix"]

    def save(self, folder: Path) -> Path:
        path = folder / _PIECES_FILE
        self._tokenizer.save(str(path))
        return path


def ids_of_words(words: Sequence[str]) -> dict[str, int]:
    """The id of each word of a text. Words that are spelt like a special token are unknown: their
    own ids would be padding, or the end of a phrase."""
    return {word: UNK if word in SPECIALS else id for id, word in enumerate(words)}


def _ids_of(pieces: "Encoding") -> Ids:
    return np.array(pieces.ids, dtype=np.int32) + len(SPECIALS)


def document_from_example(example: Example, vocabulary: Vocabulary) -> Document:
    """The document of an example, as text."""
    cut = example.title_length
    parts = (example.source[:cut], example.source[cut:], *example.present, *example.absent)
    title, abstract, *phrases = (
        vocabulary.text(ids.tolist(), unknown=example.unknown) for ids in parts
    )
    return Document(
        example.id,
        title,
        abstract,
        tuple(phrases),
        tokenised=isinstance(vocabulary, WordVocabulary),
    )


def vocabulary_file(folder: Path) -> Path:
    """The file that `save` wrote into a folder."""
    pieces = folder / _PIECES_FILE
    return pieces if pieces.exists() else folder / _WORDS_FILE


def has_pieces(folder: Path) -> bool:
    """Whether the vocabulary of a folder has word pieces."""
    return vocabulary_file(folder).name == _PIECES_FILE


def load_vocabulary(folder: Path, *, size: int) -> Vocabulary:
    """The vocabulary that `save` wrote into a folder; networks use its first `size` words, or all
    of its word pieces."""
    path = vocabulary_file(folder)
    if has_pieces(folder):
        return PieceVocabulary.from_file(path)
    words: list[str] = []
    counts: list[int] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                word, _, count = line.rstrip("\n").partition("\t")
                if not count.isdecimal():
                    raise DataError(
                        f"is {line!r}; expected a word, a tab and its count",
                        fix="make the corpus again with one2set prepare",
                        path=path,
                        line=number,
                    )
                words.append(word)
                counts.append(int(count))
    except OSError as error:
        raise ConfigError(
            f"{folder} contains no vocabulary ({error.strerror}: {path.name}); "
            "expected a folder that one2set wrote"
        ) from None
    except UnicodeDecodeError:
        raise DataError(
            "is not UTF-8", fix="make the corpus again with one2set prepare", path=path
        ) from None
    return WordVocabulary(words, size=size, counts=counts)
