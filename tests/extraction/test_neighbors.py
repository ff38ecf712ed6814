"""NeighborIndex: against the neighbours and votes of a plain computation."""

from pathlib import Path

import numpy as np
import pytest

from one2set.arrays import Float32s
from one2set.errors import DataError
from one2set.extraction import neighbors
from one2set.extraction.arrays import map_arrays, save_arrays
from one2set.extraction.neighbors import FILE, NeighborIndex, build_neighbor_index

NUM_PHRASES = 30
ABSENT = np.linspace(-3, 0, NUM_PHRASES).astype(np.float32)


def make_documents(count: int) -> tuple[Float32s, list[list[int]]]:
    """Vectors around thirty topics. A document has its topic as a keyphrase, and another one."""
    random = np.random.default_rng(0)
    topics = random.normal(size=(NUM_PHRASES, 16))
    topic = random.integers(NUM_PHRASES, size=count)
    vectors = (topics[topic] + 0.5 * random.normal(size=(count, 16))).astype(np.float32)
    others = random.integers(NUM_PHRASES, size=count)
    return vectors, [[*{int(a), int(b)}] for a, b in zip(topic, others, strict=True)]


def vote_plainly(vectors: Float32s, phrases: list[list[int]], query: Float32s) -> Float32s:
    """The softmax of the cosines of the nearest documents, summed by keyphrase."""
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    nearest = np.argsort(-cosines)[: neighbors._NUM_NEIGHBORS]
    weights = np.exp(cosines[nearest] / neighbors._TEMPERATURE)
    votes = np.zeros(NUM_PHRASES, np.float32)
    for document, weight in zip(nearest, weights / weights.sum(), strict=True):
        votes[phrases[document]] += weight
    return votes


def test_few_documents_are_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """With groups of one document."""
    monkeypatch.setattr(neighbors, "_NUM_GROUPINGS", 1)
    monkeypatch.setattr(neighbors, "_MIN_GROUP", 1)
    vectors, phrases = make_documents(200)
    index = build_neighbor_index(vectors, phrases, ABSENT)
    for query in vectors[:5] + np.float32(0.1):
        np.testing.assert_allclose(
            index.vote(query), vote_plainly(vectors, phrases, query), atol=1e-4
        )


def test_many_documents_are_searched_almost_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "_NUM_PROBES", 20)
    monkeypatch.setattr(neighbors, "_NUM_GROUPINGS", 1)
    monkeypatch.setattr(neighbors, "_MIN_GROUP", 1)
    vectors, phrases = make_documents(5000)
    index = build_neighbor_index(vectors, phrases, ABSENT)
    assert len(index.centroids) > 2 * 20  # so most documents are not looked at
    for query in vectors[:20] + np.float32(0.1):
        expected = vote_plainly(vectors, phrases, query)
        assert np.corrcoef(index.vote(query), expected)[0, 1] > 0.97


def test_groups_have_several_documents_and_all_their_keyphrases() -> None:
    vectors, phrases = make_documents(1000)
    index = build_neighbor_index(vectors, phrases, ABSENT)
    assert index.sizes.min() >= neighbors._MIN_GROUP
    assert index.sizes.sum() == 3 * 1000
    every = np.array([phrase for own in phrases for phrase in own])
    np.testing.assert_array_equal(np.bincount(index.phrases), 3 * np.bincount(every))
    for query in vectors[:20]:
        expected = vote_plainly(vectors, phrases, query)
        assert np.argmax(index.vote(query)) == np.argmax(expected)
        assert index.vote(query).max() <= 1


def test_a_text_without_known_terms_gets_finite_votes() -> None:
    index = build_neighbor_index(*make_documents(100), ABSENT)
    votes = index.vote(np.zeros(16, np.float32))
    assert np.isfinite(votes).all()
    assert votes.min() >= 0


def test_documents_without_known_keyphrases_are_left_out() -> None:
    vectors, phrases = make_documents(100)
    none: list[list[int]] = [[] for _ in range(50)]
    mixed = build_neighbor_index(np.concatenate([vectors, vectors[:50]]), phrases + none, ABSENT)
    np.testing.assert_array_equal(
        mixed.vote(vectors[0]), build_neighbor_index(vectors, phrases, ABSENT).vote(vectors[0])
    )
    empty = build_neighbor_index(vectors[:50], none, ABSENT)
    assert not empty.vote(vectors[0]).any()


def test_it_is_stored_with_a_model(tmp_path: Path) -> None:
    vectors, phrases = make_documents(300)
    index = build_neighbor_index(vectors, phrases, ABSENT)
    index.save(tmp_path)
    loaded = NeighborIndex.load(tmp_path)
    assert loaded is not None
    for name in NeighborIndex.__slots__:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(index, name))
    assert NeighborIndex.load(tmp_path / "elsewhere") is None


def test_groups_may_have_hundreds_of_keyphrases(tmp_path: Path) -> None:
    vectors, _ = make_documents(40)
    phrases = [[*range(NUM_PHRASES)] * 3 for _ in vectors]
    index = build_neighbor_index(vectors, phrases, ABSENT)
    assert np.diff(index.phrases_of).max() > 255
    index.save(tmp_path)
    loaded = NeighborIndex.load(tmp_path)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.phrases_of, index.phrases_of)


@pytest.mark.parametrize(
    "damage",
    [
        {"phrases": np.array([NUM_PHRASES], np.uint16)},
        {"phrases_of": np.array([200], np.uint8)},
        {"codes": np.zeros((1, 3), np.uint8)},
        {"sizes": np.zeros(1, np.uint8)},
        {"centroids": np.zeros((4, 12), np.float32)},
        {"cells": np.array([50, 40])},
        {"codebook": np.zeros((4, 100, 4), np.float32)},
        {"absent": np.full(NUM_PHRASES, np.nan, np.float32)},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: dict[str, np.ndarray]) -> None:
    vectors, phrases = make_documents(300)
    build_neighbor_index(vectors, phrases, ABSENT).save(tmp_path)
    arrays = {name: array.copy() for name, array in map_arrays(tmp_path / FILE).items()}
    save_arrays(tmp_path / FILE, arrays | damage)
    with pytest.raises(DataError, match="is not an index of neighbours"):
        NeighborIndex.load(tmp_path)
