"""Tables of corpora, models and jobs, for terminals and for programs."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from rich.table import Table

from one2set.cli.console import as_word, out
from one2set.data.corpus.statistics import Statistics

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Manifest  # needs pyarrow
    from one2set.keyphrases.calibration import Calibration
    from one2set.keyphrases.reliability import CalibrationCheck, CrossValidation
    from one2set.reproduction.execution import Plan


def _print(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> None:
    """Print a table with borders on a terminal; elsewhere aligned columns under a `#` heading,
    without spaces in cells, that awk and pandas can read."""
    if out.is_terminal:
        table = Table(title=title, caption=caption, title_justify="left", title_style="bold")
    else:
        table = Table(box=None, pad_edge=False)
        columns = [as_word(column) for column in columns]
        rows = [[as_word(cell) for cell in row] for row in rows]
        out.print(f"# {title}")
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        table.add_row(*row)
    out.print(table)
    if caption and not out.is_terminal:
        out.print(f"# {caption}", soft_wrap=True)


def print_statistics(rows: Sequence[tuple[Statistics, Statistics | None]]) -> None:
    """Table 1: each set, with the paper's row below it."""
    lines = []
    for measured, known in rows:
        lines.append((measured.name, *_cells(measured)))
        if known is not None:
            lines.append((f"  {known.name} in the paper", *_cells(known)))
    _print("Table 1", ("set", "samples", "#KP", "|KP|", "% absent"), lines)


def _cells(row: Statistics) -> tuple[str, ...]:
    averages = (row.phrases_per_document, row.words_per_phrase, row.absent_percent)
    return (f"{row.samples:,}", *(f"{value:.2f}" for value in averages))


def print_jobs(plan: "Plan") -> None:
    """The jobs of a plan, with the time that each will take."""
    forecast, done = plan.forecast(), {job_folder.job.name for job_folder in plan.done()}
    rows = []
    for name, job_folder in plan.jobs.items():
        job = job_folder.job
        rows.append(
            (
                job.row.name,
                str(job.seed),
                job.before.row.name if job.before else "-",
                f"{job.num_examples:,}",
                "done" if name in done else _format_seconds(forecast.seconds(job)),
            )
        )
    left = forecast.total(
        (job_folder.job, 0) for name, job_folder in plan.jobs.items() if name not in done
    )
    _print(
        "Jobs",
        ("row", "seed", "after", "examples", "time"),
        rows,
        caption=f"{len(plan.jobs)} jobs, {len(done)} of them done; {plan.num_examples:,} examples; "
        f"left: {'unknown until a job is done' if left is None else _format_seconds(left)}",
    )


def _format_seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else str(timedelta(seconds=round(seconds)))


def print_manifest(manifest: "Manifest") -> None:
    """The splits of a corpus, and the documents that were dropped."""
    _print(
        "Splits",
        ("split", "read", "kept", "words/doc", "#KP", "% absent"),
        _split_rows(manifest),
        caption=f"vocabulary: {manifest.vocabulary_size:,}",
    )
    dropped = [
        (name, reason, f"{count:,}")
        for name, split in manifest.splits.items()
        for reason, count in split.dropped.items()
    ]
    if dropped:
        _print("Left out", ("split", "why", "count"), dropped)


def _split_rows(manifest: "Manifest") -> Iterator[tuple[str, ...]]:
    for name, split in manifest.splits.items():
        phrases = split.present + split.absent
        yield (
            name,
            f"{split.read:,}",
            f"{split.documents:,}",
            f"{split.source_words / max(split.documents, 1):.1f}",
            f"{phrases / max(split.documents, 1):.2f}",
            f"{100 * split.absent / max(phrases, 1):.2f}",
        )


def print_calibration(calibration: "Calibration", check: "CrossValidation") -> None:
    """The operating points of each side, and their measured quality."""
    overlaps = ("part", "head", "word", "abbr.")
    _print(
        "Calibration",
        ("phrases", "∅ bias", "threshold", "gold factor", "floor", *overlaps),
        _operating_points(calibration),
        f"Diversity at f1: {calibration.diversity:.2f}. Floor: minimum score at shown. Part, head, "
        "word, abbr.: change of log odds if a phrase is part of a chosen one or contains it, has "
        "the same last word, shares another word, or abbreviates it.",
    )
    _print(
        "Cross-validation",
        ("phrases", "F1 before", "F1 after", "shown", "correct", "mean score", "ECE"),
        _quality(calibration, check),
        "F1: mean of F1@5 and F1@M. ECE: expected calibration error. Measured on documents left "
        "out of the tuning, at the operating points f1 (best F1) and shown (for readers); joined: "
        "related documents joined to long texts.",
    )


def _operating_points(calibration: "Calibration") -> Iterator[tuple[str, ...]]:
    from one2set.keyphrases.tuning import KINDS_OF_OVERLAP

    for name, side in calibration.sides.items():
        yield (
            name,
            f"{side.null_bias:+.1f}",
            f"{side.threshold:.3f}",
            "–" if side.expected_gold_factor is None else f"{side.expected_gold_factor:.1f}",
            f"{side.floor:.3f}",
            *(f"{side.overlap.get(kinds[0], 0.0):+.2f}" for kinds in KINDS_OF_OVERLAP),
        )


def _quality(calibration: "Calibration", check: "CrossValidation") -> Iterator[tuple[str, ...]]:
    for point in ("f1", "shown", "joined"):
        figures: CalibrationCheck = getattr(check, point)
        for side_name in calibration.sides:
            chosen = figures.present == (side_name == "present")
            shown = max(int(chosen.sum()), 1)
            f1 = (f"{figures.before[side_name]:.4f}", f"{figures.after[side_name]:.4f}")
            yield (
                f"{side_name}, {point}",
                *(f if point != "joined" else "–" for f in f1),
                f"{int(chosen.sum()):,}",
                f"{figures.correct[chosen].sum() / shown:.3f}",
                f"{figures.probabilities[chosen].sum() / shown:.3f}",
                f"{figures.calibration_error(side_name):.3f}",
            )
