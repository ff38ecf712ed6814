"""Hashed n-grams equal a plain search of strings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.text import StemmedSource
from one2set.extraction.ngrams import HashedPhrases, HashedTexts, NgramIndex, hash_of, hash_words

SOURCE = st.lists(st.sampled_from(["a", "b", "c", "the", ".", "<unk>"]), max_size=12)


@given(st.lists(SOURCE, min_size=1, max_size=4), st.integers(1, 5))
def test_n_grams_contain_no_punctuation_and_no_stop_words_at_their_ends(
    sources: list[list[str]], length: int
) -> None:
    words = HashedTexts.of(sources, [0] * len(sources))
    flat = [word for source in sources for word in source]
    begin = np.array([word != "the" for word in flat], np.bool_)
    end = np.array([word not in ("the", "c") for word in flat], np.bool_)
    expected = []
    for source, start in zip(sources, words.start.tolist(), strict=True):
        for at in range(len(source) - length + 1):
            gram = source[at : at + length]
            if not {".", "<unk>"} & {*gram} and gram[0] != "the" and gram[-1] not in ("the", "c"):
                expected.append((start + at, hash_of(gram)))
    actual = words.ngrams(length, begin, end)
    assert list(zip(*(column.tolist() for column in actual), strict=True)) == expected


def test_hashes_depend_on_word_order_and_never_change() -> None:
    assert hash_of(["graph", "network"]) != hash_of(["network", "graph"])
    # Of a file that was written elsewhere they must still be the names.
    assert hash_of(["graph"]) == 0xA9CF59ECEA277FFB


def test_the_same_n_gram_in_two_documents_has_two_hashes() -> None:
    words = HashedTexts.of([["a", "b"], ["a", "b"]], [1, 0])
    every = np.ones(4, np.bool_)
    at, hashes = words.ngrams(1, every, every)
    assert len({*hashes.tolist()}) == 2
    assert len({*words.hash_in_document(at, hashes).tolist()}) == 4
    assert words.position.tolist() == [0, 1, 0, 1]
    assert words.length.tolist() == [2, 2]
    assert words.title.tolist() == [1, 0]


LETTERS = st.lists(st.sampled_from("abc"), max_size=9)
PHRASES = st.lists(st.lists(st.sampled_from("abcd"), max_size=4), max_size=6)


@given(LETTERS, PHRASES)
def test_an_index_finds_what_a_plain_search_finds(
    source: list[str], phrases: list[list[str]]
) -> None:
    index, wanted = NgramIndex(hash_words(source)), HashedPhrases.of(phrases)
    count, first = index.find(wanted.hash, wanted.length)
    for at, phrase in enumerate(phrases):
        expected = tuple(StemmedSource(source).positions(phrase)) if phrase else ()
        assert index.positions(hash_of(phrase), len(phrase)) == expected
        assert count[at] == len(expected)
        assert first[at] == (expected[0] if expected else 0)


@given(PHRASES, PHRASES)
def test_hashed_phrases_are_appended_and_taken(
    some: list[list[str]], more: list[list[str]]
) -> None:
    both = HashedPhrases.of(some).append(HashedPhrases.of(more))
    assert both.hash.tolist() == [hash_of(phrase) for phrase in some + more]
    for actual, expected in zip(both, HashedPhrases.of(some + more), strict=True):
        np.testing.assert_array_equal(actual, expected)
    odd = both.take(np.arange(len(both.length)) % 2 == 1)
    assert odd.hash.tolist() == [hash_of(phrase) for phrase in (some + more)[1::2]]
