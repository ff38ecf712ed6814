"""N-grams as numbers, against a plain search of strings."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.extraction.ngrams import HashedTexts, hash_of

SOURCE = st.lists(st.sampled_from(["a", "b", "c", "the", ".", "<unk>"]), max_size=12)


@given(st.lists(SOURCE, min_size=1, max_size=4), st.integers(1, 5))
def test_those_without_marks_whose_ends_may_be_ends(sources: list[list[str]], length: int) -> None:
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
    found = words.ngrams(length, begin, end)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_hashes_know_order_and_stay_the_same() -> None:
    assert hash_of(["graph", "network"]) != hash_of(["network", "graph"])
    # Of a file that was written elsewhere they must still be the names.
    assert hash_of(["graph"]) == 0xA9CF59ECEA277FFB


def test_the_same_n_gram_of_two_documents_is_told_apart() -> None:
    words = HashedTexts.of([["a", "b"], ["a", "b"]], [1, 0])
    every = np.ones(4, np.bool_)
    at, hashes = words.ngrams(1, every, every)
    assert len({*hashes.tolist()}) == 2
    assert len({*words.hash_in_document(at, hashes).tolist()}) == 4
    assert words.position.tolist() == [0, 1, 0, 1]
    assert words.length.tolist() == [2, 2]
    assert words.title.tolist() == [1, 0]
