"""What readers are shown: each phrase once, likely enough, as the document spells it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document, StemmedDocument
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.keyphrases.candidates import CandidateBuilder, Candidates
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Selection, select_keyphrases, without_subphrases
from one2set.prediction.prediction import Prediction, Slot

DOCUMENT = Document(
    "d",
    "Real-Time Graph Networks",
    "A graph network for 3D\nmodels of Graph Networks.",
)

READING = CandidateBuilder(StemmedDocument.of(DOCUMENT))


def said(**phrases: float) -> Candidates:
    """Candidates with given probabilities; `_` stands for a space."""
    slots = []
    for code, (text, p) in enumerate(phrases.items()):
        text = text.replace("_", " ")
        slots.append(Slot(code, text, ("a", "<eos>"), (p, 1.0), ended=True))
    prediction = Prediction("d", tuple(slots), "score", 12, 12)
    return READING.generated(prediction)


def shown(
    *passages: Candidates, calibration: Calibration | None = None, **wanted: object
) -> list[Keyphrase]:
    wish = Selection(**wanted)  # type: ignore[arg-type]
    return select_keyphrases(passages, READING, calibration or Calibration(), wish)


def texts(*passages: Candidates, **options: object) -> list[str]:
    return [one.text for one in shown(*passages, **options)]  # type: ignore[arg-type]


def test_a_keyphrase() -> None:
    (present, absent) = shown(said(graph_networks=0.9, deep_nets=0.5))
    assert present.text == "Graph Networks"
    assert present.score == pytest.approx(0.9)
    assert present.present
    surfaces = [DOCUMENT.text[start:end] for start, end in present.spans]
    assert surfaces == ["Graph Networks", "graph network", "Graph Networks"]
    assert absent == Keyphrase("deep nets", pytest.approx(0.5), False, ())  # type: ignore[arg-type]


def test_each_once_as_the_document_spells_it_best_first() -> None:
    found = texts(said(graph_network=0.3, graph_networks=0.2, deep_nets=0.6, real_time=0.5))
    assert found == ["deep nets", "Real-Time", "graph network"]
    assert texts(said(**{"3d_models": 0.9})) == ["3D models"]


def test_the_inflection_that_was_said_is_preferred_then_the_most_frequent() -> None:
    assert texts(said(graph_networks=0.9)) == ["Graph Networks"]
    assert texts(said(graph_network=0.9)) == ["graph network"]
    assert texts(said(graph_networking=0.9)) == ["Graph Networks"]  # twice, none is written so


def test_a_phrase_of_several_passages_is_likelier() -> None:
    (one, other) = shown(said(graph=0.5, deep=0.6), said(graph=0.5), said(graph=0.2))
    assert (one.text, other.text) == ("graph", "deep") or one.text == "Graph"
    assert one.score == pytest.approx(1 - 0.5 * 0.5 * 0.8)
    assert other.score == pytest.approx(0.6)


def test_what_is_wanted() -> None:
    found = said(graph=0.9, deep=0.7, time=0.4, nets=0.3)
    assert texts(found) == ["Graph", "deep", "Time", "nets"]
    assert texts(found, top=2) == ["Graph", "deep"]
    assert texts(found, top=0) == []
    assert texts(found, min_score=0.4) == ["Graph", "deep", "Time"]
    assert texts(found, only="present") == ["Graph", "Time"]
    assert texts(found, only="absent", top=1) == ["deep"]


def test_less_likely_than_the_operating_point_is_not_shown() -> None:
    calibration = Calibration(SideCalibration(threshold=0.5), SideCalibration(threshold=0.2))
    found = said(graph=0.45, deep=0.25, nets=0.15)
    assert texts(found, calibration=calibration) == ["deep"]
    assert texts(found, calibration=calibration, more=0.5) == ["Graph", "deep", "nets"]
    assert texts(found, calibration=calibration, more=-1.0) == []


def test_parts_are_left_out_if_tuning_says_so() -> None:
    found = said(graph_networks=0.9, networks=0.8, graph=0.95, deep_nets=0.4, nets=0.5)
    assert texts(found) == ["Graph", "Graph Networks", "Networks", "nets", "deep nets"]
    thinned = texts(found, calibration=Calibration(drop_subphrases=True))
    assert thinned == ["Graph", "Graph Networks", "nets", "deep nets"]


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), max_size=8))
def test_parts_against_a_plain_search(ranked: list[tuple[str, ...]]) -> None:
    ranked = list(dict.fromkeys(ranked))
    expected: list[tuple[str, ...]] = []
    for stems in ranked:
        inside = (f" {' '.join(stems)} " in f" {' '.join(other)} " for other in expected)
        if not any(inside):
            expected.append(stems)
    assert without_subphrases(ranked) == expected


def test_unreadable_phrases_are_not_shown() -> None:
    assert texts(said(**{"graph ,": 0.9, "deep": 0.1})) == ["deep"]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"top": -1}, "top is -1"),
        ({"min_score": 1.5}, "min score is 1.5"),
        ({"min_score": float("nan")}, "min score is nan"),
        ({"more": float("inf")}, "more is inf"),
    ],
)
def test_wishes_that_cannot_be(wish: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Selection(**wish)  # type: ignore[arg-type]
