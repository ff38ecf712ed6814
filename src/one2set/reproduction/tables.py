"""The tables of the report: our numbers beside those of the paper."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import chain

from one2set.data.corpus.statistics import Statistics, compute_statistics, find_published_statistics
from one2set.reproduction.measure import CELLS, COUNTS, load_documents
from one2set.reproduction.page import PageTable, TableCell
from one2set.reproduction.plan import ROWS, STEPS, SYSTEM_ROWS, name_steps_row
from one2set.reproduction.published import (
    ORACLE,
    Metric,
    Value,
    get_published_value,
    load_published_speed,
)
from one2set.reproduction.results import Difference, Results

ABLATION_ROWS = (
    "settrans",
    "settrans-no-codes",
    "settrans-fixed",
    "settrans-random",
    "settrans-student",
    "settrans-single",
)
_BEYOND = {  # rows that are not in the paper, and the row that each changes
    "transformer-missing-eos": "transformer",
    "settrans-bias": "settrans",
    "settrans-beam": "settrans",
    "transformer-exclusive": "transformer",
    "exhird-exclusive": "exhird",
}
_F1S: dict[str, tuple[Metric, Metric]] = {
    "present": ("present_f1_5", "present_f1_m"),
    "absent": ("absent_f1_5", "absent_f1_m"),
}
_NAMES: dict[Metric, str] = {
    "present_f1_5": "F1@5",
    "present_f1_m": "F1@M",
    "absent_f1_5": "F1@5",
    "absent_f1_m": "F1@M",
    "num_present": "#PK",
    "num_absent": "#AK",
    "duplication": "Dup",
}
_NONE = "–"
_BASE = "transformer"  # whose speed the others are compared with


def _format_value(value: Value | None, metric: Metric) -> str:
    if value is None:
        return _NONE
    digits = 3 if metric in CELLS else 2
    deviation = "" if value.deviation is None else f" ± {value.deviation:.{digits}f}"
    return f"{value.mean:.{digits}f}{deviation}"


def _make_column(
    results: Results, rows: Sequence[str], split: str, metric: Metric, *, best: bool
) -> list[TableCell]:
    """The cells of some rows; our best value is in bold."""
    ours = [results.value(row, split, metric) for row in rows]
    top = max((value.mean for value in ours if value is not None), default=0.0)
    cells = []
    for row, value in zip(rows, ours, strict=True):
        known = get_published_value(row, split, metric)
        note = "" if known is None else _format_value(known, metric)
        strong = best and value is not None and value.mean == top > 0
        cells.append(TableCell(_format_value(value, metric), note, strong))
    return cells


def _make_table(
    results: Results,
    rows: Sequence[str],
    groups: Iterable[tuple[str, str, Sequence[Metric]]],  # title, set, metrics
    *,
    oracle: bool = False,
    ranked: bool = False,
) -> PageTable:
    """A table of metrics, ours beside the published ones; with `ranked`, its last row has the rank
    correlation of both over the systems. It has the rows that are measured, and none if there are
    no two to compare."""
    groups = list(groups)
    rows = [row for row in rows if results.has(row)]
    if len(rows) < 2:
        return PageTable([], [])
    columns = [
        [
            *([_make_oracle_cell(results, split, metric)] if oracle else []),
            *_make_column(results, rows, split, metric, best=metric in CELLS),
        ]
        for _, split, figures in groups
        for metric in figures
    ]
    labels = [*(["Oracle"] if oracle else []), *(ROWS[row].label for row in rows)]
    body: list[list[TableCell | str]] = [
        [label, *cells] for label, *cells in zip(labels, *columns, strict=True)
    ]
    correlations = _format_rank_correlations(results, rows, groups) if ranked else []
    if any(cell != _NONE for cell in correlations):
        body.append(["rank correlation", *correlations])
    return PageTable(
        columns=["", *(_NAMES[metric] for _, _, figures in groups for metric in figures)],
        rows=body,
        groups=[(title, len(figures)) for title, _, figures in groups],
    )


def _format_rank_correlations(
    results: Results, rows: Sequence[str], groups: Sequence[tuple[str, str, Sequence[Metric]]]
) -> list[TableCell | str]:
    correlations = [
        results.rank_correlation(rows, split, metric)
        for _, split, figures in groups
        for metric in figures
    ]
    return [_NONE if rho is None else f"{rho:+.2f}" for rho in correlations]


def _make_oracle_cell(results: Results, split: str, metric: Metric) -> TableCell:
    if metric not in ("num_present", "num_absent"):
        return TableCell(_NONE)
    known = get_published_value(ORACLE, split, metric)
    note = "" if known is None else _format_value(known, metric)
    return TableCell(f"{results.gold(split, metric):.2f}", note)


def tabulate_statistics(results: Results) -> PageTable:
    """Table 1: statistics of the test sets."""
    rows = []
    for split in results.splits:
        ours = _format_statistics(
            compute_statistics(load_documents(results.setup.corpus, split), name=split)
        )
        known = find_published_statistics(split)
        notes = _format_statistics(known) if known else [""] * len(ours)
        cells = [TableCell(text, note) for text, note in zip(ours, notes, strict=True)]
        rows.append([TableCell(split), *cells])
    return PageTable(["set", "samples", "#KP", "|KP|", "% absent"], rows)


def _format_statistics(row: Statistics) -> list[str]:
    averages = (row.phrases_per_document, row.words_per_phrase, row.absent_percent)
    return [f"{row.samples:,}", *(f"{value:.2f}" for value in averages)]


def tabulate_f1(results: Results, side: str) -> PageTable:
    """Tables 2 and 3: F1 of present or absent phrases."""
    groups = [(split, split, _F1S[side]) for split in results.splits]
    return _make_table(results, SYSTEM_ROWS, groups, ranked=True)


def tabulate_numbers(results: Results) -> PageTable:
    """Table 4: numbers of phrases, and duplication."""
    groups = [(split, split, COUNTS) for split in results.splits]
    return _make_table(results, SYSTEM_ROWS, groups, oracle=True, ranked=True)


def tabulate_ablations(results: Results) -> PageTable:
    """Table 5: the ablations, on the reference set."""
    return _make_table(
        results, ABLATION_ROWS, _list_table5_groups(results), oracle=True, ranked=True
    )


def _list_table5_groups(results: Results) -> list[tuple[str, str, Sequence[Metric]]]:
    split = results.reference
    return [
        ("Present", split, (*_F1S["present"], "num_present")),
        ("Absent", split, (*_F1S["absent"], "num_absent")),
        ("", split, ("duplication",)),
    ]


def tabulate_beyond(results: Results) -> PageTable:
    """Rows that are not in the paper, on the reference set: their gain and cost."""
    measured = [(base, row) for row, base in _BEYOND.items() if results.has(row, base)]
    rows = list(dict.fromkeys(chain.from_iterable(measured)))
    table = _make_table(results, rows, _list_table5_groups(results))
    changes = ["F1@M present", "F1@M absent", "time to train", "time to generate"]
    return PageTable(
        [*table.columns, *changes],
        [
            [*cells, *_compare_with_base(results, row)]
            for row, cells in zip(rows, table.rows, strict=True)
        ],
        [*table.groups, ("Compared with the row that it changes", len(changes))],
    )


def _compare_with_base(results: Results, row: str) -> list[str]:
    """The gain of a row in F1@M, and the ratios of its training and generation times."""
    if row not in _BEYOND:
        return [_NONE] * 4
    base = _BEYOND[row]
    differences = results.differences(row, base, results.reference)
    gains = [
        _format_difference(differences["present_f1_m"]),
        _format_difference(differences["absent_f1_m"]),
    ]
    trained = ROWS[row].decoding is None
    if not results.on_same_hardware(row, base):
        return [*gains, _NONE, _NONE]
    training = _format_slowdown(results.training_speed, row, base) if trained else _NONE
    return [*gains, training, _format_slowdown(results.generation_speed, row, base)]


def _format_slowdown(speed: Callable[[str], Value | None], row: str, base: str) -> str:
    mine, theirs = speed(row), speed(base)
    assert mine is not None
    assert theirs is not None
    return f"{theirs.mean / mine.mean:.2f}×"


def _format_difference(difference: Difference) -> str:
    return f"{difference.mean:+.3f}{'*' if difference.significant else ''}"


def tabulate_significance(results: Results, pairs: Iterable[tuple[str, str, str]]) -> PageTable:
    """Differences of F1 with intervals, for triples (row, base, set)."""
    rows: list[list[TableCell | str]] = []
    for row, base, split in pairs:
        if results.has(row, base):
            differences = results.differences(row, base, split)
            cells = [
                TableCell(
                    _format_difference(difference),
                    f"{difference.low:+.3f} to {difference.high:+.3f}",
                    strong=difference.significant,
                )
                for difference in (differences[metric] for metric in CELLS)
            ]
            rows.append([f"{ROWS[row].label} minus {ROWS[base].label}, {split}", *cells])
    groups = [("Present", 2), ("Absent", 2)]
    return PageTable(["", *(_NAMES[metric] for metric in CELLS)], rows, groups)


def tabulate_speeds(results: Results) -> PageTable:
    """Documents per second of CPU time, also relative to Transformer."""
    rows = [*SYSTEM_ROWS, *(name_steps_row(k) for k in STEPS if k != 2), "settrans-beam"]
    paper = load_published_speed()
    cells: list[list[TableCell | str]] = []
    for row in filter(results.has, rows):
        own = ROWS[row].decoding is None
        comparable = results.has(_BASE) and results.on_same_hardware(row, _BASE)
        train = (
            _format_speed(results.training_speed, row, paper.training, comparable=comparable)
            if own
            else [_NONE, _NONE]
        )
        generate = _format_speed(
            results.generation_speed, row, paper.generation, comparable=comparable
        )
        cells.append([ROWS[row].label, *train, *generate])
    columns = ["", "documents/s", "× Transformer", "documents/s", "× Transformer"]
    return PageTable(columns, cells, [("Training", 2), ("Generation", 2)])


def _format_speed(
    speed: Callable[[str], Value | None], row: str, paper: float, *, comparable: bool
) -> list[TableCell | str]:
    own, base = speed(row), speed(_BASE)
    assert own is not None
    ratio = f"{own.mean / base.mean:.2f}" if comparable and base is not None else _NONE
    return [f"{own.mean:.1f}", TableCell(ratio, f"{paper}" if row == "settrans" else "")]


def tabulate_jobs(results: Results) -> PageTable:
    """The examples, hours and parameters of each job."""
    rows = []
    for job_folder in (job_folder for row in ROWS for job_folder in results.rows.get(row, [])):
        record = job_folder.training_record()
        generated = sum(job_folder.measured(split).cpu_seconds for split in results.splits)
        rows.append(
            [
                job_folder.job.row.name,
                str(job_folder.job.seed),
                f"{record.examples_seen:,}",
                str(timedelta(seconds=round(record.seconds))),
                str(timedelta(seconds=round(record.cpu_seconds))),
                str(timedelta(seconds=round(generated))),
                f"{record.parameters / 1e6:.1f} M",
                f"{record.ended:%Y-%m-%d %H:%M}",
                ", ".join(filter(None, (record.machine, record.hardware))),
            ]
        )
    times = ["wall time", "CPU time", "generation, CPU time"]
    return PageTable(
        ["job", "seed", "examples", *times, "parameters", "ended (UTC)", "machine"], rows
    )
