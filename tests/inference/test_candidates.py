"""Candidates: phrases merged by their stems, where they stand, and what is known of them."""

import math

import pytest

from one2set.data.document import Document
from one2set.inference.candidates import INPUTS, Candidate, Reading
from one2set.inference.prediction import Prediction, Slot

DOCUMENT = Document(
    "d",
    "Real-Time Graph Networks",
    "A graph network for 3D\nmodels of Graph Networks, 42 of them.",
)


def slot(code: int, text: str, p: float, null: float = 0.1) -> Slot:
    words = text.split()
    return Slot(code, text, (*words, "<eos>"), (p,) * (len(words) + 1), ended=True, null=null)


def candidates(*slots: Slot) -> list[Candidate]:
    return Reading(DOCUMENT).candidates(Prediction("d", slots, "score", 12, 12))


def test_the_same_stems_are_one_candidate() -> None:
    found = candidates(
        slot(0, "graph network", 0.5),
        slot(1, "deep nets", 0.6),
        slot(2, "graph networks", 0.9),
        slot(3, "", 1.0),
        slot(4, "deep nets", 0.2),
    )
    assert [one.stems for one in found] == [("graph", "network"), ("deep", "net")]
    assert [[s.code for s in one.slots] for one in found] == [[2, 0], [1, 4]]
    assert [one.text for one in found] == ["graph networks", "deep nets"]
    assert [one.present for one in found] == [True, False]


def test_where_a_candidate_stands() -> None:
    (found,) = candidates(slot(0, "graph network", 0.5))
    surfaces = [DOCUMENT.text[start:end] for start, end in found.spans]
    assert surfaces == ["Graph Networks", "graph network", "Graph Networks"]
    assert found.place == 2
    assert found.in_title
    (absent,) = candidates(slot(0, "set", 0.5))
    assert (absent.spans, absent.place, absent.in_title) == ((), -1, False)
    (below,) = candidates(slot(0, "3d models", 0.5))
    assert (below.place, below.in_title) == (9, False)


def test_what_is_known_of_it() -> None:
    (found,) = candidates(slot(0, "graph network", 0.5, 0.2), slot(1, "graph networks", 0.4))
    assert dict(zip(INPUTS, found.inputs(), strict=True)) == pytest.approx(
        {
            "probability": math.log(0.125),
            "score": math.log(0.5),
            "null": math.log(0.2),
            "words": 2,
            "single": 0,
            "codes": math.log(2),
            "occurrences": math.log(4),
            "place": math.log(3),
            "title": 1,
        }
    )
    (impossible,) = candidates(slot(0, "net", 0.0, 0.0))
    assert all(map(math.isfinite, impossible.inputs()))


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("graph", True),
        ("deep nets", True),
        ("<digit>", True),  # which the document spells 42
        ("<digit> graphs", False),
        ("graph , network", False),
        ("net .", False),
        ("<sep>", False),
    ],
)
def test_what_can_be_shown(text: str, readable: bool) -> None:
    tokenised = Document("d", "", "the graph network , <digit> of them .", tokenised=True)
    prediction = Prediction("d", (slot(0, text, 0.5),), "score", 8, 8)
    (found,) = Reading(tokenised).candidates(prediction)
    assert found.readable == readable


def test_a_phrase_without_words_is_never_shown() -> None:
    (found,) = candidates(slot(0, "–", 0.5))
    assert not found.readable
    assert not found.present
