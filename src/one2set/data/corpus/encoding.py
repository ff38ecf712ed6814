"""Encode documents in chunks: the part of `prepare` that runs in worker processes."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from one2set.data.document import Document
from one2set.data.example import Ids
from one2set.data.text import DIGIT, split_present_absent
from one2set.data.vocabulary import PieceVocabulary

_CHUNK, _CHUNK_CHARACTERS = 256, 1 << 24  # documents; their characters, if these are many


@dataclass(slots=True)
class EncodedDocument:
    """An encoded document without its tokens."""

    id: str
    key: bytes
    title_key: bytes
    title_length: int
    source_length: int
    num_present: int
    phrase_lengths: list[int]

    @property
    def size(self) -> int:
        """The number of its tokens."""
        return self.source_length + sum(self.phrase_lengths)


@dataclass(slots=True)
class EncodedChunk:
    """Encoded documents. `tokens` has the source of each, then its present and its absent
    phrases, as indices into `words`, or as final ids if `words` is empty (word pieces)."""

    rows: list[EncodedDocument]
    tokens: Ids
    words: list[str]


def split_into_chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Split documents into lists of a fixed length, shorter ones of long documents."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document.abstract)
        if len(chunk) == _CHUNK or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def describe_chunk(documents: list[Document]) -> str:
    """The name of a chunk in error messages."""
    return f"documents {documents[0].id!r:.80} to {documents[-1].id!r:.80}"


def encode_documents(documents: list[Document], *, tokenizer: Path | None) -> EncodedChunk:
    """Tokenise documents and split their phrases into present and absent."""
    words: dict[str, int] = {}
    tokens: list[list[int]] = []
    rows: list[EncodedDocument] = []
    for document in documents:
        title = document.title_words()
        source = title + document.abstract_words()
        if tokenizer is None:
            phrases = document.phrase_words()
            split = split_present_absent(phrases, source)
            title_length, num_present = len(title), len(split.present)
            texts = [source, *(phrases[i] for i in split.present + split.absent)]
            numbers = [[words.setdefault(word, len(words)) for word in text] for text in texts]
        else:
            example = _pieces(tokenizer).encode(document)
            title_length, num_present = example.title_length, len(example.present)
            numbers = [ids.tolist() for ids in (example.source, *example.present, *example.absent)]
        tokens += numbers
        rows.append(
            EncodedDocument(
                document.id,
                key=text_key(source),
                title_key=text_key(title),
                title_length=title_length,
                source_length=len(numbers[0]),
                num_present=num_present,
                phrase_lengths=[len(phrase) for phrase in numbers[1:]],
            )
        )
    return EncodedChunk(rows, np.fromiter(chain.from_iterable(tokens), np.int32), list(words))


def text_key(words: Iterable[str]) -> bytes:
    """A hash of a text's letters and digits, to recognise duplicates; b"" if there are none."""
    content = "".join(word for word in words if word[0].isalnum() or word == DIGIT)
    data = content.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).digest() if data else b""


@cache
def _pieces(tokenizer: Path) -> PieceVocabulary:
    return PieceVocabulary.from_file(tokenizer)
