"""What claims are judged by: numbers in words, and what can be computed of a reason."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from one2set.reproduction.plan import ROWS
from one2set.reproduction.published import Figure
from one2set.reproduction.results import Results

SHORT: dict[Figure, str] = {
    "present_f1_5": "present F1@5",
    "present_f1_m": "present F1@M",
    "absent_f1_5": "absent F1@5",
    "absent_f1_m": "absent F1@M",
    "num_present": "#PK",
    "num_absent": "#AK",
    "duplication": "Dup",
}


def mean(results: Results, row: str, figure: Figure) -> float:
    """Over all sets and seeds; not a number, by which no comparison holds, where there is none."""
    assert results.has(row)
    value = results.average(row, figure)
    return math.nan if value is None else value.mean


def here(results: Results, row: str, figure: Figure) -> float:
    """On the reference set, over seeds; not a number where there is none."""
    assert results.has(row)
    value = results.value(row, results.reference, figure)
    return math.nan if value is None else value.mean


def phrases_written(results: Results, row: str) -> float:
    """Phrases a document on the reference set, repeated ones too."""
    said = here(results, row, "num_present") + here(results, row, "num_absent")
    return said / (1 - here(results, row, "duplication")) if said else 0.0


def shown(value: float, form: str) -> str:
    """A number, or that there is none."""
    return "–" if math.isnan(value) else format(value, form)


def _form(figure: Figure) -> str:
    return ".3f" if "f1" in figure else ".2f"


def against(
    results: Results,
    rows: Sequence[str],
    figures: Sequence[Figure],
    of: Callable[[Results, str, Figure], float],
) -> str:
    """`present F1@M 0.312 and 0.298; …`, row beside row."""
    told = []
    for figure in figures:
        values = [shown(of(results, row, figure), _form(figure)) for row in rows]
        told.append(f"{SHORT[figure]} {' and '.join(values)}")
    return f"{' and '.join(ROWS[row].label for row in rows)}: {'; '.join(told)}"


def still_learning(results: Results, row: str) -> str:
    """Whether a row was at its best when its training ended."""
    curves = results.curves(row, "f1")
    at_best = sum(curve.values[-1] > max(curve.values[:-1], default=1.0) for curve in curves)
    if not curves or not at_best:
        return ""
    return (
        f"{ROWS[row].label} was at its best at the last validation of {at_best} of {len(curves)} "
        "seeds: it had not learnt all it can."
    )


def number_said(results: Results, row: str, figure: Figure) -> str:
    """Whether a row says far more or fewer phrases than there are."""
    said = here(results, row, figure)
    gold = results.gold(results.reference, figure)
    if not gold or 0.67 < said / gold < 1.5:
        return ""
    kind = "present" if figure == "num_present" else "absent"
    told = (
        f"{ROWS[row].label} says {said:.2f} {kind} phrases a document, where there are {gold:.2f}"
    )
    codes = results.codes(row, results.reference)
    half = codes[: len(codes) // 2] if figure == "num_present" else codes[len(codes) // 2 :]
    if half:
        told += f"; {fmean(one.null for one in half):.0%} of what its {kind} codes say is ∅"
    repeated = here(results, row, "duplication")
    return f"{told}, and {shown(repeated, '.0%')} of its phrases are repeated."


def silence(results: Results, *rows: str) -> str:
    """Who says nothing at all on the reference set."""
    silent = [ROWS[row].label for row in rows if not phrases_written(results, row)]
    return f"Nothing is said by {' or '.join(silent)}: there is nothing to compare." * bool(silent)


def with_bias(results: Results, figure: Figure) -> str:
    if not results.has("settrans-bias"):
        return ""
    value = mean(results, "settrans-bias", figure)
    return f"With a tuned bias on ∅ it has {SHORT[figure]} {value:.3f}."


def noise(results: Results, row: str, base: str, figures: Sequence[Figure]) -> str:
    found = results.differences(row, base, results.reference)
    unsure = [SHORT[figure] for figure in figures if not found[figure].sure]
    if not unsure:
        return ""
    return f"On {results.reference} the difference in {', '.join(unsure)} may be chance."


def reasons(*found: str) -> str:
    return " ".join(filter(None, found)) or "No reason could be computed from what was measured."
