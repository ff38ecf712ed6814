"""The candidate scorer: its network equals torch's, and it selects likely n-grams."""

from pathlib import Path

import numpy as np
import pytest
import torch

from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.errors import DataError
from one2set.extraction.build_lexicon import chunk_documents
from one2set.extraction.candidate_scorer import FILE, MIN_LOG_ODDS, CandidateScorer, FeatureMLP
from one2set.extraction.features import NUM_FEATURES, CandidateNgrams
from one2set.extraction.fit_knowledge import fit_candidate_scorer
from one2set.extraction.ngrams import HashedTexts


@pytest.fixture(scope="module")
def candidate_scorer(documents: list[Document]) -> CandidateScorer:
    return fit_candidate_scorer(*[chunk_documents(documents)] * 2)


def text_of(document: Document) -> HashedTexts:
    return HashedTexts.of([stem_all(document.words())], [len(document.title_words())])


def test_the_network_equals_torchs() -> None:
    random = np.random.default_rng(0)
    shapes = (5, 4), (4, 3), (3, 1)
    first, second, third = (random.normal(size=s).astype(np.float32) for s in shapes)
    biases = tuple(random.normal(size=s[1]).astype(np.float32) for s in shapes)
    x = random.normal(size=(7, 5)).astype(np.float32)
    centre, scale = x.mean(axis=0), x.std(axis=0)
    layers = FeatureMLP(centre, scale, (first, second, third), (biases[0], biases[1], biases[2]))
    value = torch.from_numpy((x - centre) / scale)
    for weight, bias in zip((first, second), biases, strict=False):
        value = torch.nn.functional.silu(value @ torch.from_numpy(weight) + torch.from_numpy(bias))
    expected = value @ torch.from_numpy(third) + torch.from_numpy(biases[2])
    np.testing.assert_allclose(layers(x), expected[:, 0].numpy(), rtol=1e-4, atol=1e-5)


def test_n_grams_above_the_minimum_score_are_selected(
    documents: list[Document], candidate_scorer: CandidateScorer
) -> None:
    text = text_of(documents[0])
    at, length, odds = candidate_scorer.select(text)
    grams = CandidateNgrams(text, candidate_scorer.lexicon)
    every = candidate_scorer.mlp(grams.features())
    assert len(at) == (every >= MIN_LOG_ODDS).sum() > 0
    best = int(np.argmax(odds))
    place = np.flatnonzero((grams.at == at[best]) & (grams.length == length[best]))
    assert every[place] == pytest.approx(odds[best])


def test_a_text_without_words_has_no_candidates(candidate_scorer: CandidateScorer) -> None:
    for text in ("", ". ."):
        result = candidate_scorer.select(text_of(Document("d", "", text, tokenised=True)))
        assert [len(column) for column in result] == [0, 0, 0]


def test_saving_and_loading_changes_nothing(tmp_path: Path, documents: list[Document]) -> None:
    assert CandidateScorer.load(tmp_path) is None
    candidate_scorer = fit_candidate_scorer(*[chunk_documents(documents)] * 2)
    candidate_scorer.save(tmp_path)
    loaded = CandidateScorer.load(tmp_path)
    assert loaded is not None
    text = text_of(documents[3])
    at, length, odds = candidate_scorer.select(text)
    assert np.array_equal(loaded.select(text)[0], at)
    assert np.array_equal(loaded.select(text)[1], length)
    assert np.array_equal(loaded.select(text)[2], odds)
    assert loaded.mlp.mean.shape == (NUM_FEATURES,)
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a candidate scorer"):
        CandidateScorer.load(tmp_path)
