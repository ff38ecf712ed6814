"""Tables of corpora and models for the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from one2set.data.corpus.statistics import Statistics

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Manifest  # needs pyarrow
    from one2set.keyphrases.calibration import Calibration
    from one2set.keyphrases.reliability import CalibrationCheck, CrossValidation


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def statistics_table(rows: Sequence[tuple[Statistics, Statistics | None]]) -> Table:
    """Table 1: each set, with the paper's row below it."""
    table = _table("Table 1", "set", "samples", "#KP", "|KP|", "% absent")
    for measured, known in rows:
        table.add_row(measured.name, *_cells(measured))
        if known is not None:
            table.add_row(f"  {known.name} in the paper", *_cells(known), style="dim")
    return table


def _cells(row: Statistics) -> tuple[str, ...]:
    averages = (row.phrases_per_document, row.words_per_phrase, row.absent_percent)
    return (f"{row.samples:,}", *(f"{value:.2f}" for value in averages))


def manifest_tables(manifest: "Manifest") -> Iterator[Table]:
    """The splits of a corpus, and the documents that were dropped."""
    table = _table("Splits", "split", "read", "kept", "words/doc", "#KP", "% absent")
    for name, split in manifest.splits.items():
        phrases = split.present + split.absent
        table.add_row(
            name,
            f"{split.read:,}",
            f"{split.documents:,}",
            f"{split.source_words / max(split.documents, 1):.1f}",
            f"{phrases / max(split.documents, 1):.2f}",
            f"{100 * split.absent / max(phrases, 1):.2f}",
        )
    table.caption = f"vocabulary: {manifest.vocabulary_size:,}"
    yield table
    dropped = [
        (name, reason, count)
        for name, split in manifest.splits.items()
        for reason, count in split.dropped.items()
    ]
    if dropped:
        table = _table("Left out", "split", "why", "count")
        for name, reason, count in dropped:
            table.add_row(name, reason, f"{count:,}")
        yield table


def calibration_tables(calibration: "Calibration", check: "CrossValidation") -> Iterator[Table]:
    """The operating points of each side, and their measured quality."""
    from one2set.keyphrases.tuning import KINDS_OF_OVERLAP

    names = ("∅ bias", "threshold", "gold factor", "floor", "part", "head", "word", "abbr.")
    table = _table("Calibration", "phrases", *names)
    for name, side in calibration.sides.items():
        table.add_row(
            name,
            f"{side.null_bias:+.1f}",
            f"{side.threshold:.3f}",
            "–" if side.expected_gold_factor is None else f"{side.expected_gold_factor:.1f}",
            f"{side.floor:.3f}",
            *(f"{side.overlap.get(kinds[0], 0.0):+.2f}" for kinds in KINDS_OF_OVERLAP),
        )
    table.caption = (
        f"Diversity at f1: {calibration.diversity:.2f}. Floor: minimum score at shown. Part, head, "
        "word, abbr.: change of log odds if a phrase is part of a chosen one or contains it, has "
        "the same last word, shares another word, or abbreviates it."
    )
    yield table
    table = _table(
        "Cross-validation", "phrases", *("F1 before", "F1 after", "shown", "correct", "mean score")
    )
    table.add_column("ECE", justify="right")
    for point in ("f1", "shown", "joined"):
        figures: CalibrationCheck = getattr(check, point)
        for side_name in calibration.sides:
            chosen = figures.present == (side_name == "present")
            shown = max(int(chosen.sum()), 1)
            f1 = (f"{figures.before[side_name]:.4f}", f"{figures.after[side_name]:.4f}")
            table.add_row(
                f"{side_name}, {point}",
                *(f if point != "joined" else "–" for f in f1),
                f"{int(chosen.sum()):,}",
                f"{figures.correct[chosen].sum() / shown:.3f}",
                f"{figures.probabilities[chosen].sum() / shown:.3f}",
                f"{figures.calibration_error(side_name):.3f}",
            )
    table.caption = (
        "F1: mean of F1@5 and F1@M. ECE: expected calibration error. Measured on documents left "
        "out of the tuning, at the operating points f1 (best F1) and shown (for readers); joined: "
        "related documents joined to long texts."
    )
    yield table
