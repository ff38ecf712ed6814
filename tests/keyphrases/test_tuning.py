"""Tuning: it finds the curve and the operating point that made the data, and counts as the
evaluation does."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from one2set.data.control_codes import SIDES
from one2set.data.document import Document, StemmedDocument
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.evaluation.scoring import evaluate
from one2set.extraction.knowledge import Knowledge, Proposals
from one2set.keyphrases.calibration import (
    MIN_THRESHOLD,
    Calibration,
    LogisticModel,
    SideCalibration,
)
from one2set.keyphrases.reliability import validate_fold
from one2set.keyphrases.scoring import score_phrases
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.keyphrases.tuning import (
    CandidateTable,
    LabelledCandidates,
    fit_logistic,
    label_candidates,
    mean_f1,
    score_and_select,
    tune,
)
from one2set.prediction.prediction import NullBias, Prediction, Slot, TokenStates
from tests.keyphrases.proposals import make_proposals

CODES = 6
OVERLAP = {"part": -3.0, "head": -0.5, "word": -0.2}
CURVE = LogisticModel(
    -1.0, {"probability": -0.5, "codes": 1.0, "candidate_score": 0.3, "title": 2.0}
)


class FixedKnowledge(Knowledge):
    """Proposes letters and pairs of the texts, and some that are absent."""

    def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
        odds = {("b",): 0.5, ("c", "x"): -1.0, ("e",): -3.0, ("o",): 1.0}
        return make_proposals(self, passage, odds, {("zz",): 1.0})


KNOWLEDGE = FixedKnowledge(
    PhraseList({tuple(t.split()): KnownPhrase(t, 9) for t in ("c d", "d b", "zz")})
)


def sigmoid(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-z))


def test_a_known_logistic_is_recovered() -> None:
    generator = np.random.default_rng(1)
    x = generator.normal(size=(40_000, 3)) * [1.0, 2.0, 0.5]
    weights = np.array([-0.7, 1.5, -0.4, 2.0])
    correct = generator.random(len(x)) < sigmoid(weights[0] + x @ weights[1:])
    np.testing.assert_allclose(fit_logistic(x, correct), weights, atol=0.08)


def test_a_logistic_is_fitted_whatever_the_scale_of_its_inputs() -> None:
    """At the minimum of the loss, predictions and targets have the same mean and the same product
    with every input."""
    generator = np.random.default_rng(2)
    x = generator.normal(size=(500, 4)) * [1.0, 30.0, 0.01, 1.0] + [0.0, 100.0, 0.0, 0.0]
    correct = generator.random(len(x)) < sigmoid(x[:, 0] + 20 * x[:, 2])
    intercept, *weights = fit_logistic(x, correct)
    right = correct.sum()
    target = np.where(correct, (right + 1) / (right + 2), 1 / (len(x) - right + 2))
    residual = sigmoid(intercept + x @ weights) - target
    assert residual.mean() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(residual @ x / len(x), 0, atol=1e-6)


def test_equal_inputs_share_their_weight() -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(200, 1))
    correct = generator.random(len(x)) < sigmoid(2 * x[:, 0])
    once, twice = fit_logistic(x, correct), fit_logistic(np.hstack([x, x]), correct)
    np.testing.assert_allclose(twice, [once[0], once[1] / 2, once[1] / 2], atol=1e-4)


def test_targets_are_those_of_platt() -> None:
    """Where nothing is known of phrases, they are predicted the mean of the targets."""
    (intercept,) = fit_logistic(np.empty((8, 0)), np.array([True] * 3 + [False] * 5))
    targets = [(3 + 1) / (3 + 2)] * 3 + [1 / (5 + 2)] * 5
    assert sigmoid(intercept) == pytest.approx(np.mean(targets), abs=1e-5)


@pytest.mark.parametrize("correct", [True, False])
def test_few_phrases_of_one_kind_give_finite_weights(correct: bool) -> None:
    weights = fit_logistic(np.ones((3, 2)), np.array([correct] * 3))
    assert np.isfinite(weights).all()


def make_documents(count: int, *, seed: int = 0) -> list[tuple[Document, Prediction]]:
    """Documents for which present codes generate too rarely: a phrase whose odds against ∅ exceed
    −2 is right half of the time, others never. Absent ones are right by their probability."""
    generator = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        # Letters, each a word and its own stem; those up to `m` are in the text.
        slots, gold = [], []
        for code in range(CODES):
            half = 0 if code < CODES // 2 else 13
            word = chr(ord("b") + half + int(generator.integers(11)))
            odds = float(generator.uniform(-5, 1))
            null = float(generator.uniform(0.05, 0.3))
            first = null * math.exp(odds)
            slots.append(Slot(code, word, (word, "<eos>"), (first, 0.9), ended=True, null=null))
            chance = 0.5 * (odds > -2) if half == 0 else first
            if generator.random() < chance:
                gold.append(word)
        gold += ["zz"] if generator.random() < 0.5 else []
        text = " x ".join("bcdefghijklm")
        document = Document(str(number), "", text, tuple(gold))
        pairs.append((document, Prediction(str(number), tuple(slots), "score", 12, 12)))
    return pairs


def label_all(pairs: list[tuple[Document, Prediction]]) -> list[LabelledCandidates]:
    return [label_candidates(*pair, KNOWLEDGE) for pair in pairs]


def test_candidates_are_judged_by_their_stems() -> None:
    document = Document("d", "Graph networks", "We train them.", ("graph network", "deep learning"))
    texts = ["graph networks", "deeper learn", "train", "deep learnings", "", "a ,"]
    slots = tuple(
        Slot(code, text, (*text.split(), "<eos>"), (0.5,) * 3, ended=True)
        for code, text in enumerate(texts)
    )
    labelled = label_candidates(document, Prediction("d", slots, "score", 5, 5))
    correct = {
        candidate.text: right
        for candidate, right in zip(labelled.candidates, labelled.correct, strict=True)
    }
    assert correct == {
        "graph networks": True,
        "deeper learn": False,
        "train": False,
        "deep learnings": True,
    }
    assert labelled.num_gold == (1, 1)
    assert labelled.num_codes == 6


@pytest.mark.parametrize(
    "calibration",
    [
        Calibration(),
        Calibration(SideCalibration(-2.0), SideCalibration(-1.0)),
        Calibration(SideCalibration(-8.0, 0.1), SideCalibration(0.5, 0.05, overlap=OVERLAP)),
        Calibration(SideCalibration(-3.0, 0.3, CURVE), SideCalibration(-2.0)),
        Calibration(
            SideCalibration(-2.0, 0.3, None, CURVE), SideCalibration(-1.0, 0.2, CURVE, CURVE)
        ),
        Calibration(
            SideCalibration(-2.0, 0.1, CURVE, CURVE, 1.0, OVERLAP),
            SideCalibration(-1.0, 0.0, None, CURVE, 3.0, OVERLAP),
        ),
    ],
    ids=str,
)
def test_mean_f1_equals_that_of_the_evaluation(calibration: Calibration) -> None:
    """Quality is the mean of F1@5 and F1@M of exactly the keyphrases that are shown."""
    pairs = make_documents(60)
    bias = calibration.null_bias()
    shown = []
    for document, prediction in pairs:
        generated_slots = tuple(
            slot
            for slot in prediction.slots
            if slot.log_odds >= (bias.present if slot.code < CODES // 2 else bias.absent)
        )
        stemmed = StemmedDocument.of(document)
        biased = replace(prediction, slots=generated_slots)
        phrases = score_phrases(stemmed, [(biased, stemmed)], KNOWLEDGE, calibration)
        keyphrases = select_keyphrases(document, phrases, calibration, Selection(point="f1"))
        shown.append([keyphrase.text for keyphrase in keyphrases])
    figures = evaluate([document for document, _ in pairs], shown)
    found_quality = mean_f1(CandidateTable(label_all(pairs)), calibration)
    for side in SIDES:
        expected = (figures[side]["5"].f1 + figures[side]["M"].f1) / 2
        assert found_quality[side] == pytest.approx(expected)


def test_tuning_raises_f1_on_other_documents() -> None:
    calibration = tune(label_all(make_documents(800)))
    rest = CandidateTable(label_all(make_documents(400, seed=1)))
    before, after = mean_f1(rest, Calibration()), mean_f1(rest, calibration)
    assert after["present"] > before["present"] + 0.1
    assert after["absent"] > before["absent"] - 0.02
    likely, shown = score_and_select(rest, calibration)
    chosen = shown & rest.present
    assert likely[chosen].mean() == pytest.approx(rest.correct[chosen].mean(), abs=0.04)


def test_overlap_weights_are_learnt() -> None:
    pairs = []
    for number in range(60):
        texts = ["c x", "c"] if number % 2 else ["c"]
        slots = tuple(
            Slot(code, text, (*text.split(), "<eos>"), (0.5,) * 3, ended=True, null=0.1)
            for code, text in enumerate(texts)
        )
        document = Document(str(number), "", " x ".join("bcdefghijklm"), (texts[0],))
        pairs.append((document, Prediction(str(number), slots, "score", 12, 12)))
    overlap = tune([label_candidates(*pair) for pair in pairs]).present.overlap
    assert overlap["part"] < -1


def test_the_floor_of_absent_phrases_is_fixed() -> None:
    """The score is calibrated, so that a fixed floor does it."""
    calibration = tune(label_all(make_documents(100)))
    assert (calibration.present.floor, calibration.absent.floor) == (0.0, 0.2)


def test_the_number_of_generating_codes_depends_on_the_bias() -> None:
    table = CandidateTable(label_all(make_documents(30)))
    everything = table.num_generating(NullBias(-math.inf, -math.inf))
    assert everything.sum() == 30 * CODES
    some = table.num_generating(NullBias(-1.0, math.inf))
    expected = [
        sum(slot.log_odds >= -1 and slot.code < CODES // 2 for slot in candidate.slots)
        for labelled in table.documents
        for candidate in labelled.candidates
    ]
    assert some.tolist() == expected


def test_cross_validation_uses_documents_that_were_left_out() -> None:
    documents = label_all(make_documents(600))
    check, shown, joined = validate_fold(documents, 0).join(validate_fold(documents, 1))
    assert shown.after["present"] > shown.before["present"]
    assert shown.calibration_error("present") < 0.15
    assert 0 <= joined.calibration_error("present") < 0.15
    assert check.after["present"] > check.before["present"]
    bins = check.reliability("present")
    assert sum(count for *_, count in bins) == check.present.sum()
    assert [bin_[0] for bin_ in bins] == sorted(bin_[0] for bin_ in bins)
    assert 0 <= check.calibration_error("present") < 0.15


def test_the_figures_of_what_is_shown_are_those_of_the_evaluation() -> None:
    documents = label_all(make_documents(80))
    calibration, rest = tune(documents[::2]), documents[1::2]
    p, _ = score_and_select(CandidateTable(rest), calibration)
    scores = np.split(p, CandidateTable(rest).bounds[1:-1])
    shown = [
        select_keyphrases(
            labelled.document.document, labelled.scored_phrases(own, MIN_THRESHOLD), calibration
        )
        for labelled, own in zip(rest, scores, strict=True)
    ]
    figures = evaluate(
        [labelled.document.document for labelled in rest],
        [[keyphrase.text for keyphrase in keyphrases] for keyphrases in shown],
    )
    expected = {side: (figures[side]["5"].f1 + figures[side]["M"].f1) / 2 for side in SIDES}
    assert expected["present"] > 0
    assert validate_fold(documents, 0).shown.after == pytest.approx(expected)


def test_a_model_without_codes_can_be_tuned() -> None:
    silent = [
        (document, replace(prediction, slots=())) for document, prediction in make_documents(40)
    ]
    table = CandidateTable(label_all(silent))
    assert not table.num_generating(NullBias()).any()
    calibration = tune(table.documents)
    assert calibration.present.generated is None
    assert calibration.present.proposed is not None
    assert mean_f1(table, calibration)["present"] > 0


def test_phrases_with_scores_are_those_of_the_candidates() -> None:
    """The check of what people are shown selects from the same phrases as the generator does."""
    document, prediction = make_documents(1)[0]
    labelled = label_candidates(document, prediction, KNOWLEDGE)
    calibration = Calibration(SideCalibration(-8.0, 0.0, CURVE, CURVE))
    scores = score_and_select(CandidateTable([labelled]), calibration)[0]
    phrases = labelled.scored_phrases(scores, 0.05)
    stemmed = StemmedDocument.of(document)
    expected = score_phrases(
        stemmed, [(prediction, stemmed)], KNOWLEDGE, calibration, min_score=0.05
    )
    assert {phrase.stems: phrase._replace(score=0.0) for phrase in phrases} == {
        expected_one.stems: expected_one._replace(score=0.0) for expected_one in expected
    }
    assert {phrase.stems: phrase.score for phrase in phrases} == pytest.approx(
        {expected_one.stems: expected_one.score for expected_one in expected}
    )
