"""Features of n-grams do not depend on other documents."""

import math

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.extraction.build_lexicon import LabelledTexts, build_lexicon
from one2set.extraction.features import NUM_FEATURES, CandidateNgrams
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import HashedTexts, hash_of


@pytest.fixture(scope="module")
def lexicon(documents: list[Document]) -> Lexicon:
    return build_lexicon([LabelledTexts(documents[:40])])


def grams_of(lexicon: Lexicon, *documents: Document) -> CandidateNgrams:
    sources = [stem_all(document.words()) for document in documents]
    return CandidateNgrams(
        HashedTexts.of(sources, [len(document.title_words()) for document in documents]), lexicon
    )


def test_features_do_not_depend_on_other_documents(
    documents: list[Document], lexicon: Lexicon
) -> None:
    together = grams_of(lexicon, *documents[40:48])
    features = together.features()
    assert features.shape == (len(together.hash), NUM_FEATURES)
    assert np.isfinite(features).all()
    for number, document in enumerate(documents[40:48]):
        alone = grams_of(lexicon, document)
        mine = np.flatnonzero(together.document == number)
        # n-grams are in the order of their hashes, which differ between documents
        order, other = np.argsort(together.hash[mine]), np.argsort(alone.hash)
        assert np.array_equal(together.hash[mine][order], alone.hash[other])
        np.testing.assert_allclose(
            features[mine][order], alone.features()[other], rtol=1e-4, atol=1e-4
        )


def test_each_n_gram_has_one_row(documents: list[Document], lexicon: Lexicon) -> None:
    stems = stem_all(documents[50].words())
    grams = grams_of(lexicon, documents[50])
    assert len({*grams.hash.tolist()}) == len(grams.hash)
    for at, length, name in zip(grams.at, grams.length, grams.hash, strict=True):
        phrase = stems[at : at + length]
        assert hash_of(phrase) == name
        assert not {".", ",", "(", ")"} & {*phrase}
        starts = [s for s in range(len(stems)) if stems[s : s + length] == phrase]
        assert starts[0] == at


def test_features_equal_values_computed_by_hand(lexicon: Lexicon) -> None:
    document = Document("d", "Zyx networks", "A zyx network , zyx of them", tokenised=True)
    grams = grams_of(lexicon, document)
    stems = ["zyx", "network", ".", "A", "zyx", "network", ",", "zyx", "of", "them"]
    rows = dict(zip(grams.hash.tolist(), grams.features().tolist(), strict=True))
    both, single = rows[hash_of(stems[:2])], rows[hash_of(["zyx"])]
    assert both[:4] == [2, 0, 1, 0]
    assert single[:4] == [1, 1, 0, 0]
    assert (both[6], single[6]) == pytest.approx((math.log(2), math.log(3)))  # how often
    assert (both[8], single[8]) == (0, 0)  # the words before it
    assert (both[10], single[10]) == pytest.approx((4 / 10, 7 / 10))  # the last place
    assert (both[11], both[12], both[13]) == pytest.approx((1, 2 / 3, 1))  # in the title


def test_a_text_without_n_grams_has_no_rows(lexicon: Lexicon) -> None:
    assert len(grams_of(lexicon, Document("d", "", ". , .", tokenised=True)).hash) == 0
