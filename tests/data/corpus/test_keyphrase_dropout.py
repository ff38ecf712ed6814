"""Keyphrase dropout: what is taken out is gone, the rest is as it was."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.keyphrase_dropout import KeyphraseDropout, mask_phrases
from one2set.data.document import Document
from one2set.data.example import Example, Ids
from one2set.data.specials import MASK, SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.text import stem

WORDS = ["graph", "graphs", "colour", "colours", "colouring", "tree", "trees", "of", "."]
VOCABULARY = WordVocabulary([*SPECIALS, *WORDS], size=10)  # most of them can only be copied


def texts(phrases: tuple[Ids, ...]) -> list[str]:
    return [VOCABULARY.text(phrase.tolist()) for phrase in phrases]


def example(title: str, abstract: str, keyphrases: tuple[str, ...]) -> Example:
    return VOCABULARY.encode(Document("1", title, abstract, keyphrases, tokenised=True))


def test_a_phrase_is_masked_in_every_inflection_and_becomes_absent() -> None:
    before = example(
        "colouring graphs",
        "trees of graphs . graph colours of a tree .",
        ("graph colour", "tree", "graph", "colour graph", "colours of colours"),
    )
    assert texts(before.present) == ["colour graph", "graph", "tree", "graph colour"]
    graph, graph_colour = before.present[1], before.present[3]

    after = mask_phrases(before, [graph_colour], VOCABULARY)
    expected = "colouring graphs . trees of graphs . <bos> of a tree ."
    assert VOCABULARY.text(after.source, unknown=before.unknown) == expected
    assert texts(after.present) == ["colour graph", "graph", "tree"]
    assert texts(after.absent) == ["colours of colours", "graph colour"]
    assert after.title_length == before.title_length == 3

    # The longer one first, though the shorter one stands before it; "colour graph" goes with both.
    after = mask_phrases(before, [graph, graph_colour], VOCABULARY)
    expected = "colouring <bos> . trees of <bos> . <bos> of a tree ."
    assert VOCABULARY.text(after.source, unknown=before.unknown) == expected
    assert texts(after.present) == ["tree"]
    assert texts(after.absent) == ["colours of colours", "colour graph", "graph", "graph colour"]

    after = mask_phrases(before, [before.present[0]], VOCABULARY)
    assert VOCABULARY.text(after.source[:3], unknown=before.unknown) == "<bos> . trees"
    assert after.title_length == 2


def contains(source: list[str], phrase: list[str]) -> bool:
    return any(source[at : at + len(phrase)] == phrase for at in range(len(source)))


some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)


@given(some_words, some_words, st.lists(some_words, max_size=6), st.data())
def test_what_is_taken_out_is_gone_and_the_rest_is_as_it_was(
    title: list[str], abstract: list[str], phrases: list[list[str]], data: st.DataObject
) -> None:
    short = [phrase[:3] for phrase in phrases]
    short += [abstract[at : at + 2] for at in range(0, len(abstract) - 1, 3)]
    before = example(" ".join(title), " ".join(abstract), tuple(map(" ".join, short)))
    out = data.draw(st.lists(st.booleans(), min_size=len(before.present)))
    taken = [phrase for phrase, drawn in zip(before.present, out, strict=False) if drawn]
    after = mask_phrases(before, taken, VOCABULARY)

    def stems(ids: Ids) -> list[str]:
        return [stem(VOCABULARY.text([id])) for id in ids.tolist()]

    source = stems(after.source)
    assert not any(contains(source, stems(phrase)) for phrase in [*taken, *after.absent])
    assert all(contains(source, stems(phrase)) for phrase in after.present)
    everything = [sorted(texts((*one.present, *one.absent))) for one in (before, after)]
    assert everything[0] == everything[1]
    assert after.source.dtype == before.source.dtype

    # Word by word: what is no mask stands there in its old order, on its side of the title's end.
    for old, new in (
        (before.source[: before.title_length], after.source[: after.title_length]),
        (before.source[before.title_length :], after.source[after.title_length :]),
    ):
        words = iter(old.tolist())
        assert all(word in words for word in new.tolist() if word != MASK)
    if not taken:
        assert np.array_equal(after.source, before.source)


def test_chance_is_the_seeds_the_steps_and_the_documents() -> None:
    document = example("graph", "trees of colour .", ("graph", "tree", "colour"))
    documents = [document] * 400

    def taken(*, share: float = 0.3, seed: int = 1, step: int = 2) -> list[list[str]]:
        dropped = KeyphraseDropout(documents, VOCABULARY, share, seed, step)
        assert len(dropped) == len(documents)
        return [texts(one.absent) for one in dropped]

    first = taken()
    assert first == taken()
    assert first not in (taken(seed=2), taken(step=3))
    assert abs(sum(map(len, first)) / (3 * len(documents)) - 0.3) < 0.05
    assert len({tuple(one) for one in first}) == 8, "each phrase by itself"
    one = KeyphraseDropout(documents, VOCABULARY, 0.3, 1, 2)
    assert texts(one[-1].absent) == texts(one[399].absent) == first[399]
    assert [texts(each.absent) for each in one[5:9]] == first[5:9]
    untouched = first.index([])
    assert one[untouched] is document
