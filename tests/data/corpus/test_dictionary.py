"""The dictionary: frequent words first, ties by first occurrence, whatever the chunks."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.dictionary import Dictionary
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary

CHUNKS = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=12), st.booleans()), max_size=6
)


def add(dictionary: Dictionary, text: list[str], *, counted: bool) -> list[int]:
    """Hand over words as a worker does: as numbers into a list of its own, which may hold more."""
    words = [*sorted(set(text), reverse=True), "unused"]
    tokens = np.array([words.index(word) for word in text], dtype=np.int32)
    return [int(id) for id in dictionary.add(tokens, words, counted=counted)]


@given(CHUNKS)
def test_the_order_is_that_of_a_counter(chunks: list[tuple[list[str], bool]]) -> None:
    dictionary = Dictionary()
    provisional = [add(dictionary, text, counted=counted) for text, counted in chunks]
    vocabulary, final = dictionary.close(size=10)

    counts = Counter(word for text, counted in chunks if counted for word in text)
    seen = list(dict.fromkeys(word for text, _ in chunks for word in text))
    expected = sorted(seen, key=lambda word: (-counts[word], seen.index(word)))
    assert vocabulary.words == [*SPECIALS, *expected]
    assert vocabulary.counts == [0] * len(SPECIALS) + [counts[word] for word in expected]
    # Words without a count were never in training: networks do not know them.
    assert vocabulary.size == min(10, len(SPECIALS) + len(counts))
    for (text, _), ids in zip(chunks, provisional, strict=True):
        assert [vocabulary.words[id] for id in final[ids]] == text


def test_specials_in_a_text_keep_their_ids_and_are_not_counted() -> None:
    dictionary = Dictionary()
    assert add(dictionary, ["<unk>", "a", "<unk>"], counted=True) == [1, 7, 1]
    vocabulary, final = dictionary.close(size=99)
    assert vocabulary.words == [*SPECIALS, "a"]
    assert vocabulary.counts[1] == 0
    assert final.tolist() == list(range(8))


@given(CHUNKS)
def test_words_that_a_model_knows_keep_their_ids(chunks: list[tuple[list[str], bool]]) -> None:
    """Whether or not the texts hold them; what follows is ordered as ever."""
    model = WordVocabulary([*SPECIALS, "z", "c", "a", "only copied"], size=len(SPECIALS) + 3)
    dictionary, other = Dictionary(model), Dictionary()
    provisional = [add(dictionary, text, counted=counted) for text, counted in chunks]
    for text, counted in chunks:
        add(other, text, counted=counted)
    vocabulary, final = dictionary.close(size=5)
    rest = [word for word in other.close(size=5)[0].words if word not in (*SPECIALS, "z", "c", "a")]
    assert vocabulary.words == [*SPECIALS, "z", "c", "a", *rest]
    assert vocabulary.size == model.size
    for (text, _), ids in zip(chunks, provisional, strict=True):
        assert [vocabulary.words[id] for id in final[ids]] == text


@pytest.mark.parametrize("text", [[], ["a"]])
def test_a_dictionary_may_be_nearly_empty(text: list[str]) -> None:
    dictionary = Dictionary()
    add(dictionary, text, counted=True)
    vocabulary, _ = dictionary.close(size=99)
    assert vocabulary.words == [*SPECIALS, *text]
