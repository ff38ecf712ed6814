"""The lexicon: counts, unknown phrases, stop words."""

from pathlib import Path

import numpy as np
import pytest

from one2set.errors import DataError
from one2set.extraction.lexicon import FILE, Lexicon, WordCounts, key_of
from one2set.extraction.ngrams import hash_of

NAMES = ["graph", "network", "the"]


def hashes(*phrases: str) -> np.ndarray:
    return np.array([hash_of(phrase.split()) for phrase in phrases], np.uint64)


def lexicon() -> Lexicon:
    keys = key_of(hashes(*NAMES))
    order = np.argsort(keys)
    words = np.log1p([[40, 3, 2, 4], [50, 1, 9, 9], [1000, 0, 0, 5]])[order].astype(np.float16)
    phrases = key_of(hashes("graph network"))
    counted = np.log1p([[7, 12]]).astype(np.float16)
    return Lexicon(1000, keys[order], words, phrases, counted)


def test_counts_are_found_by_name() -> None:
    result = lexicon().words(hashes("the", "graph", "other"))
    assert result.texts == pytest.approx([1000, 40, 0], rel=0.01)
    assert result.inside == pytest.approx([5, 4, 0], rel=0.01)
    keyphrase, texts = lexicon().phrases(hashes("graph network", "network graph"))
    assert keyphrase == pytest.approx([7, 0], rel=0.01)
    assert texts == pytest.approx([12, 0], rel=0.01)


def test_stop_words_are_common_and_hardly_begin_or_end_keyphrases() -> None:
    texts, begin, end = np.array([[900, 900, 90], [0, 5, 0], [5, 0, 0]], np.float64)
    counts = WordCounts(texts, begin, end, inside=np.zeros(3))
    assert counts.may_begin.tolist() == [False, True, True]
    assert counts.may_end.tolist() == [True, False, True]


def test_counts_add_up() -> None:
    keys = key_of(hashes("graph", "new"))
    order = np.argsort(keys)
    words = np.log1p([[2, 1, 0, 1], [5, 3, 3, 3]])[order].astype(np.float16)
    phrases = np.log1p([[1, 1]]).astype(np.float16)
    other = Lexicon(10, keys[order], words, key_of(hashes("new graph")), phrases)
    for both in (lexicon().merge(other), other.merge(lexicon())):
        assert both.documents == 1010
        assert both.words(hashes("graph", "new", "the")).texts == pytest.approx(
            [42, 5, 1000], rel=0.01
        )
        keyphrase, texts = both.phrases(hashes("graph network", "new graph"))
        assert keyphrase == pytest.approx([7, 1], rel=0.01)
        assert texts == pytest.approx([12, 1], rel=0.01)


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    assert Lexicon.load(tmp_path) is None
    lexicon().save(tmp_path)
    loaded = Lexicon.load(tmp_path)
    assert loaded is not None
    assert loaded.documents == 1000
    for name in ("word_keys", "word_logs", "phrase_keys", "phrase_logs"):
        assert np.array_equal(getattr(loaded, name), getattr(lexicon(), name))
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a lexicon"):
        Lexicon.load(tmp_path)


def test_an_empty_lexicon_has_no_counts() -> None:
    none, nothing = np.zeros(0, np.uint32), np.zeros((0, 4), np.float16)
    empty = Lexicon(0, none, nothing, none, nothing[:, :2])
    assert empty.words(hashes("graph")).texts.tolist() == [0]
    assert empty.words(hashes("graph")).may_begin.all()
