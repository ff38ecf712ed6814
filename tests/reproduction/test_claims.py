"""Claims hold with the paper's numbers, and fail with others."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from one2set.reproduction.claims import CLAIMS, CheckedClaim, check_claims
from one2set.reproduction.explanations import SHORT, explain_training_end, format_differences
from one2set.reproduction.measure import CELLS
from one2set.reproduction.plan import LAMBDAS, ROWS
from one2set.reproduction.published import Metric
from tests.reproduction.invented import Changes, Codes, Invented

_PRESENT, _ABSENT = (0.6, 0.05), (0.05, 0.4)
_MIXED = (0.5, 0.2)
_SILENT = (0.0, 0.0)
_PAPERS_CODES: dict[str, Sequence[Codes]] = {  # of a single seed
    "settrans": [[_PRESENT, _PRESENT, _ABSENT, _ABSENT]],
    "settrans-single": [[_MIXED] * 4],
    "settrans-fixed": [[_MIXED, _MIXED, _SILENT, _SILENT]],
}
_PAPERS_SPEEDS = {"settrans": 0.67, "settrans-steps-1": 0.8, "transformer": 1.0}
_FALLING: dict[tuple[str, Metric], float] = {
    (f"settrans-lambda-{value}", metric): 5 - number
    for number, value in enumerate(LAMBDAS)
    for metric in ("num_present", "num_absent")
}
_K: dict[tuple[str, Metric], float] = {
    ("settrans-steps-1", "present_f1_m"): 0.385,
    ("settrans-steps-1", "absent_f1_m"): 0.05,
}


def without_predictions(row: str) -> dict[tuple[str, Metric], float | None]:
    """The figures of a system that predicts nothing. Its Dup is 0/0."""
    zeros: tuple[Metric, ...] = ("num_present", "num_absent", *CELLS)
    return {**{(row, metric): 0.0 for metric in zeros}, (row, "duplication"): None}


def check_all(
    changes: Changes | None = None,
    codes: Mapping[str, Sequence[Codes]] | None = None,
    speeds: Mapping[str, float] | None = None,
    unsure: Collection[Metric] = (),
    hardware: Mapping[str, str] | None = None,
) -> dict[str, CheckedClaim]:
    """The check_claims by the beginning of the claim."""
    results = Invented(
        {**_FALLING, **_K, **(changes or {})},
        codes={**_PAPERS_CODES, **(codes or {})},
        speeds={**_PAPERS_SPEEDS, **(speeds or {})},
        unsure=unsure,
        hardware=hardware,
    )
    claims = check_claims(results)
    assert [claim.claim for claim in claims] == list(CLAIMS)
    return {claim.claim.text: claim for claim in claims}


def test_with_the_published_numbers_all_claims_but_speed_hold() -> None:
    failed = {text for text, claim in check_all().items() if claim.verdict != "holds"}
    assert failed == {"Generation is faster than one-to-sequence."}
    fast = check_all(speeds={"transformer": 0.5, "settrans-steps-1": 0.9})
    assert fast["Generation is faster than one-to-sequence."].verdict == "holds"
    assert "1.34 times as fast" in fast["Generation is faster than one-to-sequence."].numbers
    slow = fast["Training is slower than Transformer's, and a smaller K helps."]
    assert slow.verdict == "does not hold"


@pytest.mark.parametrize(
    ("beginning", "changes", "reason"),
    [
        ("Set training beats sequence training at equal size and data: present",
         {("settrans", "present_f1_5"): 0.3}, "SetTrans in 1 of 1 seeds, Transformer in 1"),
        ("Set training beats sequence training at equal size and data: absent",
         {("settrans", "absent_f1_m"): 0.045, ("settrans", "num_absent"): 0.5},
         "there are 1.95; 55% of the output of its absent codes is ∅"),
        ("SetTrans outperforms", {("catseq", "present_f1_5"): 0.9, ("exhird", "absent_f1_5"): 0.9,
                                  ("gan-mr", "absent_f1_5"): 0.9}, "tuned bias"),
        ("Duplication falls", {("settrans", "duplication"): 0.14}, "so still improving"),
        ("Without control codes",
         {("settrans-no-codes", "present_f1_m"): 0.2, ("settrans-no-codes", "duplication"): 0.3},
         "It keeps 51% of SetTrans' present F1@M, and repeats 30%"),
        ("Without assignment", {("settrans-fixed", "duplication"): 0.01},
         "It does not repeat itself more."),
        ("The separate set loss", {("settrans-single", "num_absent"): 3.0}, "so still improving"),
        ("A larger λ", {("settrans-lambda-0.5", "num_absent"): 4.5},
         "It does not fall everywhere: #AK from λ = 0.2 to 0.5."),
        ("K = 2 beats", {("settrans-steps-1", "present_f1_m"): 0.41,
                         ("settrans-steps-1", "absent_f1_m"): 0.0565},
         "the difference in present F1@M is below 0: the reverse is significant"),
    ],
)  # fmt: skip
def test_a_failed_claim_has_a_reason(
    beginning: str, changes: dict[tuple[str, Metric], float], reason: str
) -> None:
    before, after = check_all(), check_all(changes)
    (text,) = [text for text in before if text.startswith(beginning)]
    assert before[text].verdict == "holds"
    assert before[text].reason == ""
    assert after[text].verdict == "does not hold"
    assert reason in after[text].reason
    assert after[text].numbers != before[text].numbers or "F1s" in after[text].numbers


def test_codes_must_specialise_by_halves() -> None:
    text = "With the separate set loss, codes specialise."
    swapped = check_all(codes={"settrans": [[_PRESENT] * 4]})[text]
    assert swapped.verdict == "does not hold"
    assert "halves of the codes do not predict different kinds" in swapped.reason
    mixed = check_all(codes={"settrans": [[_MIXED] * 2 + [_MIXED[::-1]] * 2]})[text]
    assert mixed.verdict == "does not hold", "they are no purer than with a single loss"
    silent = check_all(codes={"settrans-fixed": _PAPERS_CODES["settrans"]})
    assert silent["With assignment, more codes generate phrases."].verdict != "holds"


SPECIALISE = "With the separate set loss, codes specialise."
ALL_GENERATE = "With assignment, more codes generate phrases."
FASTER = "Generation is faster than one-to-sequence."
SLOWER = "Training is slower than Transformer's, and a smaller K helps."
DUPLICATION = "Duplication falls several-fold."


def test_inactive_codes_have_no_kind() -> None:
    """In four documents of a thousand: active codes generate mostly one kind, these do not."""
    hardly = (0.002, 0.002)
    codes = {"settrans": [[_PRESENT, hardly, _ABSENT, hardly]]}
    assert check_all(codes=codes)[SPECIALISE].verdict == "holds"
    assert (
        "2.0 of 4 codes generate phrases, with fixed assignment 2.0"
        in check_all(codes=codes)[ALL_GENERATE].numbers
    )


def test_a_code_that_generates_in_one_document_of_a_hundred_is_active() -> None:
    """1 − 0.99 is less than 0.01 in floating point."""
    just = (0.004, 0.006)
    codes = {"settrans": [[_PRESENT, just, _ABSENT, just]]}
    assert "4.0 of 4 codes generate" in check_all(codes=codes)[ALL_GENERATE].numbers


def test_codes_are_checked_seed_by_seed() -> None:
    """Codes of a single set have other roles in every seed: their mean is mixed, they are not."""
    pure: Sequence[Codes] = [[_PRESENT, _ABSENT] * 2, [_ABSENT, _PRESENT] * 2]
    claim = check_all(codes={"settrans-single": pure})[SPECIALISE]
    assert claim.verdict == "does not hold"
    assert "91% of a code's phrases are of one kind, with a single set loss 91%" in claim.numbers

    turns = [[_MIXED, _SILENT, _SILENT, _SILENT], [_SILENT, _SILENT, _SILENT, _MIXED]]
    claim = check_all(codes={"settrans": turns})[ALL_GENERATE]
    assert claim.verdict == "does not hold", "one code is active in each seed, but another one"
    assert "1.0 of 4 codes generate phrases, with fixed assignment 2.0" in claim.numbers


@pytest.mark.parametrize("row", ["settrans", "transformer"])
def test_a_row_without_predictions_has_no_lower_duplication(row: str) -> None:
    claim = check_all(without_predictions(row))[DUPLICATION]
    assert claim.verdict == "does not hold"
    assert "No predictions by" in claim.reason
    assert "inf" not in claim.numbers
    assert "nan" not in claim.numbers + claim.reason


def test_no_duplication_must_be_compared_with_some() -> None:
    none: Changes = {("settrans", "duplication"): 0.0}
    assert check_all(none)[DUPLICATION].verdict == "holds"
    assert "inf times less" in check_all(none)[DUPLICATION].numbers
    neither: Changes = {**none, ("transformer", "duplication"): 0.0}
    assert check_all(neither)[DUPLICATION].verdict == "does not hold"


@pytest.mark.parametrize("row", ["settrans", "settrans-fixed"])
def test_a_row_without_predictions_does_not_repeat_itself(row: str) -> None:
    text = "Without assignment, it predicts fewer phrases and repeats itself more."
    claim = check_all(without_predictions(row))[text]
    assert claim.verdict == "does not hold"
    assert "No predictions by" in claim.reason
    assert "Dup – and" in claim.numbers or "and –." in claim.numbers


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (SPECIALISE, "settrans"),
        (SPECIALISE, "settrans-single"),
        (ALL_GENERATE, "settrans"),
        (ALL_GENERATE, "settrans-fixed"),
    ],
)
def test_codes_are_not_compared_with_silent_ones(text: str, row: str) -> None:
    claim = check_all(without_predictions(row), codes={row: [[_SILENT] * 4]})[text]
    assert claim.verdict == "does not hold"
    assert "No predictions by" in claim.reason
    assert "nan" not in claim.numbers + claim.reason


@pytest.mark.parametrize("row", ["settrans", "transformer"])
def test_a_row_without_predictions_is_not_faster(row: str) -> None:
    fast = {"settrans": 2.0}
    assert check_all(speeds=fast)[FASTER].verdict == "holds"
    claim = check_all(without_predictions(row), speeds=fast)[FASTER]
    assert claim.verdict == "does not hold"
    assert "No predictions by" in claim.reason


@pytest.mark.parametrize(("text", "row"), [(FASTER, "transformer"), (SLOWER, "settrans-steps-1")])
def test_speeds_on_different_hardware_are_not_compared(text: str, row: str) -> None:
    claim = check_all(hardware={row: "AVX512"})[text]
    assert claim.verdict == "not measured"
    assert "different hardware" in claim.numbers


def test_speeds_are_shown_with_the_number_of_phrases() -> None:
    """Of 10 phrases 4 are repeated, of which 6 different ones are left."""
    loops: Changes = {
        ("transformer", "num_present"): 4.0,
        ("transformer", "num_absent"): 2.0,
        ("transformer", "duplication"): 0.4,
    }
    assert "Transformer 10.0, duplicates included" in check_all(loops)[FASTER].numbers


@pytest.mark.parametrize(
    ("beginning", "metric"),
    [
        ("Set training beats sequence training at equal size and data: present", "present_f1_5"),
        ("Set training beats sequence training at equal size and data: absent", "absent_f1_m"),
        ("SetTrans outperforms", "present_f1_5"),
        ("Duplication falls", "duplication"),
        ("Without control codes", "present_f1_m"),
        ("Without assignment", "duplication"),
        ("Without assignment", "num_absent"),
        ("The separate set loss", "num_absent"),
        ("A larger λ", "num_present"),
        ("K = 2 beats", "present_f1_m"),
    ],
)
def test_a_claim_can_hold_without_being_significant(beginning: str, metric: Metric) -> None:
    sure, unsure = check_all(), check_all(unsure=[metric])
    (text,) = [text for text in sure if text.startswith(beginning)]
    assert (sure[text].verdict, sure[text].reason) == ("holds", "")
    assert unsure[text].verdict == "holds, not significant"
    assert unsure[text].reason
    assert unsure["With assignment, more codes generate phrases."].verdict == "holds"


def test_a_significant_difference_in_the_other_direction_is_no_support() -> None:
    """K = 2 is better in the mean of both F1s, but significantly worse in one of them."""
    worse: Changes = {("settrans-steps-1", "absent_f1_m"): 0.062}
    result = check_all(worse)["K = 2 beats K = 1."]
    assert result.verdict == "holds, not significant"
    assert "the difference in absent F1@M is below 0: the reverse is significant" in result.reason


def test_a_bound_is_not_rounded_to_zero() -> None:
    near: Changes = {("settrans-steps-1", "absent_f1_m"): 0.0557}
    numbers = check_all(near)["K = 2 beats K = 1."].numbers
    assert "absent F1@M +0.0023 [+0.0003, +0.0043]" in numbers


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [((0.1, -0.1, 0.1), ", in 2 of 3 seeds"), ((0.1, 0.0), ", in 1 of 2 seeds"), ((0.1,), "")],
)
def test_seeds_with_the_same_sign_are_counted(seeds: Sequence[float], expected: str) -> None:
    for row, base in (("settrans", "transformer"), ("transformer", "settrans")):
        sign = 1 if row == "settrans" else -1
        results = Invented(seed_differences=[sign * x for x in seeds])
        text = format_differences(results, row, base, ["present_f1_m"])
        assert text.endswith(f"]{expected}")


def test_fewer_phrases_are_fewer_in_sum() -> None:
    """#AK falls significantly, but #PK rises as much."""
    shifted: Changes = {
        ("settrans", "num_present"): 2.0,
        ("settrans", "num_absent"): 2.0,
        ("settrans-fixed", "num_present"): 2.5,
        ("settrans-fixed", "num_absent"): 1.499,
    }
    result = next(
        claim for text, claim in check_all(shifted).items() if text.startswith("Without assignment")
    )
    assert result.verdict == "holds, not significant"
    assert "#PK + #AK may be equal" in result.reason


