"""Padded sources have the extended ids, first positions and masks of a plain implementation."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.example import MAX_OOV, Example, pad_rows, pad_sources
from one2set.data.specials import PAD, UNK

V = 20
SOURCES = st.lists(st.lists(st.integers(7, V + 5), max_size=12), min_size=1, max_size=4)


def example(words: list[int]) -> Example:
    return Example("d", np.array(words, dtype=np.int32), 0)


@given(SOURCES)
def test_sources_equal_those_of_a_plain_loop(documents: list[list[int]]) -> None:
    sources = pad_sources([example(words) for words in documents], vocabulary_size=V)
    longest = max(max(map(len, documents)), 1)
    assert sources.extended.shape == sources.first.shape == sources.mask.shape
    assert sources.extended.shape == (len(documents), longest)
    for index, words in enumerate(documents):
        read = words or [UNK]
        unknown = list(dict.fromkeys(word for word in read if word >= V))
        extended = [V + unknown.index(word) if word >= V else word for word in read]
        rest = [0] * (longest - len(read))
        assert sources.lengths[index] == len(read)
        assert sources.oov[index] == {word: V + place for place, word in enumerate(unknown)}
        assert sources.extended[index].tolist() == extended + rest
        assert sources.first[index].tolist() == [read.index(word) for word in read] + rest
        assert sources.mask[index].tolist() == [True] * len(read) + [False] * len(rest)
        known = [word if word < V else UNK for word in read]
        assert sources.known[index].tolist() == known + rest


def test_unknown_words_beyond_the_most_are_unk() -> None:
    sources = pad_sources([example(list(range(V, V + MAX_OOV + 2)))], vocabulary_size=V)
    assert len(sources.oov[0]) == MAX_OOV
    assert sources.extended[0, -3:].tolist() == [V + MAX_OOV - 1, UNK, UNK]


def test_rows_are_filled_up() -> None:
    assert pad_rows([[1, 2], [], [3]]).tolist() == [[1, 2], [PAD, PAD], [3, PAD]]
    assert pad_rows([]).shape == (0, 0)
