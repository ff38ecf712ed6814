"""The claims of the paper, and the rules that decide whether they hold.

A rule compares means over seeds. If a claim does not hold, the reason is given as far as it can be
computed; nothing is guessed. A claim holds but is not significant if the 95 % interval of one of
its differences, on the reference set, is not on the claim's side of 0. Claims about codes and
speeds have no intervals. A system that predicts nothing has no duplication, so no claim holds
because of it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from one2set.data.control_codes import codes_by_side
from one2set.reproduction.explanations import (
    SHORT,
    count_unique,
    count_written,
    explain_bias,
    explain_count,
    explain_insignificance,
    explain_no_predictions,
    explain_training_end,
    format_differences,
    format_number,
    format_rows,
    join_reasons,
    mean_over_sets,
    on_reference_set,
)
from one2set.reproduction.measure import CodeShares
from one2set.reproduction.plan import LAMBDAS, ROWS, SYSTEM_ROWS, name_lambda_row
from one2set.reproduction.published import Metric, load_published_speed
from one2set.reproduction.results import Results

_SET, _SEQUENCE = "settrans", "transformer"
_BASELINES = SYSTEM_ROWS[:-2]  # all but Transformer and SetTrans
_SEVERAL = 2.0  # several-fold
_ALMOST_ALL = 0.9
_COLLAPSED_F1, _COLLAPSED_DUP = 0.25, 0.8
_MIN_ACTIVE = 0.01  # a code that generates a phrase in a smaller share of documents is inactive

Verdict = Literal["holds", "holds, not significant", "does not hold", "not measured"]


class Outcome(NamedTuple):
    """Whether a claim holds, the numbers behind that, the likely reason if it fails, and the
    differences that are not significant, if any."""

    holds: bool
    numbers: str
    reason: str = ""
    not_significant: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper."""

    text: str
    rule: str
    rows: tuple[str, ...]  # that must be measured
    check: Callable[[Results], Outcome]
    compares_speeds: bool = False


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim, with its verdict."""

    claim: Claim
    verdict: Verdict
    numbers: str
    reason: str


def check_claims(results: Results) -> list[CheckedClaim]:
    """Check all claims against what was measured."""
    return [_check_claim(claim, results) for claim in CLAIMS]


def _check_claim(claim: Claim, results: Results) -> CheckedClaim:
    missing = [row for row in claim.rows if not results.has(row)]
    if missing:
        return CheckedClaim(claim, "not measured", f"needs {', '.join(missing)}", "")
    if claim.compares_speeds and not results.on_same_hardware(*claim.rows):
        numbers = f"{', '.join(claim.rows)} were trained on different hardware (see Jobs)"
        return CheckedClaim(claim, "not measured", numbers, "")
    outcome = claim.check(results)
    if not outcome.holds:
        return CheckedClaim(claim, "does not hold", outcome.numbers, outcome.reason)
    verdict: Verdict = "holds, not significant" if outcome.not_significant else "holds"
    return CheckedClaim(claim, verdict, outcome.numbers, outcome.not_significant)


# --- Rules ---------------------------------------------------------------------------------------


def _check_beats_sequence(side: Literal["present", "absent"]) -> Callable[[Results], Outcome]:
    figures: tuple[Metric, Metric] = (
        ("present_f1_5", "present_f1_m") if side == "present" else ("absent_f1_5", "absent_f1_m")
    )
    number: Metric = "num_present" if side == "present" else "num_absent"

    def check(results: Results) -> Outcome:
        holds = all(
            mean_over_sets(results, _SET, metric) > mean_over_sets(results, _SEQUENCE, metric)
            for metric in figures
        )
        numbers = format_rows(results, (_SET, _SEQUENCE), figures, mean_over_sets)
        not_significant = explain_insignificance(results, _SET, _SEQUENCE, figures)
        return Outcome(
            holds,
            f"{numbers}. {_format_differences(results, _SET, _SEQUENCE, figures)}",
            join_reasons(
                not_significant,
                explain_count(results, _SET, number),
                explain_bias(results, figures[1]),
                explain_training_end(results, _SET, _SEQUENCE, curve=f"f1_{side}"),
            ),
            not_significant,
        )

    return check


def _format_differences(results: Results, row: str, base: str, figures: Sequence[Metric]) -> str:
    differences = format_differences(results, row, base, figures)
    return f"Difference on {results.reference}: {differences}."


def _check_beats_baselines(results: Results) -> Outcome:
    figures: tuple[Metric, ...] = ("present_f1_5", "present_f1_m", "absent_f1_5", "absent_f1_m")
    wins = {
        row: sum(
            mean_over_sets(results, _SET, f) > mean_over_sets(results, row, f) for f in figures
        )
        for row in _BASELINES
    }
    better = [f"{ROWS[row].label} in {count} of {len(figures)}" for row, count in wins.items()]
    won = sum(wins.values())
    comparisons = len(_BASELINES) * len(figures)
    significant = sum(
        differences[metric].significant and differences[metric].mean > 0
        for differences in (results.differences(_SET, row, results.reference) for row in _BASELINES)
        for metric in figures
    )
    summary = (
        f"{significant} of {comparisons} differences on {results.reference} are positive and "
        "significant."
    )
    return Outcome(
        won >= _ALMOST_ALL * comparisons,
        f"SetTrans is ahead of {', '.join(better)} F1s. {summary}",
        join_reasons(
            explain_count(results, _SET, "num_present"),
            explain_bias(results, "present_f1_m"),
            explain_training_end(results, _SET),
        ),
        summary if significant < _ALMOST_ALL * comparisons else "",
    )


def _check_less_duplication(results: Results) -> Outcome:
    ours, theirs = (mean_over_sets(results, row, "duplication") for row in (_SET, _SEQUENCE))
    fold = theirs / ours if ours else theirs * math.inf  # not a number for 0/0
    numbers = format_rows(results, (_SET, _SEQUENCE), ["duplication"], mean_over_sets)
    return Outcome(
        fold >= _SEVERAL,
        f"{numbers}, {format_number(fold, '.1f')} times less. "
        f"{_format_differences(results, _SET, _SEQUENCE, ['duplication'])}",
        join_reasons(
            explain_no_predictions(results, _SET, _SEQUENCE),
            explain_training_end(results, _SET),
            explain_count(results, _SET, "num_present"),
        ),
        explain_insignificance(results, _SET, _SEQUENCE, ["duplication"], sign=-1),
    )


def _check_collapse(row: str) -> Callable[[Results], Outcome]:
    def check(results: Results) -> Outcome:
        whole, left = (on_reference_set(results, name, "present_f1_m") for name in (_SET, row))
        repeats = on_reference_set(results, row, "duplication")
        reason = "SetTrans itself predicts no correct present phrase: there is nothing to lose."
        if whole:
            reason = (
                f"It keeps {left / whole:.0%} of SetTrans' present F1@M, and repeats {repeats:.0%} "
                "of its phrases: less than a collapse."
            )
        loses = whole > 0 and left < _COLLAPSED_F1 * whole
        figures: tuple[Metric, ...] = ("present_f1_m", "num_present", "duplication")
        deciding: list[Metric] = ["present_f1_m" if loses else "duplication"]
        return Outcome(
            whole > 0 and (loses or repeats >= _COLLAPSED_DUP),
            f"{format_rows(results, (row, _SET), figures, on_reference_set)}. "
            f"{_format_differences(results, row, _SET, deciding)}",
            reason,
            explain_insignificance(results, row, _SET, deciding, sign=-1 if loses else 1),
        )

    return check


def _check_fewer_and_repeated(results: Results) -> Outcome:
    row = "settrans-fixed"
    counts = {name: count_unique(results, name) for name in (row, _SET)}
    repeats = {name: on_reference_set(results, name, "duplication") for name in (row, _SET)}
    fewer, more = counts[row] < counts[_SET], repeats[row] > repeats[_SET]
    missing = [] if fewer else ["predict fewer phrases"]
    missing += [] if more else ["repeat itself more"]
    figures: tuple[Metric, ...] = ("num_present", "num_absent", "duplication")
    number = results.number_difference(row, _SET, results.reference)
    interval = f"[{number.low:+.2f}, {number.high:+.2f}]"
    return Outcome(
        fewer and more,
        f"{format_rows(results, (row, _SET), figures, on_reference_set)}. "
        f"{_format_differences(results, row, _SET, figures)} "
        f"#PK + #AK {number.mean:+.2f} {interval}.",
        join_reasons(
            f"It does not {' or '.join(missing)}.",
            explain_no_predictions(results, row, _SET),
            explain_training_end(results, _SET),
        ),
        " ".join(
            filter(
                None,
                (
                    "" if number.high < 0 else f"#PK + #AK may be equal: {interval}.",
                    explain_insignificance(results, row, _SET, ["duplication"]),
                ),
            )
        ),
    )


def _check_separate_loss_predicts_more(results: Results) -> Outcome:
    rows = (_SET, "settrans-single")
    separate, single = (on_reference_set(results, row, "num_absent") for row in rows)
    return Outcome(
        separate > single,
        f"{format_rows(results, rows, ('num_absent', 'absent_f1_m'), on_reference_set)}. "
        f"{_format_differences(results, *rows, ['num_absent'])}",
        join_reasons(
            explain_count(results, _SET, "num_absent"), explain_training_end(results, _SET)
        ),
        explain_insignificance(results, *rows, ["num_absent"]),
    )


def _check_larger_lambda_predicts_fewer(results: Results) -> Outcome:
    series, rises, unclear = [], [], []
    counts: tuple[Metric, Metric] = ("num_present", "num_absent")
    for metric in counts:
        values = [on_reference_set(results, name_lambda_row(value), metric) for value in LAMBDAS]
        series.append(f"{SHORT[metric]} {', '.join(f'{x:.2f}' for x in values)}")
        for (a, b), (x, y) in zip(pairwise(LAMBDAS), pairwise(values), strict=True):
            step = f"{SHORT[metric]} from λ = {a} to {b}"
            difference = results.differences(
                name_lambda_row(b), name_lambda_row(a), results.reference
            )[metric]
            if y >= x:
                rises.append(step)
            if not difference.significant:
                unclear.append(f"{step} [{difference.low:+.2f}, {difference.high:+.2f}]")
    return Outcome(
        not rises,
        f"λ = {', '.join(map(str, LAMBDAS))}: {'; '.join(series)}.",
        f"It does not fall everywhere: {', '.join(rises)}.",
        f"These steps are not significant: {', '.join(unclear)}." if unclear else "",
    )


def _check_two_steps_beat_one(results: Results) -> Outcome:
    rows = (_SET, "settrans-steps-1")
    figures: tuple[Metric, Metric] = ("present_f1_m", "absent_f1_m")
    two_steps, one_step = (
        fmean(on_reference_set(results, row, metric) for metric in figures) for row in rows
    )
    not_significant = explain_insignificance(results, *rows, figures)
    return Outcome(
        two_steps > one_step,
        format_rows(results, rows, figures, on_reference_set).replace("SetTrans", "K = 2")
        + f". {_format_differences(results, *rows, figures)}",
        join_reasons(not_significant, explain_training_end(results, _SET)),
        not_significant,
    )


def _find_active_codes(codes: Sequence[CodeShares]) -> list[CodeShares]:
    # Shares are multiples of 1 / documents: a sum of exactly `_MIN_ACTIVE` may be rounded down.
    return [code for code in codes if code.present + code.absent >= _MIN_ACTIVE - 1e-9]


def _measure_purity(seeds: Sequence[Sequence[CodeShares]]) -> float:
    """The mean share of the more frequent kind in the phrases of a code. Inactive codes do not
    count, nor do seeds without active codes; NaN if no code is active."""
    by_seed = [
        fmean(max(x.present, x.absent) / (x.present + x.absent) for x in active)
        for active in map(_find_active_codes, seeds)
        if active
    ]
    return fmean(by_seed) if by_seed else math.nan


def _check_codes_specialise(results: Results) -> Outcome:
    rows = (_SET, "settrans-single")
    separate, single = (
        _measure_purity(results.codes_by_seed(row, results.reference)) for row in rows
    )
    codes = results.codes(_SET, results.reference)
    present, absent = (codes[part] for part in codes_by_side(len(codes)).values())
    sides = (
        sum(x.present - x.absent for x in present) > 0 > sum(x.present - x.absent for x in absent)
    )
    kinds = "present and absent" if sides else "the same kind of"
    return Outcome(
        separate > single and sides,
        f"{format_number(separate, '.0%')} of a code's phrases are of one kind, with a single set "
        f"loss {format_number(single, '.0%')}; the halves predict mostly {kinds} phrases.",
        join_reasons(
            "" if sides else "The halves of the codes do not predict different kinds of phrases.",
            explain_no_predictions(results, *rows),
            explain_count(results, _SET, "num_absent"),
            explain_training_end(results, _SET),
        ),
    )


def _check_all_codes_generate(results: Results) -> Outcome:
    rows = (_SET, "settrans-fixed")
    assigned, fixed = (
        fmean(
            len(_find_active_codes(codes))
            for codes in results.codes_by_seed(row, results.reference)
        )
        for row in rows
    )
    return Outcome(
        assigned > fixed > 0,
        f"{assigned:.1f} of {len(results.codes(_SET, results.reference))} codes generate phrases, "
        f"with fixed assignment {fixed:.1f}; mean of seeds.",
        join_reasons(explain_no_predictions(results, *rows), explain_training_end(results, _SET)),
    )


def _check_faster_generation(results: Results) -> Outcome:
    ours, theirs = (results.generation_speed(row) for row in (_SET, _SEQUENCE))
    assert ours is not None
    assert theirs is not None
    # A system that generates fewer phrases has less to do.
    written = [count_written(results, row) for row in (_SET, _SEQUENCE)]
    return Outcome(
        ours.mean > theirs.mean and min(written) > 0,
        f"{ours.mean:.1f} and {theirs.mean:.1f} documents per second of CPU time, "
        f"{ours.mean / theirs.mean:.2f} times as fast (published, on a GPU: "
        f"{load_published_speed().generation}). SetTrans generates {written[0]:.1f} phrases per "
        f"document, Transformer {written[1]:.1f}, duplicates included.",
        join_reasons(
            explain_no_predictions(results, _SET, _SEQUENCE),
            "A CPU computes the rows of a set one after the other: a set saves steps, not work.",
        ),
    )


def _check_slower_training(results: Results) -> Outcome:
    rows = (_SET, "settrans-steps-1", _SEQUENCE)
    speeds = [value.mean for row in rows if (value := results.training_speed(row)) is not None]
    k2, k1, sequence = speeds
    # The code shows how work is saved, not whether that is the reason.
    saving = (
        "Our set loss computes real target cells only, and with `loss.shared_encoding` encodes a "
        "document once for assignment and loss."
    )
    return Outcome(
        k2 < sequence and k1 > k2,
        f"K = 2 {k2:.1f}, K = 1 {k1:.1f}, Transformer {sequence:.1f} documents per second of CPU "
        f"time; K = 2 is {k2 / sequence:.2f} times as fast (published: "
        f"{load_published_speed().training}).",
        join_reasons(
            saving if k2 >= sequence else "",
            "" if k1 > k2 else f"K = 1 is {k1 / k2:.2f} times as fast as K = 2.",
        ),
    )


# --- Claims --------------------------------------------------------------------------------------

_AVERAGED = "means over all test sets and seeds"
CLAIMS = (
    Claim(
        "Set training beats sequence training at equal size and data: present phrases.",
        f"F1@5 and F1@M of SetTrans are above Transformer's, {_AVERAGED}.",
        (_SET, _SEQUENCE),
        _check_beats_sequence("present"),
    ),
    Claim(
        "Set training beats sequence training at equal size and data: absent phrases.",
        f"F1@5 and F1@M of SetTrans are above Transformer's, {_AVERAGED}.",
        (_SET, _SEQUENCE),
        _check_beats_sequence("absent"),
    ),
    Claim(
        "SetTrans outperforms almost all systems before it.",
        f"It is ahead in nine of ten comparisons of F1@5 and F1@M, {_AVERAGED}.",
        (_SET, *_BASELINES),
        _check_beats_baselines,
    ),
    Claim(
        "Duplication falls several-fold.",
        f"Transformer's Dup is at least {_SEVERAL:.0f} times SetTrans', {_AVERAGED}.",
        (_SET, _SEQUENCE),
        _check_less_duplication,
    ),
    *(
        Claim(
            f"{label}, the model collapses.",
            f"SetTrans' present F1@M is above 0, and here it is below {_COLLAPSED_F1:.0%} of "
            f"that, or Dup at least {_COLLAPSED_DUP}, on the reference set.",
            (_SET, row),
            _check_collapse(row),
        )
        for label, row in (
            ("Without control codes", "settrans-no-codes"),
            ("With random assignment", "settrans-random"),
            ("Without teacher forcing", "settrans-student"),
        )
    ),
    Claim(
        "Without assignment, it predicts fewer phrases and repeats itself more.",
        "#PK + #AK is lower and Dup higher than SetTrans', on the reference set.",
        (_SET, "settrans-fixed"),
        _check_fewer_and_repeated,
    ),
    Claim(
        "The separate set loss raises the number of absent predictions.",
        "#AK is higher than with a single set loss, on the reference set.",
        (_SET, "settrans-single"),
        _check_separate_loss_predicts_more,
    ),
    Claim(
        "A larger λ means fewer predictions.",
        "#PK and #AK both fall from each λ to the next, on the reference set.",
        tuple(map(name_lambda_row, LAMBDAS)),
        _check_larger_lambda_predicts_fewer,
    ),
    Claim(
        "K = 2 beats K = 1.",
        "The mean of present and absent F1@M is higher, on the reference set.",
        (_SET, "settrans-steps-1"),
        _check_two_steps_beat_one,
    ),
    Claim(
        "With assignment, more codes generate phrases.",
        "More codes than with fixed assignment, where some do, generate a phrase in at least "
        f"{_MIN_ACTIVE:.0%} of the documents of the reference set.",
        (_SET, "settrans-fixed"),
        _check_all_codes_generate,
    ),
    Claim(
        "With the separate set loss, codes specialise.",
        "A code's phrases are more of one kind than with a single set loss, and the halves predict "
        "mostly present and mostly absent phrases, on the reference set.",
        (_SET, "settrans-single"),
        _check_codes_specialise,
    ),
    Claim(
        "Generation is faster than one-to-sequence.",
        "Documents per second of CPU time, all test sets; both predict something.",
        (_SET, _SEQUENCE),
        _check_faster_generation,
        compares_speeds=True,
    ),
    Claim(
        "Training is slower than Transformer's, and a smaller K helps.",
        "Documents per second of CPU time: SetTrans below Transformer, K = 1 above K = 2.",
        (_SET, "settrans-steps-1", _SEQUENCE),
        _check_slower_training,
        compares_speeds=True,
    ),
)