@pytest.mark.parametrize("metric", ["num_present", "num_absent"])
def test_an_equal_number_of_predictions_is_not_fewer(metric: Metric) -> None:
    same = {("settrans-lambda-0.5", metric): _FALLING["settrans-lambda-0.2", metric]}
    result = check_all(same)["A larger λ means fewer predictions."]
    assert result.verdict == "does not hold"
    assert f"{SHORT[metric]} from λ = 0.2 to 0.5" in result.reason


@pytest.mark.parametrize(
    ("validations", "learning"),
    [((0.1, 0.2), True), ((0.2, 0.2), False), ((0.2, 0.1), False), ((0.2,), False)],
)
def test_a_row_is_still_improving_if_its_last_validation_is_the_best(
    validations: tuple[float, ...], learning: bool
) -> None:
    reason = explain_training_end(Invented(validations=validations), "settrans")
    assert ("1 of 1 seeds" in reason) == learning


def test_a_model_without_correct_phrases_cannot_collapse() -> None:
    text = "With random assignment, the model collapses."
    nothing = check_all({("settrans", "present_f1_m"): 0.0})[text]
    assert nothing.verdict == "does not hold"
    assert "nothing to lose" in nothing.reason


def test_claims_about_missing_rows_are_not_measured() -> None:
    nothing = check_claims(Invented(without=tuple(ROWS)))
    assert {claim.verdict for claim in nothing} == {"not measured"}
    assert nothing[0].numbers == "needs settrans, transformer"
