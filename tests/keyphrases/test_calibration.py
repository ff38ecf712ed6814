"""Calibration: probabilities of candidates, thresholds, and its file."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.arrays import Floats
from one2set.data.document import Document, StemmedDocument
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.errors import DataError
from one2set.extraction.candidates import INPUTS, Inputs, build_candidates
from one2set.extraction.knowledge import Knowledge, Proposals
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.selection import MAX_MORE
from one2set.prediction.prediction import NullBias, Prediction, Slot, TokenStates
from tests.keyphrases.proposals import make_proposals

DOCUMENT = StemmedDocument.of(Document("d", "", "a b"))
SLOT = Slot(0, "a b", ("a", "b", "<eos>"), (0.5, 0.5, 0.8), ended=True, null=0.2)


def inputs(**values: float) -> Floats:
    """(1, I)"""
    return np.array([Inputs(**values)])


def test_without_a_model_the_probability_is_that_of_the_tokens() -> None:
    given = inputs(probability=math.log(0.2))
    assert SideCalibration().probabilities(given, np.array([True])) == pytest.approx(0.2)
    assert SideCalibration().probabilities(given, np.array([False])) == 0


def test_a_logistic_model_computes_a_sigmoid() -> None:
    curve = LogisticModel(0.3, {"probability": 0.5, "words": -1.0})
    expected = 1 / (1 + math.exp(-(0.3 + 0.5 * -2.0 - 3.0)))
    given = inputs(probability=-2.0, words=3.0, title=7.0)
    assert curve(given) == pytest.approx(expected)
    assert [LogisticModel(z, {})(given).item() for z in (1e6, -1e6)] == [1.0, 0.0]


def test_each_kind_of_candidate_has_its_own_model() -> None:
    said, unsaid, absent, known = curves = [LogisticModel(z, {}) for z in (-2.0, -1.0, 1.0, 2.0)]
    calibration = Calibration(
        SideCalibration(generated=said, proposed=unsaid), SideCalibration(0, 0, absent, known)
    )
    slots = [Slot(code, text, SLOT.tokens, (0.5,), ended=True) for code, text in enumerate("ax")]
    knowledge = Taught(PhraseList({("y",): KnownPhrase("y", 9)}))
    candidates = build_candidates(DOCUMENT, Prediction("d", tuple(slots), "score", 2, 2), knowledge)
    by_stems = dict(
        zip(
            [candidate.stems for candidate in candidates],
            calibration.probabilities(candidates),
            strict=True,
        )
    )
    expected = zip("abxy", (float(curve(inputs())[0]) for curve in curves), strict=True)
    assert by_stems == {(stem,): p for stem, p in expected}


class Taught(Knowledge):
    """Proposes b, and what it knows."""

    def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
        return make_proposals(self, passage, {("b",): 0.5}, {})


def test_more_shifts_the_threshold_in_log_odds() -> None:
    calibration = Calibration(SideCalibration(-1.0, 0.2), SideCalibration(0.5, 0.0))
    assert calibration.null_bias() == NullBias(-1.0, 0.5)
    assert calibration.present.threshold_at(0.0) == pytest.approx(0.2)
    assert calibration.present.threshold_at(math.log(4)) == pytest.approx(1 / 17)
    assert calibration.present.threshold_at(-100.0) == pytest.approx(1)
    assert calibration.absent.threshold_at(3.0) == 0  # there is none
    assert 0 < calibration.absent.threshold_at(-1.0) < calibration.absent.threshold_at(-3.0) < 1


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    assert Calibration.load(tmp_path) == Calibration()
    half = SideCalibration(-1.5, 0.125, LogisticModel(0.5, dict.fromkeys(INPUTS, -2.0)))
    absent = SideCalibration(proposed=LogisticModel(1.0, {}), overlap={"part": -0.5}, floor=0.2)
    calibration = Calibration(half, absent)
    calibration.save(tmp_path)
    assert Calibration.load(tmp_path) == calibration


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"present": {"bias": 1}, "absent": {}}',
        '{"present": {"said": null, "suggested": null}, "absent": {}, "other": 1}',
        '{"present": {"said": {"intercept": 1, "weights": {"colour": 1}}, "suggested": null}}',
    ],
)
def test_a_damaged_file_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / "calibration.json").write_text(content)
    with pytest.raises(DataError, match="one2set calibrate"):
        Calibration.load(tmp_path)


@pytest.mark.parametrize("expected_gold_factor", [0.1, 1.0, 5.0])
def test_the_cutoff_maximises_the_expected_f1(expected_gold_factor: float) -> None:
    half = SideCalibration(expected_gold_factor=expected_gold_factor)
    for likely in ([0.9, 0.8, 0.1, 0.05], [0.2, 0.2, 0.2], [0.5], [0.01] * 40):
        gold = 1 + expected_gold_factor * sum(likely)
        promised = [
            2 * sum(likely[:k]) / (k + gold) + 2 * sum(likely[: min(k, 5)]) / (5 + gold)
            for k in range(1, len(likely) + 1)
        ]
        result = half.cutoff_by_expected_f1(likely)
        assert promised[result - 1] == pytest.approx(max(promised))
        assert (
            half.cutoff_by_expected_f1(likely, more=-1.0)
            <= result
            <= half.cutoff_by_expected_f1(likely, more=1.0)
        )
    assert half.cutoff_by_expected_f1([]) == 0
    assert SideCalibration().cutoff_by_expected_f1([0.5, 0.1]) == 2


def test_unlikely_phrases_are_shown_if_none_is_likely() -> None:
    half = SideCalibration(expected_gold_factor=1.0)
    assert half.cutoff_by_expected_f1([0.9, 0.9, 0.1, 0.1]) == 2
    assert half.cutoff_by_expected_f1([0.1, 0.1, 0.1, 0.1]) == 4


@given(
    likely=st.lists(st.floats(0.01, 1.0), max_size=12),
    expected_gold_factor=st.floats(0.1, 4.0),
    more=st.floats(-3.0, 3.0),
    step=st.floats(0.1, 3.0),
)
def test_more_never_lowers_the_cutoff(
    likely: list[float], expected_gold_factor: float, more: float, step: float
) -> None:
    half, ordered = (
        SideCalibration(expected_gold_factor=expected_gold_factor),
        sorted(likely, reverse=True),
    )
    assert half.cutoff_by_expected_f1(ordered, more) <= half.cutoff_by_expected_f1(
        ordered, more + step
    )


@given(
    likely=st.lists(st.floats(1e-6, 1.0), max_size=40),
    expected_gold_factor=st.floats(0.1, 4.0),
)
def test_no_value_of_more_shows_fewer(likely: list[float], expected_gold_factor: float) -> None:
    """Up to the largest one, which shows all."""
    half = SideCalibration(expected_gold_factor=expected_gold_factor)
    likely.sort(reverse=True)
    steps = (3.0, 10.0, 15.0, 17.0, 18.0, 20.0, 25.0, 30.0, 36.0, 40.0, 70.0, MAX_MORE)
    counts = [half.cutoff_by_expected_f1(likely, more) for more in steps]
    assert counts == sorted(counts)
    assert counts[-1] == len(likely)
