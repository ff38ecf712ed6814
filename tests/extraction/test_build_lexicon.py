"""Counts against plain counting, and leave-one-out counts against counting without a document."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.errors import DataError
from one2set.extraction.build_lexicon import (
    Contributions,
    LabelledTexts,
    build_lexicon,
    chunk_documents,
)
from one2set.extraction.features import CandidateNgrams
from one2set.extraction.fit_knowledge import fit_candidate_scorer
from one2set.extraction.ngrams import hash_of


def test_counts_equal_those_of_a_plain_loop(documents: list[Document]) -> None:
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
    actual = lexicon.words(np.array([hash_of([word]) for word in words], np.uint64))
    for counts, expected in zip(
        (actual.texts, actual.begin, actual.end, actual.inside),
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


def test_own_contributions_are_subtracted(documents: list[Document]) -> None:
    """The features of a counted document are those by a lexicon that has not counted it."""
    documents = documents * 4  # more than 250 would be rounded in the lexicon
    documents[5] = replace(
        documents[5], keyphrases=("naive bayes", *(documents[5].keyphrases or ()))
    )
    lexicon = build_lexicon([LabelledTexts(documents)])
    for number in (0, 5, 17):
        own = LabelledTexts([documents[number]])
        rest = build_lexicon([LabelledTexts(documents[:number] + documents[number + 1 :])])
        counted = CandidateNgrams(own.words, lexicon, Contributions.of(own))
        expected = CandidateNgrams(own.words, rest)
        assert np.array_equal(counted.hash, expected.hash)
        assert np.array_equal(counted.features(), expected.features())
        with_itself = CandidateNgrams(own.words, lexicon).features()
        assert not np.array_equal(counted.features(), with_itself)


def test_each_document_loses_only_its_own_contributions(documents: list[Document]) -> None:
    lexicon = build_lexicon([LabelledTexts(documents * 4)])
    together = LabelledTexts(documents[:4])
    grams = CandidateNgrams(together.words, lexicon, Contributions.of(together))
    features, document = grams.features(), grams.document
    for number in range(4):
        alone = LabelledTexts([documents[number]])
        apart = CandidateNgrams(alone.words, lexicon, Contributions.of(alone))
        order, own = np.argsort(apart.hash), np.flatnonzero(document == number)
        own = own[np.argsort(grams.hash[own])]
        # Means over words are differences of running sums, so their last digits differ.
        np.testing.assert_allclose(features[own], apart.features()[order], rtol=1e-5, atol=1e-5)


def test_documents_without_words_subtract_nothing_from_others(documents: list[Document]) -> None:
    """An empty document has no first word, whose document its keyphrases could be taken for."""
    empty = Document("empty", "", "", documents[2].keyphrases)
    lexicon = build_lexicon([LabelledTexts([empty, *documents * 4, empty])])
    texts = LabelledTexts([empty, documents[2], empty])
    grams = CandidateNgrams(texts.words, lexicon, Contributions.of(texts))
    single = LabelledTexts([documents[2]])
    apart = CandidateNgrams(single.words, lexicon, Contributions.of(single))
    order, other = np.argsort(grams.hash), np.argsort(apart.hash)
    assert np.array_equal(grams.features()[order], apart.features()[other])


def test_fitting_a_scorer_needs_documents_with_keyphrases(documents: list[Document]) -> None:
    with pytest.raises(DataError, match="5 documents with keyphrases are too few"):
        fit_candidate_scorer(*[chunk_documents(documents[:5])] * 2)
    unknown = [Document(document.id, document.title, document.abstract) for document in documents]
    with pytest.raises(DataError, match="0 documents with keyphrases are too few"):
        fit_candidate_scorer(*[chunk_documents(unknown)] * 2)
