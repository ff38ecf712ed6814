"""The numbers that claims rest on, in words, and the reasons that can be computed from results."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from one2set.data.control_codes import Side, codes_by_side
from one2set.reproduction.plan import ROWS
from one2set.reproduction.published import Metric
from one2set.reproduction.results import Results

SHORT: dict[Metric, str] = {
    "present_f1_5": "present F1@5",
    "present_f1_m": "present F1@M",
    "absent_f1_5": "absent F1@5",
    "absent_f1_m": "absent F1@M",
    "num_present": "#PK",
    "num_absent": "#AK",
    "duplication": "Dup",
}


def mean_over_sets(results: Results, row: str, metric: Metric) -> float:
    """The mean of a metric over all sets and seeds. NaN, with which no comparison holds, if the row
    has no such number."""
    assert results.has(row)
    value = results.average(row, metric)
    return math.nan if value is None else value.mean


def on_reference_set(results: Results, row: str, metric: Metric) -> float:
    """The mean of a metric over seeds, on the reference set; NaN if the row has no such number."""
    assert results.has(row)
    value = results.value(row, results.reference, metric)
    return math.nan if value is None else value.mean


def count_unique(results: Results, row: str) -> float:
    """Predicted phrases per document on the reference set, without duplicates."""
    counts: tuple[Metric, Metric] = ("num_present", "num_absent")
    return sum(on_reference_set(results, row, metric) for metric in counts)


def count_written(results: Results, row: str) -> float:
    """Predicted phrases per document on the reference set, with duplicates."""
    unique = count_unique(results, row)
    return unique / (1 - on_reference_set(results, row, "duplication")) if unique else 0.0


def format_number(value: float, form: str) -> str:
    """A number, or a dash for NaN."""
    return "–" if math.isnan(value) else format(value, form)


def _choose_format(metric: Metric, *numbers: float) -> str:
    """Three decimals for F1, two for others; up to six if a number would be rounded to 0."""
    decimals = 3 if "f1" in metric else 2
    while decimals < 6 and any(number and not round(number, decimals) for number in numbers):
        decimals += 1
    return f".{decimals}f"


def format_rows(
    results: Results,
    rows: Sequence[str],
    figures: Sequence[Metric],
    of: Callable[[Results, str, Metric], float],
) -> str:
    """`present F1@M 0.312 and 0.298; …`, one number per row."""
    parts = []
    for metric in figures:
        values = [format_number(of(results, row, metric), _choose_format(metric)) for row in rows]
        parts.append(f"{SHORT[metric]} {' and '.join(values)}")
    return f"{' and '.join(ROWS[row].label for row in rows)}: {'; '.join(parts)}"


def explain_training_end(results: Results, *rows: str, curve: str = "f1") -> str:
    """Say for which rows a validation metric was still improving when training ended; "" if it was
    not for the first one."""
    texts = []
    for row in rows:
        curves = results.curves(row, curve)
        at_best = sum(each.values[-1] > max(each.values[:-1], default=1.0) for each in curves)
        if at_best:
            texts.append(f"{ROWS[row].label} in {at_best} of {len(curves)} seeds")
        elif not texts:
            return ""
    return f"At its best at the last validation, so still improving: {', '.join(texts)}."


def explain_count(results: Results, row: str, metric: Metric) -> str:
    """Say whether a row predicts far more or fewer phrases than there are; "" if not."""
    predicted = on_reference_set(results, row, metric)
    gold = results.gold(results.reference, metric)
    if not gold or 0.67 < predicted / gold < 1.5:
        return ""
    kind: Side = "present" if metric == "num_present" else "absent"
    text = (
        f"{ROWS[row].label} predicts {predicted:.2f} {kind} phrases per document; "
        f"there are {gold:.2f}"
    )
    codes = results.codes(row, results.reference)
    if codes:
        null = fmean(code.null for code in codes[codes_by_side(len(codes))[kind]])
        text += f"; {null:.0%} of the output of its {kind} codes is ∅"
    repeated = on_reference_set(results, row, "duplication")
    return f"{text}, and {format_number(repeated, '.0%')} of its phrases are duplicates."


def explain_no_predictions(results: Results, *rows: str) -> str:
    """Say which rows predict nothing on the reference set; "" if none."""
    without = [ROWS[row].label for row in rows if not count_written(results, row)]
    if not without:
        return ""
    return f"No predictions by {' and '.join(without)}: there is nothing to compare."


def explain_bias(results: Results, metric: Metric) -> str:
    """Say what SetTrans reaches with a tuned bias on ∅, if that was measured."""
    if not results.has("settrans-bias"):
        return ""
    value = mean_over_sets(results, "settrans-bias", metric)
    return f"With a tuned bias on ∅ it has {SHORT[metric]} {value:.3f}."


def format_differences(results: Results, row: str, base: str, figures: Sequence[Metric]) -> str:
    """`present F1@M +0.014 [+0.002, +0.026], in 3 of 3 seeds; …`: differences on the reference set,
    and the number of common seeds in which they have the same sign, if there are several."""
    differences = results.differences(row, base, results.reference)
    parts = []
    for metric in figures:
        form = f"+{_choose_format(metric, *differences[metric][1:])}"
        mean, low, high = (format_number(number, form) for number in differences[metric])
        by_seed = results.seed_differences(row, base, results.reference, metric)
        same_sign = sum(difference * differences[metric].mean > 0 for difference in by_seed)
        seeds = f", in {same_sign} of {len(by_seed)} seeds" if len(by_seed) > 1 else ""
        parts.append(f"{SHORT[metric]} {mean} [{low}, {high}]{seeds}")
    return "; ".join(parts)


def explain_insignificance(
    results: Results, row: str, base: str, figures: Sequence[Metric], *, sign: Literal[1, -1] = 1
) -> str:
    """Say which differences on the reference set are not significantly positive, or negative if
    `sign` is −1; "" if all are."""
    differences = results.differences(row, base, results.reference)
    unclear, reverse = [], []
    for metric in figures:
        difference = differences[metric]
        if not difference.significant:
            unclear.append(SHORT[metric])
        elif sign * difference.mean < 0:
            reverse.append(SHORT[metric])
    interval = f"On {results.reference} the 95 % interval of the difference in"
    texts = [f"{interval} {', '.join(unclear)} contains 0."] if unclear else []
    if reverse:
        side = "below" if sign > 0 else "above"
        texts.append(f"{interval} {', '.join(reverse)} is {side} 0: the reverse is significant.")
    return " ".join(texts)


def join_reasons(*reasons: str) -> str:
    """Join the reasons that were found."""
    return " ".join(filter(None, reasons)) or "No reason could be computed from what was measured."
