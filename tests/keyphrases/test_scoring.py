"""The score of a phrase is the mean over passages."""

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


def make_prediction(**phrases: float) -> Prediction:
    slots = [
        Slot(code, text.replace("_", " "), ("a", "<eos>"), (p, 1.0), ended=True)
        for code, (text, p) in enumerate(phrases.items())
    ]
    return Prediction("d", tuple(slots), "score", 12, 12)


def scores(*passages: tuple[Prediction, StemmedDocument]) -> dict[str, ScoredPhrase]:
    phrases = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration())
    return {phrase.text: phrase for phrase in phrases}


def test_scores_of_one_passage_are_those_of_its_candidates() -> None:
    scored = scores((make_prediction(graph=0.5, deep=0.25), DOCUMENT))
    assert {text: phrase.score for text, phrase in scored.items()} == {"graph": 0.5, "deep": 0.25}
    assert (scored["graph"].side, scored["deep"].side) == ("present", "absent")
    assert scored["graph"].spans == ((2, 7),)


def test_the_mean_over_passages_weighted_by_length() -> None:
    scored = scores(
        (make_prediction(graph=0.5, deep=0.4), FIRST), (make_prediction(deep=0.2, sets=0.6), SECOND)
    )
    first, second = 5 + 1, 3 + 1
    expected = {"graph": 0.5 * first, "sets": 0.6 * second, "deep": 0.4 * first + 0.2 * second}
    for text, total in expected.items():
        assert scored[text].score == pytest.approx(total / (first + second))


def test_a_phrase_is_present_if_any_passage_has_it() -> None:
    scored = scores((make_prediction(sets=0.5), FIRST), (make_prediction(), SECOND))
    assert scored["sets"].side == "present"
    assert [DOCUMENT.document.text[slice(*span)] for span in scored["sets"].spans] == [
        "Sets",
        "sets",
    ]


def test_more_passages_never_raise_a_score_above_the_highest() -> None:
    passages = [(make_prediction(deep=0.3), FIRST)] * 9
    assert scores(*passages)["deep"].score == pytest.approx(0.3)


def test_words_that_only_a_passage_has_next_to_each_other_are_no_phrase() -> None:
    class Proposing(Knowledge):
        def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
            return make_proposals(self, passage, {("graph", "set"): 1.0, ("network",): 1.0}, {})

    joined = StemmedDocument.of(Document("d", "", "a network : graph sets"))
    likely = Calibration(SideCalibration(proposed=LogisticModel(1.0, {})))
    phrases = score_phrases(
        DOCUMENT, [(make_prediction(), joined)], Proposing(PhraseList({})), likely
    )
    assert [phrase.stems for phrase in phrases] == [("network",)]


def test_least_leaves_phrases_out_and_changes_no_score() -> None:
    passages = [
        (make_prediction(graph=0.5, deep=0.1), FIRST),
        (make_prediction(graph=0.01, deep=0.1), SECOND),
    ]
    everything = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration())
    likely = score_phrases(DOCUMENT, passages, NO_KNOWLEDGE, Calibration(), min_score=0.2)
    assert likely == [phrase for phrase in everything if phrase.score >= 0.2] != everything
    for phrase in everything:  # "at least" includes the score itself
        assert phrase in score_phrases(
            DOCUMENT, passages, NO_KNOWLEDGE, Calibration(), min_score=phrase.score
        )


def test_check_can_end_the_work() -> None:
    def check() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        score_phrases(
            DOCUMENT, [(make_prediction(), FIRST)], NO_KNOWLEDGE, Calibration(), check=check
        )
