"""When a claim of the paper holds: one function for each, from results to a judgement."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal, NamedTuple

from one2set.reproduction.evidence import (
    SHORT,
    against,
    here,
    mean,
    noise,
    number_said,
    phrases_written,
    reasons,
    shown,
    silence,
    still_learning,
    with_bias,
)
from one2set.reproduction.measure import CodeShares
from one2set.reproduction.plan import LAMBDAS, ROWS
from one2set.reproduction.published import Figure, published_speed
from one2set.reproduction.results import Results

SET, SEQUENCE = "settrans", "transformer"
BASELINES = ("catseq", "catseqtg", "catseqtg-2rf1", "gan-mr", "exhird")
SEVERAL = 2.0  # several-fold
COLLAPSED_F1, COLLAPSED_DUP = 0.25, 0.8
SPEAKS = 0.01  # a code that says less than this is silent


class Judgement(NamedTuple):
    """Whether a claim holds, the numbers that this rests on, the likely reason if it fails, and if
    it holds, what of it may be chance."""

    holds: bool
    numbers: str
    reason: str = ""
    chance: str = ""


def beats_sequence(side: Literal["present", "absent"]) -> Callable[[Results], Judgement]:
    figures: tuple[Figure, Figure] = (
        ("present_f1_5", "present_f1_m") if side == "present" else ("absent_f1_5", "absent_f1_m")
    )
    number: Figure = "num_present" if side == "present" else "num_absent"

    def judge(results: Results) -> Judgement:
        holds = all(
            mean(results, SET, figure) > mean(results, SEQUENCE, figure) for figure in figures
        )
        found = results.differences(SET, SEQUENCE, results.reference)
        intervals = "; ".join(
            f"{SHORT[figure]} {found[figure].mean:+.3f} "
            f"[{found[figure].low:+.3f}, {found[figure].high:+.3f}]"
            for figure in figures
        )
        numbers = against(results, (SET, SEQUENCE), figures, mean)
        chance = noise(results, SET, SEQUENCE, figures)
        return Judgement(
            holds,
            f"{numbers}. Difference on {results.reference}: {intervals}.",
            reasons(
                chance,
                number_said(results, SET, number),
                with_bias(results, figures[1]),
                still_learning(results, SET),
            ),
            chance,
        )

    return judge


def beats_everyone(results: Results) -> Judgement:
    figures: tuple[Figure, ...] = ("present_f1_5", "present_f1_m", "absent_f1_5", "absent_f1_m")
    better = []
    for row in BASELINES:
        wins = sum(mean(results, SET, f) > mean(results, row, f) for f in figures)
        better.append(f"{ROWS[row].label} in {wins} of {len(figures)}")
    won = sum(mean(results, SET, f) > mean(results, row, f) for row in BASELINES for f in figures)
    share = won / (len(BASELINES) * len(figures))
    return Judgement(
        share >= 0.9,
        f"SetTrans is ahead of {', '.join(better)} F1s.",
        reasons(
            number_said(results, SET, "num_present"),
            with_bias(results, "present_f1_m"),
            still_learning(results, SET),
        ),
    )


def less_duplication(results: Results) -> Judgement:
    ours, theirs = (mean(results, row, "duplication") for row in (SET, SEQUENCE))
    fold = theirs / ours if ours else theirs * math.inf  # not a number for 0/0
    numbers = against(results, (SET, SEQUENCE), ["duplication"], mean)
    return Judgement(
        fold >= SEVERAL,
        f"{numbers}, {shown(fold, '.1f')} times less.",
        reasons(
            silence(results, SET, SEQUENCE),
            still_learning(results, SET),
            number_said(results, SET, "num_present"),
        ),
    )


def collapses(row: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        whole, left = (here(results, name, "present_f1_m") for name in (SET, row))
        repeats = here(results, row, "duplication")
        reason = "SetTrans itself has no right present phrase: there is nothing to lose."
        if whole:
            reason = (
                f"It keeps {left / whole:.0%} of SetTrans' present F1@M, and repeats {repeats:.0%} "
                "of what it says: less than a collapse."
            )
        return Judgement(
            whole > 0 and (left < COLLAPSED_F1 * whole or repeats >= COLLAPSED_DUP),
            against(results, (row, SET), ("present_f1_m", "num_present", "duplication"), here),
            reason,
        )

    return judge


def fewer_and_repeats(results: Results) -> Judgement:
    row = "settrans-fixed"
    said = {
        name: here(results, name, "num_present") + here(results, name, "num_absent")
        for name in (row, SET)
    }
    repeats = {name: here(results, name, "duplication") for name in (row, SET)}
    fewer, more = said[row] < said[SET], repeats[row] > repeats[SET]
    missing = [] if fewer else ["say fewer phrases"]
    missing += [] if more else ["repeat itself more"]
    return Judgement(
        fewer and more,
        against(results, (row, SET), ("num_present", "num_absent", "duplication"), here),
        reasons(
            f"It does not {' or '.join(missing)}.",
            silence(results, row, SET),
            still_learning(results, SET),
        ),
    )


def separate_says_more(results: Results) -> Judgement:
    rows = (SET, "settrans-single")
    separate, single = (here(results, row, "num_absent") for row in rows)
    return Judgement(
        separate > single,
        against(results, rows, ("num_absent", "absent_f1_m"), here),
        reasons(number_said(results, SET, "num_absent"), still_learning(results, SET)),
    )


def lambda_row(value: float) -> str:
    return f"settrans-lambda-{value}"


def larger_lambda_fewer(results: Results) -> Judgement:
    told, rises = [], []
    for figure in ("num_present", "num_absent"):
        said = [here(results, lambda_row(value), figure) for value in LAMBDAS]
        told.append(f"{SHORT[figure]} {', '.join(f'{x:.2f}' for x in said)}")
        steps = zip(pairwise(LAMBDAS), pairwise(said), strict=True)
        rises += [f"{SHORT[figure]} from λ = {a} to {b}" for (a, b), (x, y) in steps if y >= x]
    return Judgement(
        not rises,
        f"λ = {', '.join(map(str, LAMBDAS))}: {'; '.join(told)}",
        f"It does not fall everywhere: {', '.join(rises)}.",
    )


def two_steps_beat_one(results: Results) -> Judgement:
    rows = (SET, "settrans-steps-1")
    figures: tuple[Figure, Figure] = ("present_f1_m", "absent_f1_m")
    two, one = (fmean(here(results, row, figure) for figure in figures) for row in rows)
    chance = noise(results, *rows, figures)
    return Judgement(
        two > one,
        against(results, rows, figures, here).replace("SetTrans", "K = 2"),
        reasons(chance, still_learning(results, SET)),
        chance,
    )


def _speaking(codes: Sequence[CodeShares]) -> list[CodeShares]:
    return [code for code in codes if code.null < 1 - SPEAKS]


def _purity(seeds: Sequence[Sequence[CodeShares]]) -> float:
    """The mean share of its more frequent kind in what a code says. Silent codes do not count, nor
    do seeds in which all are silent; not a number where nobody speaks."""
    by_seed = [
        fmean(max(x.present, x.absent) / (x.present + x.absent) for x in speaking)
        for speaking in map(_speaking, seeds)
        if speaking
    ]
    return fmean(by_seed) if by_seed else math.nan


def codes_specialise(results: Results) -> Judgement:
    rows = (SET, "settrans-single")
    separate, single = (_purity(results.codes_by_seed(row, results.reference)) for row in rows)
    codes = results.codes(SET, results.reference)
    half = len(codes) // 2
    first, second = codes[:half], codes[half:]
    sides = all(
        sum(getattr(x, side) for x in part) > sum(getattr(x, other) for x in part)
        for part, side, other in ((first, "present", "absent"), (second, "absent", "present"))
    )
    kinds = "present and absent" if sides else "the same"
    return Judgement(
        separate > single and sides,
        f"What a code says is to {shown(separate, '.0%')} of one kind, with a single set loss to "
        f"{shown(single, '.0%')}; the halves say mostly {kinds}.",
        reasons(
            "" if sides else "The halves of the codes do not say different kinds of phrases.",
            silence(results, *rows),
            number_said(results, SET, "num_absent"),
            still_learning(results, SET),
        ),
    )


def all_codes_speak(results: Results) -> Judgement:
    rows = (SET, "settrans-fixed")
    assigned, fixed = (
        fmean(len(_speaking(codes)) for codes in results.codes_by_seed(row, results.reference))
        for row in rows
    )
    return Judgement(
        assigned > fixed > 0,
        f"{assigned:.1f} codes speak, with fixed assignment {fixed:.1f}, mean over seeds.",
        reasons(silence(results, *rows), still_learning(results, SET)),
    )


def faster(results: Results) -> Judgement:
    ours, theirs = (results.generation_speed(row) for row in (SET, SEQUENCE))
    assert ours is not None
    assert theirs is not None
    # Who writes less has less to do.
    written = [phrases_written(results, row) for row in (SET, SEQUENCE)]
    return Judgement(
        ours.mean > theirs.mean and min(written) > 0,
        f"{ours.mean:.1f} and {theirs.mean:.1f} documents per second of the processor, "
        f"{ours.mean / theirs.mean:.2f} times as fast (published, on a GPU: "
        f"{published_speed().generation}). SetTrans writes {written[0]:.1f} phrases a document, "
        f"Transformer {written[1]:.1f}, repeated ones included.",
        reasons(
            silence(results, SET, SEQUENCE),
            "A processor does one thing after another: a set saves steps, not work.",
        ),
    )


def trains_slower(results: Results) -> Judgement:
    rows = (SET, "settrans-steps-1", SEQUENCE)
    speeds = [value.mean for row in rows if (value := results.training_speed(row)) is not None]
    k2, k1, sequence = speeds
    # How work is saved is known of the code; whether that is why is not.
    saving = (
        "Our set loss computes real target cells only, and with `loss.shared_encoding` reads a "
        "document once for assignment and loss."
    )
    return Judgement(
        k2 < sequence and k1 > k2,
        f"K = 2 {k2:.1f}, K = 1 {k1:.1f}, Transformer {sequence:.1f} documents per second of the "
        f"processor; K = 2 is {k2 / sequence:.2f} times as fast (published: "
        f"{published_speed().training}).",
        reasons(
            saving if k2 >= sequence else "",
            "" if k1 > k2 else f"K = 1 is {k1 / k2:.2f} times as fast as K = 2.",
        ),
    )
