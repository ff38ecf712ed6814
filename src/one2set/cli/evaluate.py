"""`one2set evaluate`: score prediction files against gold, exactly as the field does."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import orjson
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from one2set.atomic import complete_file
from one2set.errors import ConfigError
from one2set.evaluation.comparison import CELLS, FIGURE_NAMES, Comparison, as_json, compare
from one2set.evaluation.inputs import read_gold, read_pair, read_predictions
from one2set.evaluation.metrics import CUTOFFS, GROUPS, addends
from one2set.evaluation.protocols import PROTOCOLS, YE2021, Protocol, protocol_named
from one2set.evaluation.scoring import Gold, Scores, score

_WIDE = 400  # columns: a narrow terminal may wrap lines, but no number is cut
_SHORT = [cell for cell in CELLS if cell.cutoff in ("5", "M")]  # those that papers print


def evaluate(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GOLD PREDICTIONS",
            help="A file of documents with keyphrases (JSONL, CSV, Parquet, …), then one file of "
            'predictions for each system: JSONL lines {"id": …, "keyphrases": […]}, best first, or '
            "text lines a;b;c.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Text pair: lines `title <eos> abstract`.", show_default=False
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Text pair: lines of gold phrases `a;b;c`.", show_default=False
        ),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Text pair: a system's predictions, lines `a;b;c`, best first. Give it again for "
            "each further system.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help=f"How figures are averaged: {', '.join(PROTOCOLS)}, or several joined by +. "
            "The others are shown beside it."
        ),
    ] = YE2021.name,
    json: Annotated[
        bool, typer.Option("--json", help="Write one JSON object with every figure, unrounded.")
    ] = False,
    per_document: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write this JSONL file: for each document and system what was predicted, "
            "what of it was correct, and its figures.",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(help="Resamples for the 95 % intervals of F1; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 0,
) -> None:
    """Score predicted keyphrases: P, R and F1 @5, @10, @M and @O, MAP, NDCG, counts, duplicates.

    Several prediction files are compared with the first one by paired bootstrap.
    """
    if bootstrap < 0 or seed < 0:
        raise ConfigError(f"--bootstrap is {bootstrap}, --seed is {seed}; expected 0 or more")
    chosen = protocol_named(protocol)
    golds, paths = _inputs(files or [], source, target, predictions or [])
    systems = {
        name: score(golds, read_predictions(path, golds)) for name, path in _names(paths).items()
    }
    comparison = compare(systems, chosen, resamples=bootstrap, seed=seed)
    if per_document is not None:
        _write_per_document(per_document, golds, systems, chosen)
    if json:
        sys.stdout.write(orjson.dumps(as_json(comparison), option=orjson.OPT_INDENT_2).decode())
        sys.stdout.write("\n")
    else:
        _print_tables(comparison)


def _inputs(
    files: Sequence[str], source: str | None, target: str | None, predictions: Sequence[str]
) -> tuple[list[Gold], Sequence[str]]:
    """The gold and the paths of the predictions, from either form of the command."""
    if source and target and predictions and not files:
        return read_pair(source, target), predictions
    if len(files) > 1 and not (source or target or predictions):
        return read_gold(files[0]), files[1:]
    given = [
        *files,
        *(name for name, value in (("--source", source), ("--target", target)) if value),
    ]
    given += ["--predictions"] * len(predictions)
    raise ConfigError(
        f"got {' '.join(given) or 'no files'}; expected either GOLD PREDICTIONS... or "
        "--source FILE --target FILE --predictions FILE..."
    )


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Short names of the systems: the file's name, its whole path where two have the same."""
    names = [Path(path).name for path in paths]
    short = len(set(names)) == len(names)
    named = dict(zip(names if short else paths, paths, strict=True))
    if len(named) != len(paths):
        raise ConfigError(f"a file of predictions is given twice among {', '.join(paths)}")
    return named


