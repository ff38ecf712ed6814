"""What readers are shown: each phrase once, likely enough, as the document spells it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document, StemmedDocument
from one2set.errors import ConfigError
from one2set.extraction.knowledge import NO_KNOWLEDGE
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.scoring import ScoredPhrase, score_phrases
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.keyphrases.surface import PhraseSpeller
from one2set.prediction.prediction import Prediction, Slot

DOCUMENT = Document(
    "d",
    "Real-Time Graph Networks",
    "A graph network for 3D\nmodels of Graph Networks.",
)

STEMMED = StemmedDocument.of(DOCUMENT)


def said(**phrases: float) -> list[ScoredPhrase]:
    """Phrases with given probabilities; `_` stands for a space."""
    slots = []
    for code, (text, p) in enumerate(phrases.items()):
        text = text.replace("_", " ")
        slots.append(Slot(code, text, ("a", "<eos>"), (p, 1.0), ended=True))
    prediction = Prediction("d", tuple(slots), "score", 12, 12)
    return score_phrases(STEMMED, [(prediction, STEMMED)], NO_KNOWLEDGE, Calibration())


def shown(
    phrases: list[ScoredPhrase], calibration: Calibration | None = None, **wanted: object
) -> list[Keyphrase]:
    wish = Selection(**wanted)  # type: ignore[arg-type]
    return select_keyphrases(DOCUMENT, phrases, calibration or Calibration(), wish)


def texts(phrases: list[ScoredPhrase], **options: object) -> list[str]:
    return [one.text for one in shown(phrases, **options)]  # type: ignore[arg-type]


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
    # None is written so; of those in running text the first.
    assert texts(said(graph_networking=0.9)) == ["graph network"]


@pytest.mark.parametrize("tokenised", [False, True])
@pytest.mark.parametrize("character", ["\0", "\x9f", "\ud83d"])
def test_no_keyphrase_contains_a_control_character_or_a_lone_surrogate(
    character: str, tokenised: bool
) -> None:
    document = Document("d", "", f"a graph {character} network", tokenised=tokenised)
    spans = ((2, len(document.text)),)
    phrase = ScoredPhrase(("graph", "network"), 0.9, f"graph {character} network", spans)
    for scored in (phrase, phrase._replace(spans=())):
        (keyphrase,) = select_keyphrases(document, [scored], Calibration())
        assert keyphrase.text == "graph network"


def test_what_is_wanted() -> None:
    found = said(graph=0.9, deep=0.7, time=0.4, nets=0.3)
    assert texts(found) == ["graph", "deep", "Real-Time", "nets"]
    assert texts(found, top=2) == ["graph", "deep"]
    assert texts(found, top=0) == []
    assert texts(found, min_score=0.4) == ["graph", "deep", "Real-Time"]
    assert texts(found, only="present") == ["graph", "Real-Time"]
    assert texts(found, only="absent", top=1) == ["deep"]


def test_less_likely_than_the_operating_point_is_not_shown() -> None:
    calibration = Calibration(SideCalibration(threshold=0.5), SideCalibration(threshold=0.2))
    found = said(graph=0.45, deep=0.25, nets=0.15)
    assert texts(found, calibration=calibration) == ["deep"]
    assert texts(found, calibration=calibration, more=0.5) == ["graph", "deep", "nets"]
    assert texts(found, calibration=calibration, more=-1.0) == []


def test_phrases_are_chosen_as_a_set() -> None:
    """A phrase that overlaps a chosen one loses log odds, more of them with more diversity."""
    side = SideCalibration(threshold=0.3, overlap={"head": -1.0})
    calibration = Calibration(side, side, diversity=0.5)
    found = said(graph_networks=0.9, deep_networks=0.5, nets=0.4)
    options: dict[str, Any] = {"calibration": calibration, "point": "f1"}
    everything = ["Graph Networks", "deep networks", "nets"]
    assert texts(found, diversity=0.0, **options) == everything
    assert texts(found, diversity=0.4, **options) == everything
    assert texts(found, **options) == ["Graph Networks", "nets"]
    assert texts(found, diversity=1.0, **options) == ["Graph Networks", "nets"]
    # Scores are their own, whatever is chosen beside them.
    scores = [one.score for one in shown(found, diversity=0.4, **options)]
    assert scores == pytest.approx([0.9, 0.5, 0.4])


def test_people_have_a_diversity_of_their_own() -> None:
    side = SideCalibration(threshold=0.3, overlap={"head": -1.0})
    calibration = Calibration(side, side, diversity=0.0)
    found = said(graph_networks=0.9, deep_networks=0.5)
    assert texts(found, calibration=calibration) == ["Graph Networks"]
    both = ["Graph Networks", "deep networks"]
    assert texts(found, calibration=calibration, point="f1") == both


@pytest.mark.parametrize(
    ("scores", "seen"),
    [
        ({"graph_networks": 0.4, "networks": 0.5}, ["Graph Networks"]),  # nearly as likely
        ({"graph_networks": 0.2, "networks": 0.5}, ["Networks"]),
        (
            {"graph_networks": 0.4, "networks": 0.5, "deep_networks": 0.3},
            ["Graph Networks", "deep networks"],
        ),
        ({"deep_models": 0.5, "models": 0.6}, ["deep models"]),
    ],
)
def test_people_see_no_needless_part_of_a_phrase(scores: dict[str, float], seen: list[str]) -> None:
    found = said(**scores)
    assert texts(found) == seen
    everything = sorted(scores, key=lambda one: -scores[one])
    everything = [one.replace("_", " ") for one in everything]
    for other in ({"point": "f1"}, {"diversity": 0.0}):
        assert [one.lower() for one in texts(found, **other)] == everything


def test_people_see_a_part_that_occurs_twice_on_its_own() -> None:
    document = Document("d", "", "Graph networks. A network of graphs. A large network.")
    spans = {"graph network": ((0, 14),), "network": ((6, 14), (18, 25), (45, 52))}
    phrases = [ScoredPhrase(tuple(one.split()), 0.5, one, spans[one]) for one in spans]
    found = select_keyphrases(document, phrases, Calibration())
    assert [one.text for one in found] == ["graph networks", "network"]
    once = phrases[1]._replace(spans=spans["network"][:2])
    (found_once,) = select_keyphrases(document, [phrases[0], once], Calibration())
    assert found_once.text == "graph networks"


LETTERS = Document("d", "", " x ".join("bcdefghi"))


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 5), ({"more": -0.1}, 1), ({"point": "f1"}, 1), ({"top": 3}, 3), ({"min_score": 0.2}, 3)],
)
def test_people_see_five_phrases_if_as_many_are_likely_enough(
    options: dict[str, Any], count: int
) -> None:
    scores = (0.9, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1)
    phrases = [
        ScoredPhrase((letter,), score, letter, ((at * 4, at * 4 + 1),))
        for at, (letter, score) in enumerate(zip("bcdefgh", scores, strict=True))
    ]
    calibration = Calibration(SideCalibration(threshold=0.05, expected_gold_factor=0.0))
    found = select_keyphrases(LETTERS, phrases, calibration, Selection(**options))
    assert len(found) == count


def test_another_phrase_takes_the_place_of_a_part() -> None:
    side = SideCalibration(expected_gold_factor=0.0)
    found = said(**{"graph_networks": 0.5, "networks": 0.5, "3d_models": 0.1})
    assert texts(found, calibration=Calibration(side)) == ["Graph Networks", "3D models"]
    two = texts(found, calibration=Calibration(side), point="f1")
    assert sorted(two) == ["Graph Networks", "Networks"]


def test_a_part_yields_only_to_what_is_shown() -> None:
    found = said(deep_models=0.4, models=0.5)
    assert texts(found) == ["deep models"]
    assert texts(found, only="present") == ["models"]
    assert texts(found, min_score=0.45) == ["models"]
    floor = Calibration(absent=SideCalibration(floor=0.45))
    assert texts(found, calibration=floor) == ["models"]


def test_terms_of_a_vocabulary_may_be_parts(tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("graph networks\nnetworks\n")
    found = texts(said(graph_networks=0.4, networks=0.5), vocabulary=str(terms))
    assert found == ["networks", "graph networks"]


SPELLER = PhraseSpeller(["deep graph", "graphs", *[f"real {one}" for one in "abcdefghi"]].copy)


@pytest.mark.parametrize(
    ("keyphraseness", "seen"), [(1.0, ["graph"]), (0.02, ["graph"]), (0.001, [])]
)
def test_people_see_generic_words_only_if_they_are_likely(
    keyphraseness: float, seen: list[str]
) -> None:
    calibration = Calibration(SideCalibration(threshold=0.3))
    found = [one._replace(keyphraseness=keyphraseness) for one in said(graph=0.5)]
    assert texts(found, calibration=calibration) == seen
    assert texts(found, calibration=calibration, point="f1") == ["graph"]
    likely = [one._replace(keyphraseness=keyphraseness) for one in said(graph=0.99)]
    assert texts(likely, calibration=calibration) == ["graph"]


def test_people_see_fragments_only_if_they_are_likely() -> None:
    """Phrases of the list begin with "real", and hardly any ends so; it ends with "graph"."""
    document = Document("d", "", "A real graph.")
    stemmed = StemmedDocument.of(document)
    calibration = Calibration(SideCalibration(threshold=0.3))

    def seen(p: float, **options: Any) -> list[str]:
        spans = {"real": (2, 6), "graph": (7, 12)}
        phrases = [ScoredPhrase((stem,), p, stem, (span,)) for stem, span in spans.items()]
        wish = Selection(**options)
        return [
            one.text for one in select_keyphrases(document, phrases, calibration, wish, SPELLER)
        ]

    assert stemmed.stems[1:3] == ("real", "graph")
    assert seen(0.5) == ["graph"]
    assert seen(0.5, point="f1") == ["real", "graph"]
    assert seen(0.9) == ["real", "graph"]


def test_people_see_names_whole() -> None:
    document = Document("d", "", "We use TLS 1.3.")
    phrases = [ScoredPhrase(("tl",), 0.5, "tls", ((7, 10),), keyphraseness=0.001)]
    (found,) = select_keyphrases(document, phrases, Calibration())
    assert (found.text, found.spans) == ("TLS 1.3", ((7, 14),))
    (found,) = select_keyphrases(document, phrases, Calibration(), Selection(point="f1"))
    assert (found.text, found.spans) == ("TLS", ((7, 10),))


def test_people_are_shown_absent_phrases_above_a_floor() -> None:
    calibration = Calibration(absent=SideCalibration(floor=0.5))
    found = said(graph=0.3, deep=0.6, nets=0.4)
    assert texts(found, calibration=calibration) == ["deep", "graph"]
    everything = ["deep", "nets", "graph"]
    assert texts(found, calibration=calibration, point="f1") == everything
    assert texts(found, calibration=calibration, more=1.0) == everything
    assert texts(found, calibration=calibration, only="absent") == ["deep", "nets"]
    assert texts(found, calibration=calibration, more=-1.0) == ["deep", "graph"]


def test_only_terms_of_a_vocabulary(tmp_path: Path) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("label,id,altLabel\nGraphs,7,graph network\nDeep learning,8,deep\n")
    found = shown(said(graph_networks=0.5, graph=0.3, deep=0.4, nets=0.9), vocabulary=str(terms))
    assert [(one.text, one.id, one.present) for one in found] == [
        ("Graphs", "7", True),
        ("Deep learning", "8", False),
    ]
    assert len(found[0].spans) == 6  # of both labels


def test_phrases_of_a_stop_list_are_never_shown(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Graphs\n")
    assert texts(said(graph=0.9, deep=0.5), stop_list=str(tmp_path / "stop.txt")) == ["deep"]


@given(st.floats(-3, 3), st.floats(0, 1))
def test_what_is_asked_for_never_changes_a_score(more: float, min_score: float) -> None:
    phrases = said(graph=0.9, deep=0.7, time=0.4, nets=0.3)
    calibration = Calibration(SideCalibration(threshold=0.4), SideCalibration(threshold=0.4))
    usual = {one.text: one.score for one in shown(phrases, more=100.0)}
    found = shown(phrases, calibration=calibration, more=more, min_score=min_score)
    assert all(usual[one.text] == one.score for one in found)


def test_unreadable_phrases_are_not_shown() -> None:
    assert texts(said(**{"graph ,": 0.9, "deep": 0.1})) == ["deep"]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"top": -1}, "top is -1"),
        ({"top": "5"}, "top is '5'"),
        ({"top": 2.5}, "top is 2.5"),
        ({"min_score": "x"}, "min score is 'x'"),
        ({"more": None}, "more is None"),
        ({"vocabulary": ["a"]}, r"vocabulary is \['a'\]; expected the name of a file"),
        ({"stop_list": 5}, "stop_list is 5"),
        ({"min_score": 1.5}, "min score is 1.5"),
        ({"min_score": float("nan")}, "min score is nan"),
        ({"more": float("inf")}, "more is inf"),
        ({"diversity": 1.5}, "diversity is 1.5"),
        ({"diversity": float("nan")}, "diversity is nan"),
        ({"point": "best"}, "point is 'best'"),
    ],
)
def test_wishes_that_cannot_be(wish: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Selection(**wish)  # type: ignore[arg-type]
