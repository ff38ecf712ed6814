"""Claims: the paper's own numbers bear them out, and others do not."""

from collections.abc import Mapping

import pytest

from one2set.reproduction.claims import CLAIMS, Finding, findings
from one2set.reproduction.plan import LAMBDAS, ROWS
from one2set.reproduction.published import Figure
from tests.reproduction.invented import Invented

_PRESENT, _ABSENT = (0.6, 0.05), (0.05, 0.4)
_MIXED = (0.5, 0.2)
_PAPERS_CODES = {
    "settrans": [_PRESENT, _PRESENT, _ABSENT, _ABSENT],
    "settrans-single": [_MIXED] * 4,
    "settrans-fixed": [_MIXED, _MIXED, (0.0, 0.0), (0.0, 0.0)],
}
_PAPERS_SPEEDS = {"settrans": 0.67, "settrans-steps-1": 0.8, "transformer": 1.0}
_FALLING: dict[tuple[str, Figure], float] = {
    (f"settrans-lambda-{value}", figure): 5 - number
    for number, value in enumerate(LAMBDAS)
    for figure in ("num_present", "num_absent")
}
_K: dict[tuple[str, Figure], float] = {
    ("settrans-steps-1", "present_f1_m"): 0.385,
    ("settrans-steps-1", "absent_f1_m"): 0.05,
}


def judged(
    changes: Mapping[tuple[str, Figure], float] | None = None,
    codes: Mapping[str, list[tuple[float, float]]] | None = None,
    speeds: Mapping[str, float] | None = None,
) -> dict[str, Finding]:
    """The findings by the beginning of the claim."""
    results = Invented(
        {**_FALLING, **_K, **(changes or {})},
        codes={**_PAPERS_CODES, **(codes or {})},
        speeds={**_PAPERS_SPEEDS, **(speeds or {})},
    )
    found = findings(results)
    assert [one.claim for one in found] == list(CLAIMS)
    return {one.claim.text: one for one in found}


def test_by_its_own_numbers_the_paper_is_right_on_all_but_the_speed_of_our_processor() -> None:
    failed = {text for text, one in judged().items() if one.verdict != "holds"}
    assert failed == {"Generation is faster than one-to-sequence."}
    fast = judged(speeds={"transformer": 0.5, "settrans-steps-1": 0.9})
    assert fast["Generation is faster than one-to-sequence."].verdict == "holds"
    assert "1.34 times as fast" in fast["Generation is faster than one-to-sequence."].numbers
    slow = fast["Training is slower than Transformer's, and a smaller K helps."]
    assert slow.verdict == "does not hold"


@pytest.mark.parametrize(
    ("beginning", "changes", "reason"),
    [
        ("Set training beats sequence training at equal size and data: present",
         {("settrans", "present_f1_5"): 0.3}, "had not learnt all it can"),
        ("Set training beats sequence training at equal size and data: absent",
         {("settrans", "absent_f1_m"): 0.045, ("settrans", "num_absent"): 0.5},
         "where there are 1.95; 55% of what its absent codes say is ∅"),
        ("SetTrans outperforms", {("catseq", "present_f1_5"): 0.9, ("exhird", "absent_f1_5"): 0.9,
                                  ("gan-mr", "absent_f1_5"): 0.9}, "tuned bias"),
        ("Duplication falls", {("settrans", "duplication"): 0.14}, "at its best"),
        ("Without control codes",
         {("settrans-no-codes", "present_f1_m"): 0.2, ("settrans-no-codes", "duplication"): 0.3},
         "It keeps 51% of SetTrans' present F1@M, and repeats 30%"),
        ("Without assignment", {("settrans-fixed", "duplication"): 0.01},
         "It does not repeat itself more."),
        ("The separate set loss", {("settrans-single", "num_absent"): 3.0}, "at its best"),
        ("A larger λ", {("settrans-lambda-0.5", "num_absent"): 4.5},
         "It does not fall everywhere: #AK from λ = 0.2 to 0.5."),
        ("K = 2 beats", {("settrans-steps-1", "present_f1_m"): 0.41,
                         ("settrans-steps-1", "absent_f1_m"): 0.0565},
         "the difference in absent F1@M may be chance"),
    ],
)  # fmt: skip
def test_a_claim_fails_by_its_rule_and_says_why(
    beginning: str, changes: dict[tuple[str, Figure], float], reason: str
) -> None:
    before, after = judged(), judged(changes)
    (text,) = [text for text in before if text.startswith(beginning)]
    assert before[text].verdict == "holds"
    assert before[text].reason == ""
    assert after[text].verdict == "does not hold"
    assert reason in after[text].reason
    assert after[text].numbers != before[text].numbers or "F1s" in after[text].numbers


def test_codes_must_specialise_by_halves() -> None:
    text = "With the separate set loss, codes specialise."
    swapped = judged(codes={"settrans": [_PRESENT] * 4})[text]
    assert swapped.verdict == "does not hold"
    assert "halves of the codes do not say different kinds" in swapped.reason
    mixed = judged(codes={"settrans": [_MIXED] * 2 + [_MIXED[::-1]] * 2})[text]
    assert mixed.verdict == "does not hold", "they are no purer than with a single loss"
    silent = judged(codes={"settrans-fixed": _PAPERS_CODES["settrans"]})
    assert silent["With assignment all codes speak, not only the first."].verdict != "holds"


def test_what_has_learnt_nothing_cannot_collapse() -> None:
    text = "With random assignment, the model collapses."
    nothing = judged({("settrans", "present_f1_m"): 0.0})[text]
    assert nothing.verdict == "does not hold"
    assert "nothing to lose" in nothing.reason


def test_what_was_not_measured_is_said_to_be_so() -> None:
    nothing = findings(Invented(without=tuple(ROWS)))
    assert {one.verdict for one in nothing} == {"not measured"}
    assert nothing[0].numbers == "needs settrans, transformer"
