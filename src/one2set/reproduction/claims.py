"""The paper's claims, each with a rule that says when it holds, written down before any run.

A rule compares means over seeds. Where a claim does not hold, what can be computed about the reason
is said; nothing is guessed. A claim that rests on F1s holds, but may be chance, where the 95 %
interval of a difference contains 0. A system that predicts nothing has no duplication, so no claim
holds because of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from one2set.reproduction import judges
from one2set.reproduction.judges import SEQUENCE, SET, Judgement
from one2set.reproduction.plan import LAMBDAS
from one2set.reproduction.results import Results

Verdict = Literal["holds", "holds, may be chance", "does not hold", "not measured"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    text: str
    rule: str
    rows: tuple[str, ...]  # without which nothing can be said
    judge: Callable[[Results], Judgement]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, judged."""

    claim: Claim
    verdict: Verdict
    numbers: str
    reason: str


def findings(results: Results) -> list[Finding]:
    """All claims, judged by what was measured."""
    return [_finding(claim, results) for claim in CLAIMS]


def _finding(claim: Claim, results: Results) -> Finding:
    missing = [row for row in claim.rows if not results.has(row)]
    if missing:
        return Finding(claim, "not measured", f"needs {', '.join(missing)}", "")
    judgement = claim.judge(results)
    if not judgement.holds:
        return Finding(claim, "does not hold", judgement.numbers, judgement.reason)
    verdict: Verdict = "holds, may be chance" if judgement.chance else "holds"
    return Finding(claim, verdict, judgement.numbers, judgement.chance)


_F1S = "means over all test sets and seeds"
CLAIMS = (
    Claim(
        "Set training beats sequence training at equal size and data: present phrases.",
        f"F1@5 and F1@M of SetTrans are above Transformer's, {_F1S}.",
        (SET, SEQUENCE),
        judges.beats_sequence("present"),
    ),
    Claim(
        "Set training beats sequence training at equal size and data: absent phrases.",
        f"F1@5 and F1@M of SetTrans are above Transformer's, {_F1S}.",
        (SET, SEQUENCE),
        judges.beats_sequence("absent"),
    ),
    Claim(
        "SetTrans outperforms almost all systems before it.",
        f"It is ahead in nine of ten comparisons of F1@5 and F1@M, {_F1S}.",
        (SET, *judges.BASELINES),
        judges.beats_everyone,
    ),
    Claim(
        "Duplication falls several-fold.",
        f"Transformer's Dup is at least {judges.SEVERAL:.0f} times SetTrans', {_F1S}.",
        (SET, SEQUENCE),
        judges.less_duplication,
    ),
    *(
        Claim(
            f"{what}, the model collapses.",
            f"SetTrans' present F1@M is above 0, and here it is below {judges.COLLAPSED_F1:.0%} of "
            f"that, or Dup at least {judges.COLLAPSED_DUP}, on the reference set.",
            (SET, row),
            judges.collapses(row),
        )
        for what, row in (
            ("Without control codes", "settrans-no-codes"),
            ("With random assignment", "settrans-random"),
            ("Without teacher forcing", "settrans-student"),
        )
    ),
    Claim(
        "Without assignment, it predicts fewer phrases and repeats itself more.",
        "#PK + #AK is lower and Dup higher than SetTrans', on the reference set.",
        (SET, "settrans-fixed"),
        judges.fewer_and_repeats,
    ),
    Claim(
        "The separate set loss raises the number of absent predictions.",
        "#AK is higher than with a single set loss, on the reference set.",
        (SET, "settrans-single"),
        judges.separate_says_more,
    ),
    Claim(
        "A larger λ means fewer predictions.",
        "#PK and #AK both fall from each λ to the next, on the reference set.",
        tuple(map(judges.lambda_row, LAMBDAS)),
        judges.larger_lambda_fewer,
    ),
    Claim(
        "K = 2 beats K = 1.",
        "The mean of present and absent F1@M is higher, on the reference set.",
        (SET, "settrans-steps-1"),
        judges.two_steps_beat_one,
    ),
    Claim(
        "With assignment all codes speak, not only the first.",
        f"More codes speak, in at least {judges.SPEAKS:.0%} of the documents of the reference set, "
        "than with fixed assignment, where some do.",
        (SET, "settrans-fixed"),
        judges.all_codes_speak,
    ),
    Claim(
        "With the separate set loss, codes specialise.",
        "What a code says is more of one kind than with a single set loss, and the halves say "
        "mostly present and mostly absent phrases, on the reference set.",
        (SET, "settrans-single"),
        judges.codes_specialise,
    ),
    Claim(
        "Generation is faster than one-to-sequence.",
        "Documents per second of the processor, all test sets; both say something.",
        (SET, SEQUENCE),
        judges.faster,
    ),
    Claim(
        "Training is slower than Transformer's, and a smaller K helps.",
        "Documents per second of the processor: SetTrans below Transformer, K = 1 above K = 2.",
        (SET, "settrans-steps-1", SEQUENCE),
        judges.trains_slower,
    ),
)
