"""Build a lexicon from training documents.

Most documents are counted. The others are held out to fit scorers (`train_scorers`): the counts do
not include them, as they will not include the texts of users.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from one2set.arrays import Flags, Ints
from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.lexicon import Keys, Lexicon, Logs, key_of
from one2set.extraction.ngrams import LONGEST, HashedTexts, Hashes, hash_of
from one2set.text import stem_all

_HELD_OUT = 15  # one document in 15 is held out, the others are counted
_MAX_HELD_OUT = 20_000  # documents
_CHUNK = 2000  # documents
_MIN_WORD_TEXTS = 3
_MIN_KEYPHRASES, _MIN_TEXTS = 2, 20  # documents: phrases with fewer of both are not kept

Phrases = list[tuple[str, ...]]  # stems


class LabelledTexts:
    """The hashed texts and the stemmed keyphrases of some documents."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.words = HashedTexts.of(
            [stem_all(one.words()) for one in documents],
            (len(one.title_words()) for one in documents),
        )
        self.keyphrases: list[Phrases] = [
            list({stem_all(words) for words in one.phrase_words()} - {()}) for one in documents
        ]


def chunk_documents(documents: Iterable[Document]) -> list[LabelledTexts]:
    """All documents with known keyphrases, in chunks."""
    return [LabelledTexts([one for one, _ in part]) for part in _parts(documents)]


def split_documents(
    documents: Iterable[Document],
) -> tuple[list[LabelledTexts], list[LabelledTexts]]:
    """The documents with known keyphrases: those to count, and those that are held out."""
    counted: list[LabelledTexts] = []
    held_out: list[LabelledTexts] = []
    for part in _parts(documents):
        counted.append(LabelledTexts([one for one, held in part if not held]))
        if _size(held_out) < _MAX_HELD_OUT:
            held_out.append(LabelledTexts([one for one, held in part if held]))
    if not _size(held_out):
        raise DataError(
            f"{_size(counted):,} documents are too few to fit a scorer",
            fix=f"pass {_HELD_OUT} or more",
        )
    return counted, held_out


def held_out_documents(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents that `split_documents` holds out."""
    return (one for one, held in _marked(documents) if held)


def _marked(documents: Iterable[Document]) -> Iterator[tuple[Document, bool]]:
    """Documents with known keyphrases, and whether each is held out."""
    known = (one for one in documents if one.keyphrases is not None)
    return ((one, number % _HELD_OUT == _HELD_OUT // 2) for number, one in enumerate(known))


def _parts(documents: Iterable[Document]) -> Iterator[list[tuple[Document, bool]]]:
    marked = _marked(documents)
    while part := list(islice(marked, _CHUNK)):
        yield part


def _size(chunks: Iterable[LabelledTexts]) -> int:
    return sum(len(chunk.keyphrases) for chunk in chunks)


def build_lexicon(chunks: Sequence[LabelledTexts]) -> Lexicon:
    """Count the words and phrases of documents."""
    begin, end, inside, phrases = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for keyphrases in (one for chunk in chunks for one in chunk.keyphrases):
        begin.update({hash_of(stems[:1]) for stems in keyphrases})
        end.update({hash_of(stems[-1:]) for stems in keyphrases})
        inside.update({hash_of((word,)) for stems in keyphrases for word in stems})
        phrases.update({hash_of(stems) for stems in keyphrases if len(stems) <= LONGEST})
    documents = _size(chunks)
    every = [np.ones(len(chunk.words.hash), np.bool_) for chunk in chunks]
    names, texts = _texts(chunks, 1, every, every)
    kept = texts >= _MIN_WORD_TEXTS
    counts = (texts[kept], *(_counted(one, names[kept]) for one in (begin, end, inside)))
    words = _table(names[kept], *counts)
    lexicon = Lexicon(documents, *words, *_table(names[:0], texts[:0], texts[:0]))
    edges = [lexicon.words(chunk.words.hash) for chunk in chunks]
    begins, ends = [one.may_begin for one in edges], [one.may_end for one in edges]
    chosen = np.array([one for one, n in phrases.items() if n >= _MIN_KEYPHRASES], np.uint64)
    names, texts = chosen, np.zeros(len(chosen), np.int64)
    for length in range(1, LONGEST + 1):
        found, number = _texts(chunks, length, begins, ends)
        kept = (number >= _MIN_TEXTS) | np.isin(found, chosen)
        names, texts = np.concatenate([found[kept], names]), np.concatenate([number[kept], texts])
    names, first = np.unique(names, return_index=True)  # the first, which may have been found
    phrase_table = _table(names, _counted(phrases, names), texts[first])
    return Lexicon(documents, *words, *phrase_table)


def _texts(
    chunks: Sequence[LabelledTexts], length: int, begins: Sequence[Flags], ends: Sequence[Flags]
) -> tuple[Hashes, Ints]:
    """All n-grams of a length, and how many documents contain each."""
    once = [np.empty(0, np.uint64)]
    for chunk, begin, end in zip(chunks, begins, ends, strict=True):
        at, hashes = chunk.words.ngrams(length, begin, end)
        _, first = np.unique(chunk.words.hash_in_document(at, hashes), return_index=True)
        once.append(hashes[first])
    return np.unique(np.concatenate(once), return_counts=True)


def _counted(counter: Counter[int], names: Hashes) -> Ints:
    return np.array([counter[name] for name in names.tolist()], np.int64)


def _table(names: Hashes, *counts: Ints) -> tuple[Keys, Logs]:
    """The rows of a lexicon. Of hashes with the same key, one is kept."""
    keys, first = np.unique(key_of(names), return_index=True)
    return keys, np.log1p(np.stack(counts, axis=1)[first]).astype(np.float16)
