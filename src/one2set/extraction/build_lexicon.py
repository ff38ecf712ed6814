"""Build a lexicon from training documents.

Scorers are fitted on the same documents (`fit_knowledge`). Their features must not include what the
document itself added to the counts, as the counts will not include the texts of users. So each
document's own `Contributions` are subtracted: leave-one-out counts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats, Ints
from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.extraction.lexicon import Keys, Lexicon, Logs, WordCounts, key_of
from one2set.extraction.ngrams import (
    MAX_NGRAM_WORDS,
    HashedTexts,
    Hashes,
    hash_of,
    hash_with_document,
)

_CHUNK = 2000  # documents
_MIN_WORD_TEXTS = 3
_MIN_KEYPHRASES, _MIN_TEXTS = 2, 20  # documents: phrases with fewer of both are not kept

Phrases = list[tuple[str, ...]]  # stems


class LabelledTexts:
    """The hashed texts and the stemmed keyphrases of some documents."""

    def __init__(self, documents: Sequence[Document]) -> None:
        titles = [document.title_words() for document in documents]
        self.words = HashedTexts.of(
            [
                stem_all(title + document.abstract_words())
                for title, document in zip(titles, documents, strict=True)
            ],
            map(len, titles),
        )
        self.keyphrases: list[Phrases] = [
            list({stem_all(words) for words in document.phrase_words()} - {()})
            for document in documents
        ]


def chunk_documents(documents: Iterable[Document]) -> list[LabelledTexts]:
    """All documents with known keyphrases, in chunks."""
    known = (document for document in documents if document.keyphrases is not None)
    chunks = []
    while part := list(islice(known, _CHUNK)):
        chunks.append(LabelledTexts(part))
    return chunks


def count_documents(chunks: Iterable[LabelledTexts]) -> int:
    """The number of documents in chunks."""
    return sum(len(chunk.keyphrases) for chunk in chunks)


class Contributions(NamedTuple):
    """What documents added to a lexicon, each to its own counts: the words that begin a keyphrase,
    end one or are in one, and the keyphrases, as hashes in their documents."""

    begin: Hashes
    end: Hashes
    inside: Hashes
    keyphrases: Hashes

    @classmethod
    def of(cls, texts: LabelledTexts) -> "Contributions":
        """Those of some documents."""
        pairs = [(d, stems) for d, phrases in enumerate(texts.keyphrases) for stems in phrases]
        words = [(d, (word,)) for d, stems in pairs for word in stems]
        return cls(
            _hash_phrases((d, stems[:1]) for d, stems in pairs),
            _hash_phrases((d, stems[-1:]) for d, stems in pairs),
            _hash_phrases(words),
            _hash_phrases(pairs),
        )

    def subtract_from_words(self, counts: WordCounts, words: HashedTexts) -> WordCounts:
        """The counts (S,) of the words of these documents, without each document's own."""
        hashes = words.hash_in_document(np.arange(len(words.hash)), words.hash)
        texts = _subtract(counts.texts, 1)
        is_kept = texts > _MIN_WORD_TEXTS - 0.5  # counts are rounded
        own = (np.isin(hashes, counted) for counted in (self.begin, self.end, self.inside))
        others = zip((counts.begin, counts.end, counts.inside), own, strict=True)
        columns = (_subtract(count, is_own) * is_kept for count, is_own in others)
        return WordCounts(texts * is_kept, *columns)

    def subtract_from_phrases(
        self, keyphrases: Floats, texts: Floats, which: Hashes
    ) -> tuple[Floats, Floats]:
        """The counts of n-grams of these documents, without each document's own. `which` (Q,) are
        their hashes in their documents.  (Q,), (Q,)"""
        keyphrases = _subtract(keyphrases, np.isin(which, self.keyphrases))
        texts = _subtract(texts, 1)
        is_kept = (keyphrases > _MIN_KEYPHRASES - 0.5) | (texts > _MIN_TEXTS - 0.5)
        return keyphrases * is_kept, texts * is_kept


def _hash_phrases(phrases: Iterable[tuple[int, Sequence[str]]]) -> Hashes:
    """The hashes of stemmed phrases in their documents, each with the document's number."""
    pairs = [(document, hash_of(stems)) for document, stems in phrases]
    document = np.array([number for number, _ in pairs], np.int64)
    return hash_with_document(document, np.array([hash for _, hash in pairs], np.uint64))


def _subtract(counts: Floats, own: Flags | int) -> Floats:
    """The counts that a lexicon without the own ones would have, with its rounding."""
    less = np.maximum(np.rint(counts) - own, 0)
    return np.expm1(np.log1p(less).astype(np.float16).astype(np.float64))


def build_lexicon(chunks: Sequence[LabelledTexts]) -> Lexicon:
    """Count the words and phrases of documents."""
    begin, end, inside, phrases = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for keyphrases in chain.from_iterable(chunk.keyphrases for chunk in chunks):
        begin.update({hash_of(stems[:1]) for stems in keyphrases})
        end.update({hash_of(stems[-1:]) for stems in keyphrases})
        inside.update({hash_of((word,)) for stems in keyphrases for word in stems})
        phrases.update({hash_of(stems) for stems in keyphrases if len(stems) <= MAX_NGRAM_WORDS})
    documents = count_documents(chunks)
    every = [np.ones(len(chunk.words.hash), np.bool_) for chunk in chunks]
    hashes, texts = _texts(chunks, 1, every, every)
    hashes, texts = hashes[texts >= _MIN_WORD_TEXTS], texts[texts >= _MIN_WORD_TEXTS]
    words = _table(hashes, texts, *(_counted(counter, hashes) for counter in (begin, end, inside)))
    lexicon = Lexicon(documents, *words, *_table(hashes[:0], texts[:0], texts[:0]))
    edges = [lexicon.words(chunk.words.hash) for chunk in chunks]
    begins, ends = [words.may_begin for words in edges], [words.may_end for words in edges]
    chosen = np.array([hash for hash, n in phrases.items() if n >= _MIN_KEYPHRASES], np.uint64)
    hashes, texts = chosen, np.zeros(len(chosen), np.int64)
    for length in range(1, MAX_NGRAM_WORDS + 1):
        ngrams, number = _texts(chunks, length, begins, ends)
        is_kept = (number >= _MIN_TEXTS) | np.isin(ngrams, chosen)
        hashes = np.concatenate([ngrams[is_kept], hashes])
        texts = np.concatenate([number[is_kept], texts])
    hashes, first = np.unique(hashes, return_index=True)  # the first, which may have been found
    phrase_table = _table(hashes, _counted(phrases, hashes), texts[first])
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


def _counted(counter: Counter[int], hashes: Hashes) -> Ints:
    return np.array([counter[hash] for hash in hashes.tolist()], np.int64)


def _table(hashes: Hashes, *counts: Ints) -> tuple[Keys, Logs]:
    """The rows of a lexicon. Of hashes with the same key, one is kept."""
    keys, first = np.unique(key_of(hashes), return_index=True)
    return keys, np.log1p(np.stack(counts, axis=1)[first]).astype(np.float16)
