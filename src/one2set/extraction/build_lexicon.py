"""Counting: a lexicon from training documents.

Most of them are only counted. The others are left to be learnt from (`fitting`): the counts do not
know them, as they do not know a text that is read later.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from one2set.arrays import Flags, Ints
from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.lexicon import Keys, Lexicon, Logs, key_of
from one2set.extraction.ngrams import LONGEST, Hashes, Words, hash_of
from one2set.text import stem_all

_LEARNT = 15  # one of so many documents is learnt from, the others are counted
_MOST_LEARNT = 20_000  # documents
_CHUNK = 2000  # documents
_LEAST_WORD = 3  # texts
_LEAST_KEYPHRASE, _LEAST_TEXTS = 2, 20  # documents: phrases with fewer of both are not kept

Phrases = list[tuple[str, ...]]  # stems


class Chunk:
    """Some documents: their words and their keyphrases."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.words = Words.of(
            [stem_all(one.words()) for one in documents],
            (len(one.title_words()) for one in documents),
        )
        self.keyphrases: list[Phrases] = [
            list({stem_all(words) for words in one.phrase_words()} - {()}) for one in documents
        ]


def every_chunk(documents: Iterable[Document]) -> list[Chunk]:
    """All documents whose keyphrases are known."""
    return [Chunk([one for one, _ in part]) for part in _parts(documents)]


def chunks_of(documents: Iterable[Document]) -> tuple[list[Chunk], list[Chunk]]:
    """Documents to be counted and documents to be learnt from, whose keyphrases are known."""
    counted: list[Chunk] = []
    learnt: list[Chunk] = []
    for part in _parts(documents):
        counted.append(Chunk([one for one, learn in part if not learn]))
        if _size(learnt) < _MOST_LEARNT:
            learnt.append(Chunk([one for one, learn in part if learn]))
    if not _size(learnt):
        raise DataError(
            f"{_size(counted):,} documents are too few to learn from",
            fix=f"pass {_LEARNT} or more",
        )
    return counted, learnt


def learnt_from(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents that `chunks_of` does not count."""
    return (one for one, learn in _marked(documents) if learn)


def _marked(documents: Iterable[Document]) -> Iterator[tuple[Document, bool]]:
    """Documents whose keyphrases are known, and whether each is to be learnt from."""
    known = (one for one in documents if one.keyphrases is not None)
    return ((one, number % _LEARNT == _LEARNT // 2) for number, one in enumerate(known))


def _parts(documents: Iterable[Document]) -> Iterator[list[tuple[Document, bool]]]:
    marked = _marked(documents)
    while part := list(islice(marked, _CHUNK)):
        yield part


def _size(chunks: Iterable[Chunk]) -> int:
    return sum(len(chunk.keyphrases) for chunk in chunks)


def count(chunks: Sequence[Chunk]) -> Lexicon:
    """The lexicon of documents."""
    begin, end, inside, phrases = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for keyphrases in (one for chunk in chunks for one in chunk.keyphrases):
        begin.update({hash_of(stems[:1]) for stems in keyphrases})
        end.update({hash_of(stems[-1:]) for stems in keyphrases})
        inside.update({hash_of((word,)) for stems in keyphrases for word in stems})
        phrases.update({hash_of(stems) for stems in keyphrases if len(stems) <= LONGEST})
    documents = _size(chunks)
    every = [np.ones(len(chunk.words.hash), np.bool_) for chunk in chunks]
    names, texts = _texts(chunks, 1, every, every)
    kept = texts >= _LEAST_WORD
    counts = (texts[kept], *(_counted(one, names[kept]) for one in (begin, end, inside)))
    words = _table(names[kept], *counts)
    lexicon = Lexicon(documents, *words, *_table(names[:0], texts[:0], texts[:0]))
    edges = [lexicon.words(chunk.words.hash) for chunk in chunks]
    begins, ends = [one.may_begin for one in edges], [one.may_end for one in edges]
    chosen = np.array([one for one, n in phrases.items() if n >= _LEAST_KEYPHRASE], np.uint64)
    names, texts = chosen, np.zeros(len(chosen), np.int64)
    for length in range(1, LONGEST + 1):
        found, number = _texts(chunks, length, begins, ends)
        kept = (number >= _LEAST_TEXTS) | np.isin(found, chosen)
        names, texts = np.concatenate([found[kept], names]), np.concatenate([number[kept], texts])
    names, first = np.unique(names, return_index=True)  # the first, which may have been found
    phrase_table = _table(names, _counted(phrases, names), texts[first])
    return Lexicon(documents, *words, *phrase_table)


def _texts(
    chunks: Sequence[Chunk], length: int, begins: Sequence[Flags], ends: Sequence[Flags]
) -> tuple[Hashes, Ints]:
    """All n-grams of a length, and how many documents hold each."""
    once = [np.empty(0, np.uint64)]
    for chunk, begin, end in zip(chunks, begins, ends, strict=True):
        at, hashes = chunk.words.grams(length, begin, end)
        _, first = np.unique(chunk.words.apart(at, hashes), return_index=True)
        once.append(hashes[first])
    return np.unique(np.concatenate(once), return_counts=True)


def _counted(counter: Counter[int], names: Hashes) -> Ints:
    return np.array([counter[name] for name in names.tolist()], np.int64)


def _table(names: Hashes, *counts: Ints) -> tuple[Keys, Logs]:
    """The rows of a lexicon. Of names with the same key, one is kept."""
    keys, first = np.unique(key_of(names), return_index=True)
    return keys, np.log1p(np.stack(counts, axis=1)[first]).astype(np.float16)
