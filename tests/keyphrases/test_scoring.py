"""Scores of phrases: the mean over passages, whatever the length of a text."""

import pytest

from one2set.data.document import Document, StemmedDocument
from one2set.data.phrase_list import PhraseList
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge, Proposals
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.scoring import ScoredPhrase, score_phrases
from one2set.prediction.prediction import Prediction, Slot, TokenStates
from tests.keyphrases.proposals import make_proposals

DOCUMENT = StemmedDocument.of(Document("d", "", "A graph of a network. Sets of sets."))
FIRST = StemmedDocument.of(Document("d", "", "a graph of a network", tokenised=True))
SECOND = StemmedDocument.of(Document("d", "", "sets of sets", tokenised=True))


def said(**phrases: float) -> Prediction:
    slots = [
        Slot(code, text.replace("_", " "), ("a", "<eos>"), (p, 1.0), ended=True)
        for code, (text, p) in enumerate(phrases.items())
    ]
    return Prediction("d", tuple(slots), "score", 12, 12)


def scores(*passages: tuple[Prediction, StemmedDocument]) -> dict[str, ScoredPhrase]:
    found = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration())
    return {one.text: one for one in found}


def test_one_passage() -> None:
    found = scores((said(graph=0.5, deep=0.25), DOCUMENT))
    assert {text: one.score for text, one in found.items()} == {"graph": 0.5, "deep": 0.25}
    assert (found["graph"].side, found["deep"].side) == ("present", "absent")
    assert found["graph"].spans == ((2, 7),)


def test_the_mean_over_passages_weighted_by_length() -> None:
    found = scores((said(graph=0.5, deep=0.4), FIRST), (said(deep=0.2, sets=0.6), SECOND))
    first, second = 5 + 1, 3 + 1
    expected = {"graph": 0.5 * first, "sets": 0.6 * second, "deep": 0.4 * first + 0.2 * second}
    for text, total in expected.items():
        assert found[text].score == pytest.approx(total / (first + second))


def test_a_phrase_is_present_if_any_passage_has_it() -> None:
    found = scores((said(sets=0.5), FIRST), (said(), SECOND))
    assert found["sets"].side == "present"
    assert [DOCUMENT.document.text[slice(*span)] for span in found["sets"].spans] == [
        "Sets",
        "sets",
    ]


def test_more_passages_never_raise_a_score_above_the_highest() -> None:
    passages = [(said(deep=0.3), FIRST)] * 9
    assert scores(*passages)["deep"].score == pytest.approx(0.3)


def test_words_that_only_a_passage_has_next_to_each_other_are_no_phrase() -> None:
    class Proposing(Knowledge):
        def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
            return make_proposals(self, passage, {("graph", "set"): 1.0, ("network",): 1.0}, {})

    joined = StemmedDocument.of(Document("d", "", "a network : graph sets"))
    likely = Calibration(SideCalibration(proposed=LogisticModel(1.0, {})))
    found = score_phrases(DOCUMENT, [(said(), joined)], Proposing(PhraseList({})), likely)
    assert [one.stems for one in found] == [("network",)]


def test_least_leaves_phrases_out_and_changes_no_score() -> None:
    passages = [(said(graph=0.5, deep=0.1), FIRST), (said(graph=0.01, deep=0.1), SECOND)]
    every = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration())
    likely = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration(), least=0.2)
    assert likely == [one for one in every if one.score >= 0.2] != every
    for one in every:  # "at least" includes the score itself
        assert one in score_phrases(
            DOCUMENT, passages, NO_KNOWLEDGE, Calibration(), least=one.score
        )


def test_work_can_be_given_up() -> None:
    def check() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        score_phrases(DOCUMENT, [(said(), FIRST)], NO_KNOWLEDGE, Calibration(), check=check)
