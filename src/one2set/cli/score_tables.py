"""Tables of scores, for terminals and for programs."""

import sys
from shutil import get_terminal_size

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from one2set.cli.console import as_word
from one2set.cli.safe_console import SafeConsole
from one2set.evaluation.comparison import CELLS, METRIC_NAMES, Comparison
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.rankings import CUTOFFS
from one2set.evaluation.scoring import GROUPS

_WIDE = 400  # columns: a narrow terminal wraps lines, but no number is truncated
_NARROW = 90  # columns
_SHORT = [cell for cell in CELLS if cell.cutoff in ("5", "M")]  # the columns that papers print


def print_tables(comparison: Comparison) -> None:
    """Print coloured tables on a terminal; elsewhere aligned columns under `#` headings, without
    spaces in cells, that awk and pandas can read."""
    console = SafeConsole(width=_WIDE)
    first = comparison.systems[0]
    with_gold = {group: first.counts[group].documents_with_gold for group in GROUPS}
    _print(console, f"{comparison.protocol.name}: {', '.join(comparison.protocol.choices)}", "bold")
    _print(
        console,
        f"{comparison.num_documents} documents, {with_gold['present']} with present gold, "
        f"{with_gold['absent']} with absent gold",
    )
    if len(comparison.systems) == 1:
        console.print(_figures_table(console, comparison))
    else:
        console.print(_comparison_table(console, comparison))
        _print(console, f"difference: to {first.name}; *: its interval leaves out 0")
    if comparison.intervals is not None:
        resamples = f"{comparison.resamples} paired bootstrap resamples"
        _print(console, f"low, high: 95 % interval, {resamples}")
    console.print()
    _print(console, "Phrases per document, mean absolute error of their number, duplicates", "bold")
    console.print(_counts_table(console, comparison))
    console.print()
    _print(console, "F1 under each protocol", "bold")
    console.print(_protocols_table(console, comparison))
    for protocol in comparison.protocols:
        differs = [choice for choice in protocol.choices if choice not in YE2021.choices]
        if differs:
            _print(console, f"{protocol.name}: {', '.join(differs)}")


def _print(console: Console, text: str, style: str = "dim") -> None:
    """Print a line outside a table."""
    console.print(Text(text if console.is_terminal else f"# {text}", style=style))


def _table(console: Console, *columns: str) -> Table:
    gap = 0 if _is_narrow() else 1
    table = Table(
        box=box.SIMPLE_HEAD if console.is_terminal else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, gap, 0, 0) if console.is_terminal else (0, 1),
        header_style="bold cyan",
    )
    for column in columns:
        table.add_column(column, no_wrap=True, style="bold" if column == "F1" else None)
    return table


_NONE = "-"


def _shown(value: float) -> str:
    """Five significant digits, as the authors print; on a narrow terminal five decimals, so that
    small figures need no more room than others."""
    return f"{value:.5f}" if sys.stdout.isatty() and _is_narrow() else f"{value:.5}"


def _is_narrow() -> bool:
    return get_terminal_size().columns < _NARROW


def _figures_table(console: Console, comparison: Comparison) -> Table:
    system, intervals = comparison.systems[0], comparison.intervals
    bounds = ("low", "high") if intervals else ()
    table = _table(console, "group", "k", *METRIC_NAMES[:3], *bounds, *METRIC_NAMES[3:])
    for at, cell in enumerate(CELLS):
        values = list(system.metrics[comparison.protocol.name][cell])
        if intervals:
            values[3:3] = intervals.f1[0, at]
        last = cell.cutoff == CUTOFFS[-1]
        table.add_row(cell.group, cell.cutoff, *map(_shown, values), end_section=last)
    return table


def _comparison_table(console: Console, comparison: Comparison) -> Table:
    main, intervals = comparison.protocol.name, comparison.intervals
    bounds = ("low", "high") if intervals else ()
    table = _table(console, "group", "k", "system", "F1", *bounds, "difference", *bounds, "")
    for cell in _SHORT:
        at = CELLS.index(cell)
        first = comparison.systems[0].metrics[main][cell].f1
        for row, system in enumerate(comparison.systems):
            f1 = system.metrics[main][cell].f1
            values, difference, sure = [f1], [f1 - first], ""
            if intervals:
                low, high = intervals.difference[row, at]
                values += [*intervals.f1[row, at]]
                difference += [low, high]
                sure = "*" if low > 0 or high < 0 else ""
            table.add_row(
                cell.group,
                cell.cutoff,
                as_word(system.name),
                *map(_shown, values),
                *(map(_shown, difference) if row else [_NONE] * len(difference)),
                sure,
                end_section=row == len(comparison.systems) - 1,
            )
    return table


def _counts_table(console: Console, comparison: Comparison) -> Table:
    errors = [f"MAE-{group}" for group in GROUPS]
    table = _table(console, "system", "#PK", "#AK", "#all", *errors, "Dup")
    gold = comparison.systems[0].counts
    table.add_row("(gold)", *(_shown(gold[group].gold) for group in GROUPS), *[_NONE] * 4)
    for system in comparison.systems:
        predicted = [system.counts[group].predicted for group in GROUPS]
        missed = [system.counts[group].mean_absolute_error for group in GROUPS]
        values = [*predicted, *missed, system.duplication]
        table.add_row(as_word(system.name), *map(_shown, values))
    return table


def _protocols_table(console: Console, comparison: Comparison) -> Table:
    several = len(comparison.systems) > 1
    system_column = ("system",) if several else ()
    table = _table(console, "protocol", *system_column, *map(str, _SHORT))
    for protocol in comparison.protocols:
        for row, system in enumerate(comparison.systems):
            scores = [system.metrics[protocol.name][cell].f1 for cell in _SHORT]
            label = (as_word(system.name),) if several else ()
            table.add_row(
                protocol.name,
                *label,
                *map(_shown, scores),
                end_section=several and row == len(comparison.systems) - 1,
            )
    return table
