"""Knowledge: what it hints at in a text, and that it is stored with a model."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.extraction.candidate_scorer import UNLIKELY
from one2set.extraction.knowledge import NO_HINTS, NOTHING, Hints, Knowledge
from one2set.extraction.ngrams import Words
from one2set.extraction.train_scorers import extend_knowledge, fit_knowledge
from one2set.text import stem_all

TEXT = Document("d", "Graphs of cats", "Here a network of cats is no graph.")


@pytest.fixture(scope="module")
def knowledge(documents: list[Document]) -> Knowledge:
    """The sample, and many documents about cats."""
    cats = Document("c", "Cats", "We watch cats of a network.", ("cats", "pets", "graph networks"))

    def taught() -> Iterator[Document]:
        yield from documents
        yield from [cats] * 60

    return fit_knowledge(taught)


def test_it_hints_at_n_grams_of_the_text(knowledge: Knowledge) -> None:
    assert knowledge.selector is not None
    hints = knowledge.hints(TEXT)
    stems = stem_all(TEXT.words())
    text = Words.of([stems], [len(TEXT.title_words())])
    at, length, odds = knowledge.selector.select(text)
    assert hints.odds == {
        stems[a : a + n]: value
        for a, n, value in zip(at.tolist(), length.tolist(), odds.tolist(), strict=True)
    }
    assert all(value >= UNLIKELY for value in hints.odds.values())
    assert ("cat",) in hints.odds


def test_it_hints_at_phrases_that_the_text_does_not_hold(knowledge: Knowledge) -> None:
    hints = knowledge.hints(TEXT)
    # All words of the first are there, scattered; the other is associated with them.
    assert hints.texts == {("graph", "network"): "graph networks", ("pet",): "pets"}
    assert knowledge.associations is not None
    _, lift = knowledge.associations(Words.of([stem_all(TEXT.words())], [4]))
    numbers = {stems: knowledge.known.number[stems] for stems in (*hints.texts, ("cat",))}
    assert hints.lifts == {stems: lift[number] for stems, number in numbers.items()}


def test_it_counts(knowledge: Knowledge) -> None:
    # One document in fifteen is not counted.
    assert knowledge.counted(("pet",)) == pytest.approx(math.log1p(56), abs=0.01)
    assert knowledge.counted(("never", "seen")) == 0


def test_further_documents_add_their_counts(
    knowledge: Knowledge, documents: list[Document]
) -> None:
    dogs = Document("e", "Dogs", "We watch dogs bark.", ("dogs", "pets", "dog barks"))
    found = extend_knowledge(knowledge, lambda: [dogs] * 20)
    assert found.counted(("pet",)) == pytest.approx(math.log1p(56 + 20), abs=0.01)
    assert found.counted(("dog", "bark")) == pytest.approx(math.log1p(20), abs=0.01)
    assert found.hints(dogs).odds[("dog",)] > UNLIKELY
    assert found.known.phrases[("pet",)].documents == 80
    assert found.known.phrases[("dog",)].text == "dogs"
    # What is associated with texts is known by its number.
    assert found.known.in_order[: len(knowledge.known.phrases)] == knowledge.known.in_order
    assert found.associations is knowledge.associations
    assert extend_knowledge(NOTHING, lambda: documents).selector is not None


def test_it_is_stored_with_a_model(knowledge: Knowledge, tmp_path: Path) -> None:
    knowledge.save(tmp_path)
    one, other = Knowledge.load(tmp_path).hints(TEXT), knowledge.hints(TEXT)
    assert (one.odds, one.texts) == (other.odds, other.texts)
    assert one.lifts == pytest.approx(other.lifts, abs=0.05)
    assert Knowledge.load(tmp_path / "elsewhere").hints(TEXT) == NO_HINTS


def test_of_few_documents_nothing_is_associated(documents: list[Document]) -> None:
    found = fit_knowledge(lambda: documents)
    assert found.associations is None
    assert found.hints(TEXT).texts == {}


@pytest.mark.parametrize("text", ["", ".", "the", "‽", "a " * 1000])
def test_odd_texts(knowledge: Knowledge, text: str) -> None:
    hints = knowledge.hints(Document("d", "", text))
    assert all(np.isfinite([*hints.odds.values(), *hints.lifts.values()]))


def test_nothing_hints_at_nothing() -> None:
    assert NOTHING.hints(TEXT) == Hints({}, {}, {})
    assert NOTHING.counted(("pet",)) == 0