def _write_per_document(
    path: Path, golds: Sequence[Gold], systems: Mapping[str, Scores], protocol: Protocol
) -> None:
    # A document's own figures do not depend on how those of all are averaged.
    own = replace(protocol, average="mean-f1", skip_without_gold=False)
    with complete_file(path) as file:
        for name, scores in systems.items():
            figures = {
                cell: addends(scores.groups[cell.group], cell.cutoff, own)[:, :, 0]  # (D, 6)
                for cell in CELLS
            }
            for at, (gold, judged) in enumerate(zip(golds, scores.judged, strict=True)):
                record: dict[str, object] = {
                    "system": name,
                    "document": at + 1,
                    "id": gold.id,
                    "predictions": [
                        {"stems": stems, "present": present, "correct": hit}
                        for stems, present, hit in zip(
                            judged.phrases, judged.present, judged.hits, strict=True
                        )
                    ],
                    "predictions_read": judged.num_read,
                    "unique_predictions": judged.num_unique,
                    "gold": {group: gold.phrases[group] for group in ("present", "absent")},
                }
                for cell, columns in figures.items():
                    record[str(cell)] = dict(zip(FIGURE_NAMES, columns[at].tolist(), strict=True))
                file.write(orjson.dumps(record) + b"\n")


# --- Tables ---------------------------------------------------------------------------------------


def _print_tables(comparison: Comparison) -> None:
    """Tables with a rule and colour on a terminal; elsewhere aligned columns without blanks in a
    cell, under `#` headings, that awk and pandas can read."""
    console = Console(highlight=False, width=_WIDE)
    first = comparison.systems[0]
    with_gold = {group: first.counts[group].documents_with_gold for group in GROUPS}
    _print_heading(
        console,
        f"{comparison.protocol.name}: {', '.join(comparison.protocol.choices)}",
        f"{comparison.num_documents} documents, {with_gold['present']} with present gold, "
        f"{with_gold['absent']} with absent gold",
    )
    if len(comparison.systems) == 1:
        console.print(_figures_table(console, comparison))
    else:
        console.print(_comparison_table(console, comparison))
        _print_heading(console, "", f"difference: to {first.name}; *: its interval leaves out 0")
    if comparison.intervals is not None:
        resamples = f"{comparison.resamples} paired bootstrap resamples"
        _print_heading(console, "", f"low, high: 95 % interval, {resamples}")
    _print_heading(console, "Phrases per document, mean absolute error of their number, duplicates")
    console.print(_counts_table(console, comparison))
    _print_heading(console, "F1 under each protocol")
    console.print(_protocols_table(console, comparison))
    for protocol in comparison.protocols:
        differs = [choice for choice in protocol.choices if choice not in YE2021.choices]
        if differs:
            _print_heading(console, "", f"{protocol.name}: {', '.join(differs)}")


def _print_heading(console: Console, heading: str, more: str = "") -> None:
    mark = "" if console.is_terminal else "# "
    if heading:
        console.print()
        console.print(Text(f"{mark}{heading}", style="bold"))
    if more:
        console.print(Text(f"{mark}{more}", style="dim"))


def _table(console: Console, *columns: str) -> Table:
    gap = 0 if get_terminal_size().columns < 90 else 1
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
    return f"{value:.5}"  # five significant digits, as the authors print


def _figures_table(console: Console, comparison: Comparison) -> Table:
    system, intervals = comparison.systems[0], comparison.intervals
    bounds = ("low", "high") if intervals else ()
    table = _table(console, "group", "k", *FIGURE_NAMES[:3], *bounds, *FIGURE_NAMES[3:])
    for at, cell in enumerate(CELLS):
        values = list(system.figures[comparison.protocol.name][cell])
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
        first = comparison.systems[0].figures[main][cell].f1
        for row, system in enumerate(comparison.systems):
            f1 = system.figures[main][cell].f1
            values, difference, sure = [f1], [f1 - first], ""
            if intervals:
                low, high = intervals.difference[row, at]
                values += [*intervals.f1[row, at]]
                difference += [low, high]
                sure = "*" if low > 0 or high < 0 else ""
            table.add_row(
                cell.group,
                cell.cutoff,
                _word(system.name),
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
        table.add_row(_word(system.name), *map(_shown, values))
    return table


def _protocols_table(console: Console, comparison: Comparison) -> Table:
    several = len(comparison.systems) > 1
    system_column = ("system",) if several else ()
    table = _table(console, "protocol", *system_column, *map(str, _SHORT))
    for protocol in comparison.protocols:
        for row, system in enumerate(comparison.systems):
            found = [system.figures[protocol.name][cell].f1 for cell in _SHORT]
            label = (_word(system.name),) if several else ()
            table.add_row(
                protocol.name,
                *label,
                *map(_shown, found),
                end_section=several and row == len(comparison.systems) - 1,
            )
    return table


def _word(name: str) -> str:
    """A system's name without blanks, so that columns stay countable."""
    return "_".join(name.split())
