"""Candidates: phrases merged by stems, their positions and inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.arrays import Floats, Ints
from one2set.data.document import Document, StemmedDocument
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.text import StemmedSource, Stems
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS
from one2set.extraction.candidates import INPUTS, Candidate, Candidates, build_candidates
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge, Proposals
from one2set.extraction.ngrams import Hashes
from one2set.prediction.prediction import Prediction, Slot, TokenStates
from tests.keyphrases.proposals import make_proposals

DOCUMENT = StemmedDocument.of(
    Document(
        "d",
        "Real-Time Graph Networks",
        "A graph network for 3D\nmodels of Graph Networks, 42 of them.",
    )
)


class Taught(Knowledge):
    """What a candidate scorer could find, and phrases that are known."""

    def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
        odds: dict[Stems, float] = {
            ("real", "time"): 1.5,
            ("graph", "network"): -0.5,
        }
        return make_proposals(self, passage, odds, {("network", "model"): 0.7})

    def count_keyphrases(self, hashes: Hashes) -> tuple[Floats, Floats]:
        return np.full(len(hashes), 7.0), np.arange(len(hashes)) / 10


KNOWLEDGE = Taught(
    PhraseList(
        {
            ("network", "model"): KnownPhrase("network models", 20),
            ("real", "time"): KnownPhrase("real-time", 10),
        }
    )
)


def slot(code: int, text: str, p: float, null: float = 0.1) -> Slot:
    words = text.split()
    return Slot(code, text, (*words, "<eos>"), (p,) * (len(words) + 1), ended=True, null=null)


def candidates(*slots: Slot, knowledge: Knowledge = NO_KNOWLEDGE) -> Candidates:
    prediction = Prediction("d", slots, "score", 12, 12)
    return build_candidates(DOCUMENT, prediction, knowledge)


def inputs(candidate: Candidate) -> dict[str, float]:
    return dict(zip(INPUTS, candidate.inputs, strict=True))


def test_the_same_stems_are_one_candidate() -> None:
    result = candidates(
        slot(0, "graph network", 0.5),
        slot(1, "deep nets", 0.6),
        slot(2, "graph networks", 0.9),
        slot(3, "", 1.0),
        slot(4, "deep nets", 0.2),
    )
    assert [candidate.stems for candidate in result] == [("graph", "network"), ("deep", "net")]
    assert [[s.code for s in candidate.slots] for candidate in result] == [[2, 0], [1, 4]]
    assert [candidate.text for candidate in result] == ["graph networks", "deep nets"]
    assert [candidate.present for candidate in result] == [True, False]
    assert [candidate.side for candidate in result] == ["present", "absent"]
    assert all(candidate.generated for candidate in result)


def test_proposed_phrases_follow_generated_ones() -> None:
    generated, other, *others = candidates(
        slot(0, "graph network", 0.5), slot(1, "of graph", 0.4), knowledge=KNOWLEDGE
    )
    assert (generated.generated, generated.proposed) == (True, True)
    assert (other.generated, other.proposed) == (True, False)
    assert [(candidate.text, candidate.stems, candidate.present) for candidate in others] == [
        ("", ("real", "time"), True),
        ("network models", ("network", "model"), False),
    ]
    assert all(candidate.proposed and not candidate.generated for candidate in others)
    assert [inputs(candidate)["keyphrase_count"] for candidate in (generated, others[1])] == [
        0,
        math.log(8),
    ]
    assert [inputs(candidate)["candidate_score"] for candidate in (generated, other, *others)] == [
        -0.5,
        MIN_LOG_ODDS,
        1.5,
        0,
    ]
    assert [inputs(candidate)["pmi"] for candidate in (generated, *others)] == pytest.approx(
        [0, 0, 0.7]
    )
    for candidate in others:
        assert [inputs(candidate)[name] for name in INPUTS[:4]] == [0, 0, 0, 0]


class WithNeighbors(Taught):
    """Similar documents vote for both phrases of the list."""

    def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
        return super().propose(passage)._replace(votes=np.array([0.2, 0.1], np.float32))

    def log_absent_shares(self, index: Ints) -> Floats:
        return np.where(index >= 0, -0.5, 0.0)


def test_the_votes_of_neighbours_are_inputs_of_phrases_of_the_list() -> None:
    knowledge = WithNeighbors(KNOWLEDGE.phrase_list)
    by_stems = {
        candidate.stems: inputs(candidate)
        for candidate in candidates(
            slot(0, "network model", 0.5), slot(1, "graph theory of", 0.5), knowledge=knowledge
        )
    }
    names = "votes", "absent_share", "coverage"
    expected = {
        ("network", "model"): (math.log(201), -0.5, 1),
        ("graph", "theori", "of"): (0, 0, 2 / 3),  # not on the list
        ("real", "time"): (math.log(101), 0, 0),  # present
        ("graph", "network"): (0, 0, 0),
    }
    actual = {stems: tuple(values[name] for name in names) for stems, values in by_stems.items()}
    assert actual == {stems: pytest.approx(values) for stems, values in expected.items()}


def test_a_candidate_has_the_positions_of_its_occurrences() -> None:
    present, absent = candidates(slot(0, "graph network", 0.5), slot(1, "set", 0.4))
    spans = DOCUMENT.find_spans(present.positions, len(present.stems))
    surfaces = [DOCUMENT.document.text[start:end] for start, end in spans]
    assert surfaces == ["Graph Networks", "graph network", "Graph Networks"]
    assert present.positions == (2, 6, 12)
    assert (absent.positions, DOCUMENT.find_spans(absent.positions, len(absent.stems))) == ((), ())


def test_inputs_equal_values_computed_by_hand() -> None:
    (candidate,) = candidates(slot(0, "graph network", 0.5, 0.2), slot(1, "graph networks", 0.4))
    assert inputs(candidate) == pytest.approx(
        {
            "probability": math.log(0.125),
            "score": math.log(0.5),
            "null": math.log(0.2),
            "codes": math.log(2),
            "words": 2,
            "single": 0,
            "occurrences": math.log(4),
            "position": math.log(3),
            "title": 1,
            "frequency": math.log(1 + 3 * 3) / 2,
            "keyphrase_count": 0,
            "candidate_score": MIN_LOG_ODDS,
            "pmi": 0,
            "votes": 0,
            "absent_share": 0,
            "coverage": 0,
        }
    )
    (absent,) = candidates(slot(0, "network", 0.5), slot(1, "time model", 0.5))[1:]
    assert inputs(absent)["title"] == 0.5
    assert inputs(absent)["occurrences"] == inputs(absent)["position"] == 0
    (impossible,) = candidates(slot(0, "net", 0.0, 0.0))
    assert all(map(math.isfinite, impossible.inputs))


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("graph", True),
        ("deep nets", True),
        ("<digit> of", True),  # which the document spells 42 of
        ("<digit> graphs", False),
        ("<digit>", False),  # what has no letter is no keyphrase
        ("%", False),
        ("_ _", False),
        ("図", True),
        ("graph , network", False),
        ("net .", False),
        ("<sep>", False),
    ],
)
def test_readable_phrases_have_words_and_no_marks(text: str, readable: bool) -> None:
    tokenised = StemmedDocument.of(
        Document("d", "", "the graph network , <digit> of them .", tokenised=True)
    )
    prediction = Prediction("d", (slot(0, text, 0.5),), "score", 8, 8)
    (result,) = build_candidates(tokenised, prediction)
    assert result.readable == readable


def test_a_phrase_without_words_is_never_shown() -> None:
    (candidate,) = candidates(slot(0, "–", 0.5))
    assert not candidate.readable
    assert not candidate.present


def test_columns_are_those_of_the_objects() -> None:
    result = candidates(
        slot(0, "graph network", 0.5), slot(1, "of graph", 0.4), knowledge=KNOWLEDGE
    )
    assert len(result) == 4
    for name in ("present", "generated", "proposed"):
        assert getattr(result, name).tolist() == [getattr(candidate, name) for candidate in result]
    assert [result.stems(at) for at in range(4)] == [candidate.stems for candidate in result]
    assert result[1:3] == [result[1], result[2]]
    with pytest.raises(IndexError):
        result[4]
    last = result.take(np.array([3, 0]))
    assert list(last) == [result[3], result[0]]
    assert last.keyphraseness.tolist() == [0.3, 0.0]
    assert list(result.take(result.present)) == [x for x in result if x.present]


WORDS = st.lists(st.sampled_from(["a", "b", "c", "<digit>", "."]), max_size=12)


@given(WORDS, WORDS, st.lists(st.lists(st.sampled_from("abcd"), min_size=1), max_size=4))
def test_inputs_equal_those_of_each_phrase_alone(
    title: list[str], abstract: list[str], phrases: list[list[str]]
) -> None:
    """What depends on the text, computed for each phrase by itself."""
    document = Document("d", " ".join(title), " ".join(abstract), tokenised=True)
    words = document.words()
    slots = [slot(code, " ".join(phrase), 0.5) for code, phrase in enumerate(phrases)]
    stemmed = StemmedDocument.of(document)
    prediction = Prediction("d", tuple(slots), "score", 1, 1)
    for candidate in build_candidates(stemmed, prediction):
        positions = tuple(StemmedSource(words).positions(candidate.stems))
        assert candidate.positions == positions
        counts = [min(words.count(word), 20) for word in candidate.stems]
        in_title = {*candidate.stems} & {*document.title_words()}
        expected = {
            "words": len(candidate.stems),
            "single": float(len(candidate.stems) == 1),
            "occurrences": math.log1p(len(positions)),
            "position": math.log1p(positions[0]) if positions else 0,
            "title": len(in_title) / len(candidate.stems),
            "frequency": math.log1p(math.prod(counts)) / len(candidate.stems),
        }
        assert {name: inputs(candidate)[name] for name in expected} == pytest.approx(expected)
