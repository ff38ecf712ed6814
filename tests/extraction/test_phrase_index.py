"""Phrases of a list are found by their hashes, and by scattered words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.text import Stems
from one2set.extraction.ngrams import hash_of, hash_words
from one2set.extraction.phrase_index import PhraseIndex

PHRASE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple)
PHRASES = st.lists(PHRASE, unique=True)


@given(PHRASES, st.lists(st.sampled_from("abcde"), min_size=1, max_size=9))
def test_scattered_phrases_equal_those_of_a_plain_search(
    phrases: list[Stems], text: list[str]
) -> None:
    result = PhraseIndex.of(phrases).find_scattered(np.unique(hash_words(text)))
    assert sorted(result.tolist()) == [
        at
        for at, stems in enumerate(phrases)
        if len(stems) > 1 and all(word in text for word in stems)
    ]


@given(PHRASES, st.lists(PHRASE))
def test_indices_equal_those_of_a_plain_search(phrases: list[Stems], wanted: list[Stems]) -> None:
    hashes = np.array([hash_of(stems) for stems in wanted], np.uint64)
    assert PhraseIndex.of(phrases).index_of(hashes).tolist() == [
        phrases.index(stems) if stems in phrases else -1 for stems in wanted
    ]
