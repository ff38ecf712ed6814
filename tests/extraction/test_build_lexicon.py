"""Counting: against plain counting, and what is left to be learnt from."""

from collections import Counter

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.build_lexicon import LabelledTexts, build_lexicon, split_documents
from one2set.extraction.ngrams import hash_of
from one2set.text import stem_all


def test_counts_against_plain_ones(documents: list[Document]) -> None:
    documents = documents * 2  # or no keyphrase would be that of several
    lexicon = build_lexicon([LabelledTexts(documents[:25]), LabelledTexts(documents[25:])])
    assert lexicon.documents == len(documents)
    texts, begin, end, inside = (Counter[str]() for _ in range(4))
    phrases = Counter[tuple[str, ...]]()
    for document in documents:
        keyphrases = {stem_all(words) for words in document.phrase_words()}
        texts.update({*stem_all(document.words())})
        begin.update({stems[0] for stems in keyphrases})
        end.update({stems[-1] for stems in keyphrases})
        inside.update({word for stems in keyphrases for word in stems})
        phrases.update(stems for stems in keyphrases if len(stems) <= 5)
    words = [word for word, number in texts.items() if number >= 3 and word.isalpha()]
    found = lexicon.words(np.array([hash_of([word]) for word in words], np.uint64))
    for counts, expected in zip(
        (found.texts, found.begin, found.end, found.inside),
        (texts, begin, end, inside),
        strict=True,
    ):
        assert counts == pytest.approx([expected[word] for word in words], rel=0.01)
    # Texts are only searched for n-grams without marks.
    several = [s for s, number in phrases.items() if number >= 2 and all(map(str.isalnum, s))]
    assert several
    keyphrase, held = lexicon.phrases(np.array([*map(hash_of, several)], np.uint64))
    assert keyphrase == pytest.approx([phrases[stems] for stems in several], rel=0.01)
    spaced = [f" {' '.join(stem_all(document.words()))} " for document in documents]
    holding = [sum(f" {' '.join(stems)} " in text for text in spaced) for stems in several]
    assert held == pytest.approx(holding, rel=0.01)


def test_it_needs_documents_to_learn_from(documents: list[Document]) -> None:
    with pytest.raises(DataError, match="too few"):
        split_documents(documents[:5])
    unknown = [Document(one.id, one.title, one.abstract) for one in documents]
    with pytest.raises(DataError, match="0 documents are too few"):
        split_documents(unknown)
