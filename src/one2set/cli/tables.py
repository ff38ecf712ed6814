"""Tables of corpora and models for the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from one2set.data.control_codes import SIDES
from one2set.data.corpus.statistics import Statistics

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Manifest  # which needs pyarrow, and statistics do not
    from one2set.keyphrases.calibration import Calibration
    from one2set.keyphrases.tuning import CalibrationCheck


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def statistics_table(rows: Sequence[tuple[Statistics, Statistics | None]]) -> Table:
    """Table 1: each set, and under it what the paper printed."""
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
    """What a corpus holds, and what was left out of it."""
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


def calibration_table(calibration: "Calibration", check: "CalibrationCheck") -> Table:
    """The operating point of each side, and its measured quality."""
    table = _table(
        "Calibration",
        "phrases",
        *(
            "∅ bias",
            "threshold",
            "gold factor",
            "F1 before",
            "F1 after",
            "shown",
            "right",
            "mean score",
        ),
        "off by",
    )
    for side in SIDES:
        half = getattr(calibration, side)
        chosen = check.present == (side == "present")
        shown = max(int(chosen.sum()), 1)
        table.add_row(
            side,
            f"{half.null_bias:+.1f}",
            f"{half.threshold:.3f}",
            "–" if half.expected_gold_factor is None else f"{half.expected_gold_factor:.1f}",
            f"{check.before[side]:.4f}",
            f"{check.after[side]:.4f}",
            f"{int(chosen.sum()):,}",
            f"{check.correct[chosen].sum() / shown:.3f}",
            f"{check.probabilities[chosen].sum() / shown:.3f}",
            f"{check.calibration_error(side):.3f}",
        )
    parts = "left out" if calibration.drop_subphrases else "kept"
    table.caption = (
        "F1: mean of F1@5 and F1@M. Figures are of documents left out of the tuning. "
        f"Parts of more probable phrases are {parts}."
    )
    return table
