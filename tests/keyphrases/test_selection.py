"""Keyphrases are unique, likely enough, and spelt as in the document."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document, StemmedDocument
from one2set.data.text import stem_all, words_of
from one2set.errors import ConfigError
from one2set.extraction.knowledge import NO_KNOWLEDGE
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.keyphrases.phrase_speller import PhraseSpeller
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.scoring import ScoredPhrase, score_phrases
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.prediction.prediction import Prediction, Slot

DOCUMENT = Document(
    "d",
    "Real-Time Graph Networks",
    "A graph network for 3D\nmodels of Graph Networks.",
)

STEMMED = StemmedDocument.of(DOCUMENT)


def make_phrases(**phrases: float) -> list[ScoredPhrase]:
    """Phrases with given probabilities; `_` stands for a space."""
    slots = []
    for code, (text, p) in enumerate(phrases.items()):
        text = text.replace("_", " ")
        slots.append(Slot(code, text, ("a", "<eos>"), (p, 1.0), ended=True))
    prediction = Prediction("d", tuple(slots), "score", 12, 12)
    return score_phrases(STEMMED, [(prediction, STEMMED)], NO_KNOWLEDGE, Calibration())


def select(
    phrases: list[ScoredPhrase], calibration: Calibration | None = None, **options: object
) -> list[Keyphrase]:
    selection = Selection(**options)  # type: ignore[arg-type]
    return select_keyphrases(DOCUMENT, phrases, calibration or Calibration(), selection)


def select_texts(phrases: list[ScoredPhrase], **options: object) -> list[str]:
    return [keyphrase.text for keyphrase in select(phrases, **options)]  # type: ignore[arg-type]


def test_a_keyphrase_has_text_score_side_and_spans() -> None:
    (present, absent) = select(make_phrases(graph_networks=0.9, deep_nets=0.5))
    assert present.text == "Graph Networks"
    assert present.score == pytest.approx(0.9)
    assert present.present
    surfaces = [DOCUMENT.text[start:end] for start, end in present.spans]
    assert surfaces == ["Graph Networks", "graph network", "Graph Networks"]
    assert absent == Keyphrase("deep nets", pytest.approx(0.5), False, ())  # type: ignore[arg-type]


def test_keyphrases_are_unique_spelt_as_in_the_document_and_best_first() -> None:
    texts = select_texts(
        make_phrases(graph_network=0.3, graph_networks=0.2, deep_nets=0.6, real_time=0.5)
    )
    assert texts == ["deep nets", "Real-Time", "graph network"]
    assert select_texts(make_phrases(**{"3d_models": 0.9})) == ["3D models"]


def test_the_generated_inflection_is_preferred_then_the_most_frequent() -> None:
    assert select_texts(make_phrases(graph_networks=0.9)) == ["Graph Networks"]
    assert select_texts(make_phrases(graph_network=0.9)) == ["graph network"]
    # None is written so; of those in running text the first.
    assert select_texts(make_phrases(graph_networking=0.9)) == ["graph network"]


def test_phrases_that_differ_in_a_number_are_apart(tmp_path: Path) -> None:
    text = "Type 1 diabetes; type 2 diabetes; a type 1 diabetes; and 1 diabetes"
    spans = ((0, 15), (17, 32), (36, 51))
    assert {text[start:end].lower() for start, end in spans} == {
        "type 1 diabetes",
        "type 2 diabetes",
    }
    document = Document("d", "", text)
    phrase = ScoredPhrase(("type", "<digit>", "diabet"), 0.9, "type <digit> diabetes", spans)
    first, second = select_keyphrases(document, [phrase], Calibration())
    assert (first.text, first.spans) == ("type 1 diabetes", (spans[0], spans[2]))
    assert (second.text, second.spans) == ("type 2 diabetes", (spans[1],))
    assert first.score == second.score == 0.9

    terms = tmp_path / "terms.csv"
    terms.write_text(
        'label,id\n"Diabetes, type 1",D1\n"Diabetes, type 2",D2\n"Type 3 diabetes",D3\n'
    )
    found = select_keyphrases(document, [phrase], Calibration(), Selection(vocabulary=terms))
    assert [(keyphrase.id, keyphrase.spans) for keyphrase in found] == [
        ("D1", (spans[0], spans[2])),
        ("D2", (spans[1],)),
    ]
    stop = tmp_path / "stop.txt"
    stop.write_text("type 1 diabetes\n")
    kept = select_keyphrases(document, [phrase], Calibration(), Selection(stop_list=stop))
    assert [keyphrase.text for keyphrase in kept] == ["type 2 diabetes"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("random matrices", "random matrix"),
        ("labour market", "labor market"),
        ("Poincaré maps", "poincare maps"),
    ],
)
def test_variants_of_spelling_are_one_keyphrase(one: str, other: str) -> None:
    document = Document("d", "", f"of {one} and {other} here")
    phrases = []
    for score, text in ((0.8, one), (0.6, other)):
        start = document.text.index(text)
        stems = stem_all(words_of(text))
        phrases.append(ScoredPhrase(stems, score, text, ((start, start + len(text)),)))
    assert phrases[0].stems != phrases[1].stems
    for order in (phrases, phrases[::-1]):
        (keyphrase,) = select_keyphrases(document, order, Calibration())
        assert (keyphrase.text, keyphrase.score) == (one, 0.8)
        assert keyphrase.spans == (*phrases[0].spans, *phrases[1].spans)


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


def test_top_min_score_and_only_select_keyphrases() -> None:
    phrases = make_phrases(graph=0.9, deep=0.7, time=0.4, nets=0.3)
    assert select_texts(phrases) == ["graph", "deep", "Real-Time", "nets"]
    assert select_texts(phrases, top=2) == ["graph", "deep"]
    assert select_texts(phrases, top=0) == []
    assert select_texts(phrases, min_score=0.4) == ["graph", "deep", "Real-Time"]
    assert select_texts(phrases, only="present") == ["graph", "Real-Time"]
    assert select_texts(phrases, only="absent", top=1) == ["deep"]


def test_phrases_below_the_threshold_are_not_shown() -> None:
    calibration = Calibration(SideCalibration(threshold=0.5), SideCalibration(threshold=0.2))
    phrases = make_phrases(graph=0.45, deep=0.25, nets=0.15)
    assert select_texts(phrases, calibration=calibration) == ["deep"]
    assert select_texts(phrases, calibration=calibration, more=0.5) == ["graph", "deep", "nets"]
    assert select_texts(phrases, calibration=calibration, more=-1.0) == []


def test_phrases_are_chosen_as_a_set() -> None:
    """A phrase that overlaps a chosen one loses log odds, more of them with more diversity."""
    side = SideCalibration(threshold=0.3, overlap={"head": -1.0})
    calibration = Calibration(side, side, diversity=0.5)
    phrases = make_phrases(graph_networks=0.9, deep_networks=0.5, nets=0.4)
    options: dict[str, Any] = {"calibration": calibration, "point": "f1"}
    everything = ["Graph Networks", "deep networks", "nets"]
    assert select_texts(phrases, diversity=0.0, **options) == everything
    assert select_texts(phrases, diversity=0.4, **options) == everything
    assert select_texts(phrases, **options) == ["Graph Networks", "nets"]
    assert select_texts(phrases, diversity=1.0, **options) == ["Graph Networks", "nets"]
    # Scores are their own, whatever is chosen beside them.
    scores = [keyphrase.score for keyphrase in select(phrases, diversity=0.4, **options)]
    assert scores == pytest.approx([0.9, 0.5, 0.4])


def test_the_point_shown_has_its_own_diversity() -> None:
    side = SideCalibration(threshold=0.3, overlap={"head": -1.0})
    calibration = Calibration(side, side, diversity=0.0)
    phrases = make_phrases(graph_networks=0.9, deep_networks=0.5)
    assert select_texts(phrases, calibration=calibration) == ["Graph Networks"]
    both = ["Graph Networks", "deep networks"]
    assert select_texts(phrases, calibration=calibration, point="f1") == both


@pytest.mark.parametrize(
    ("scores", "expected"),
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
def test_needless_parts_are_not_shown(scores: dict[str, float], expected: list[str]) -> None:
    phrases = make_phrases(**scores)
    assert select_texts(phrases) == expected
    everything = sorted(scores, key=lambda one: -scores[one])
    everything = [slot.replace("_", " ") for slot in everything]
    for other in ({"point": "f1"}, {"diversity": 0.0}):
        assert [text.lower() for text in select_texts(phrases, **other)] == everything


def test_a_part_that_occurs_twice_on_its_own_is_shown() -> None:
    document = Document("d", "", "Graph networks. A network of graphs. A large network.")
    spans = {"graph network": ((0, 14),), "network": ((6, 14), (18, 25), (45, 52))}
    phrases = [ScoredPhrase(tuple(span.split()), 0.5, span, spans[span]) for span in spans]
    keyphrases = select_keyphrases(document, phrases, Calibration())
    assert [keyphrase.text for keyphrase in keyphrases] == ["graph networks", "network"]
    once = phrases[1]._replace(spans=spans["network"][:2])
    (found_once,) = select_keyphrases(document, [phrases[0], once], Calibration())
    assert found_once.text == "graph networks"


LETTERS = Document("d", "", " x ".join("bcdefghi"))


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 5), ({"more": -0.1}, 1), ({"point": "f1"}, 1), ({"top": 3}, 3), ({"min_score": 0.2}, 3)],
)
def test_at_least_five_phrases_are_shown_if_as_many_are_likely_enough(
    options: dict[str, Any], count: int
) -> None:
    scores = (0.9, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1)
    phrases = [
        ScoredPhrase((letter,), score, letter, ((at * 4, at * 4 + 1),))
        for at, (letter, score) in enumerate(zip("bcdefgh", scores, strict=True))
    ]
    calibration = Calibration(SideCalibration(threshold=0.05, expected_gold_factor=0.0))
    keyphrases = select_keyphrases(LETTERS, phrases, calibration, Selection(**options))
    assert len(keyphrases) == count


@pytest.mark.parametrize(
    ("num_passages", "options", "count"),
    [
        (1, {}, 1),
        (2, {}, 5),  # not the sixth
        (2, {"more": -1.0}, 1),
        (2, {"point": "f1"}, 1),
    ],
)
def test_the_five_best_phrases_of_a_long_text_need_a_lower_score(
    num_passages: int, options: dict[str, Any], count: int
) -> None:
    document = Document("d", "", "apples, pears, plums, grapes, figs, limes and melons")
    scores = {"apples": 0.3, "pears": 0.09, "plums": 0.08, "grapes": 0.07, "figs": 0.06}
    scores |= {"limes": 0.05, "melons": 0.01}
    phrases = [
        ScoredPhrase(stem_all([word]), score, word, ((at := document.text.index(word), at + 1),))
        for word, score in scores.items()
    ]
    calibration = Calibration(present=SideCalibration(threshold=0.1, expected_gold_factor=1.0))
    shown = select_keyphrases(
        document, phrases, calibration, Selection(**options), num_passages=num_passages
    )
    assert [keyphrase.text for keyphrase in shown] == [*scores][:count]


def test_phrases_of_a_long_text_that_are_hardly_likely_are_not_shown() -> None:
    phrases = make_phrases(graph_networks=0.5, models=0.019)
    calibration = Calibration(present=SideCalibration(threshold=0.1))
    shown = select_keyphrases(DOCUMENT, phrases, calibration, num_passages=3)
    assert [keyphrase.text for keyphrase in shown] == ["Graph Networks"]


def test_another_phrase_takes_the_place_of_a_part() -> None:
    side = SideCalibration(expected_gold_factor=0.0)
    phrases = make_phrases(**{"graph_networks": 0.5, "networks": 0.5, "3d_models": 0.1})
    assert select_texts(phrases, calibration=Calibration(side)) == ["Graph Networks", "3D models"]
    two = select_texts(phrases, calibration=Calibration(side), point="f1")
    assert sorted(two) == ["Graph Networks", "Networks"]


def test_a_part_is_dropped_only_if_its_whole_is_shown() -> None:
    phrases = make_phrases(deep_models=0.4, models=0.5)
    assert select_texts(phrases) == ["deep models"]
    assert select_texts(phrases, only="present") == ["models"]
    assert select_texts(phrases, min_score=0.45) == ["models"]
    floor = Calibration(absent=SideCalibration(floor=0.45))
    assert select_texts(phrases, calibration=floor) == ["models"]


def test_terms_of_a_vocabulary_may_be_parts(tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("graph networks\nnetworks\n")
    texts = select_texts(make_phrases(graph_networks=0.4, networks=0.5), vocabulary=str(terms))
    assert texts == ["networks", "graph networks"]


SPELLER = PhraseSpeller(["deep graph", "graphs", *[f"real {one}" for one in "abcdefghi"]].copy)


@pytest.mark.parametrize(
    ("keyphraseness", "expected"), [(1.0, ["graph"]), (0.02, ["graph"]), (0.001, [])]
)
def test_generic_words_are_shown_only_if_they_are_likely(
    keyphraseness: float, expected: list[str]
) -> None:
    calibration = Calibration(SideCalibration(threshold=0.3))
    result = [phrase._replace(keyphraseness=keyphraseness) for phrase in make_phrases(graph=0.5)]
    assert select_texts(result, calibration=calibration) == expected
    assert select_texts(result, calibration=calibration, point="f1") == ["graph"]
    likely = [phrase._replace(keyphraseness=keyphraseness) for phrase in make_phrases(graph=0.99)]
    assert select_texts(likely, calibration=calibration) == ["graph"]


def test_fragments_are_shown_only_if_they_are_likely() -> None:
    """Phrases of the list begin with "real", and hardly any ends so; it ends with "graph"."""
    document = Document("d", "", "A real graph.")
    stemmed = StemmedDocument.of(document)
    calibration = Calibration(SideCalibration(threshold=0.3))

    def select_at(p: float, **options: Any) -> list[str]:
        spans = {"real": (2, 6), "graph": (7, 12)}
        phrases = [ScoredPhrase((stem,), p, stem, (span,)) for stem, span in spans.items()]
        selection = Selection(**options)
        return [
            keyphrase.text
            for keyphrase in select_keyphrases(document, phrases, calibration, selection, SPELLER)
        ]

    assert stemmed.stems[1:3] == ("real", "graph")
    assert select_at(0.5) == ["graph"]
    assert select_at(0.5, point="f1") == ["real", "graph"]
    assert select_at(0.9) == ["real", "graph"]


def test_names_are_shown_whole() -> None:
    document = Document("d", "", "We use TLS 1.3.")
    phrases = [ScoredPhrase(("tl",), 0.5, "tls", ((7, 10),), keyphraseness=0.001)]
    (keyphrase,) = select_keyphrases(document, phrases, Calibration())
    assert (keyphrase.text, keyphrase.spans) == ("TLS 1.3", ((7, 14),))
    (keyphrase,) = select_keyphrases(document, phrases, Calibration(), Selection(point="f1"))
    assert (keyphrase.text, keyphrase.spans) == ("TLS", ((7, 10),))


def test_absent_phrases_are_shown_above_a_floor() -> None:
    calibration = Calibration(absent=SideCalibration(floor=0.5))
    phrases = make_phrases(graph=0.3, deep=0.6, nets=0.4)
    assert select_texts(phrases, calibration=calibration) == ["deep", "graph"]
    everything = ["deep", "nets", "graph"]
    assert select_texts(phrases, calibration=calibration, point="f1") == everything
    assert select_texts(phrases, calibration=calibration, more=1.0) == everything
    assert select_texts(phrases, calibration=calibration, only="absent") == ["deep", "nets"]
    assert select_texts(phrases, calibration=calibration, more=-1.0) == ["deep", "graph"]


def test_only_terms_of_the_vocabulary_are_shown(tmp_path: Path) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("label,id,altLabel\nGraphs,7,graph network\nDeep learning,8,deep\n")
    keyphrases = select(
        make_phrases(graph_networks=0.5, graph=0.3, deep=0.4, nets=0.9), vocabulary=str(terms)
    )
    assert [(keyphrase.text, keyphrase.id, keyphrase.present) for keyphrase in keyphrases] == [
        ("Graphs", "7", True),
        ("Deep learning", "8", False),
    ]
    assert len(keyphrases[0].spans) == 3  # of the longer label, which contains the other


def test_phrases_of_a_stop_list_are_never_shown(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Graphs\n")
    assert select_texts(
        make_phrases(graph=0.9, deep=0.5), stop_list=str(tmp_path / "stop.txt")
    ) == ["deep"]


def test_a_stop_list_also_stops_terms_of_a_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text("label,altLabel\nNetworks,graph\nDepth,deep\n")
    (tmp_path / "stop.txt").write_text("networks\n")
    files = {"vocabulary": str(tmp_path / "terms.csv"), "stop_list": str(tmp_path / "stop.txt")}
    assert select_texts(make_phrases(graph=0.9, deep=0.5), **files) == ["Depth"]


def test_terms_that_differ_in_a_sign_are_not_the_same(tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    terms.write_text("C++\nC#\n")
    for text, expected in (
        ("We write C# here. C# is fast.", ["C#"]),
        ("We write C++ here. C++ is fast.", ["C++"]),
        ("The vitamin C content of fruit.", []),
    ):
        document = Document("d", "", text)
        at = text.index("C")
        phrase = ScoredPhrase(("c",), 0.9, "c", ((at, at + 1),))
        chosen = select_keyphrases(document, [phrase], Calibration(), Selection(vocabulary=terms))
        assert [keyphrase.text for keyphrase in chosen] == expected


def test_a_stop_list_also_stops_phrases_with_marks(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Alzheimer's disease\n")
    phrases = make_phrases(**{"alzheimer's disease": 0.9, "deep": 0.5})
    assert select_texts(phrases, stop_list=str(tmp_path / "stop.txt")) == ["deep"]


@given(st.floats(-3, 3), st.floats(0, 1))
def test_options_never_change_a_score(more: float, min_score: float) -> None:
    phrases = make_phrases(graph=0.9, deep=0.7, time=0.4, nets=0.3)
    calibration = Calibration(SideCalibration(threshold=0.4), SideCalibration(threshold=0.4))
    usual = {keyphrase.text: keyphrase.score for keyphrase in select(phrases, more=100.0)}
    keyphrases = select(phrases, calibration=calibration, more=more, min_score=min_score)
    assert all(usual[keyphrase.text] == keyphrase.score for keyphrase in keyphrases)


def test_unreadable_phrases_are_not_shown() -> None:
    assert select_texts(make_phrases(**{"graph ,": 0.9, "deep": 0.1})) == ["deep"]


@pytest.mark.parametrize(
    ("selection", "message"),
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
def test_invalid_options_are_errors(selection: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Selection(**selection)  # type: ignore[arg-type]
