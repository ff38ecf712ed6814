"""Short sources: what is cut off is gone, and phrases are told apart by what is left."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.example import Ids
from one2set.data.short_sources import Shortened
from one2set.text import stem
from tests.data.test_keyphrase_dropout import VOCABULARY, contains, example, some_words, texts


def test_a_phrase_behind_the_cut_is_absent() -> None:
    before = example(
        "colouring graphs",
        "trees of colour . graph trees of colours",
        ("graph tree", "tree", "colour graph", "graph of trees", "colour . graph"),
    )
    assert texts(before.present) == ["colour graph", "tree", "colour . graph", "graph tree"]
    (after,) = Shortened([before], VOCABULARY, 7)
    assert VOCABULARY.text(after.source, unknown=before.unknown) == (
        "colouring graphs . trees of colour ."
    )
    # "colour . graph" is cut in two.
    assert texts(after.present) == ["colour graph", "tree"]
    assert texts(after.absent) == ["graph of trees", "colour . graph", "graph tree"]
    assert after.title_length == before.title_length == 3
    assert (after.id, after.unknown) == (before.id, before.unknown)

    (after,) = Shortened([before], VOCABULARY, 2)
    assert after.title_length == 2
    assert texts(after.present) == ["colour graph"]


def test_a_document_that_is_short_is_left_alone() -> None:
    documents = [example("graph", "trees .", ("tree",)), example("graph", "of trees .", ())]
    assert [len(document.source) for document in documents] == [4, 5]
    short = Shortened(documents, VOCABULARY, 4)
    assert len(short) == 2
    assert short[0] is documents[0]
    assert short[-1] is not documents[1]
    assert [len(document.source) for document in short[0:2]] == [4, 4]


@given(some_words, some_words, st.lists(some_words, max_size=6), st.integers(1, 26))
def test_what_is_left_decides_which_phrases_are_present(
    title: list[str], abstract: list[str], phrases: list[list[str]], words: int
) -> None:
    some = [phrase[:3] for phrase in phrases]
    some += [abstract[at : at + 2] for at in range(0, len(abstract) - 1, 3)]
    before = example(" ".join(title), " ".join(abstract), tuple(map(" ".join, some)))
    (after,) = Shortened([before], VOCABULARY, words)
    assert np.array_equal(after.source, before.source[:words])
    assert after.source.dtype == before.source.dtype
    assert after.title_length == min(before.title_length, words)

    def stems(ids: Ids) -> list[str]:
        return [stem(VOCABULARY.text([id])) for id in ids.tolist()]

    left = stems(after.source)
    stays = [contains(left, stems(phrase)) for phrase in before.present]
    kept = [phrase for phrase, yes in zip(texts(before.present), stays, strict=True) if yes]
    lost = [phrase for phrase, yes in zip(texts(before.present), stays, strict=True) if not yes]
    assert texts(after.present) == kept
    assert texts(after.absent) == texts(before.absent) + lost
