"""All metrics of one or more systems on the same documents, with bootstrap intervals of F1.

Letters: D documents, S systems, C cells (`CELLS`), B resamples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from one2set.arrays import Floats
from one2set.evaluation.metrics import (
    Counts,
    MetricValues,
    addends,
    compute_from_sums,
    compute_metrics,
    count_phrases,
)
from one2set.evaluation.protocols import PROTOCOLS, Protocol
from one2set.evaluation.rankings import CUTOFFS, Cutoff
from one2set.evaluation.scoring import GROUPS, Gold, Group, Scores


class Cell(NamedTuple):
    """A group at a cutoff, such as present@5."""

    group: Group
    cutoff: Cutoff

    def __str__(self) -> str:
        return f"{self.group}@{self.cutoff}"


CELLS = tuple(Cell(group, cutoff) for group in GROUPS for cutoff in CUTOFFS)
# The names in tables and records, in the order of `MetricValues`.
METRIC_NAMES = ("P", "R", "F1", "MAP", "NDCG", "AlphaNDCG")
_MAX_ELEMENTS = 4_000_000  # of an array: 32 MB
_BOUNDS = (0.025, 0.975)


class Intervals(NamedTuple):
    """95 % confidence intervals (low, high) of each system's F1, and of its difference from the
    first."""

    f1: Floats  # (S, C, 2)
    difference: Floats  # (S, C, 2)


@dataclass(frozen=True, slots=True)
class SystemResult:
    """The metrics of one system."""

    name: str
    metrics: dict[str, dict[Cell, MetricValues]]  # by the protocol's name
    counts: dict[Group, Counts]
    num_read: int
    num_unique: int
    duplication: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems on the same documents. The intervals are of F1 in each cell, under `protocol`."""

    protocol: Protocol
    protocols: list[Protocol]
    num_documents: int
    systems: list[SystemResult]
    resamples: int
    intervals: Intervals | None  # None without resamples


def compare(
    systems: Mapping[str, Scores], protocol: Protocol, *, resamples: int, seed: int
) -> Comparison:
    """Compute all metrics under each protocol, and intervals from `resamples` resamples, if any."""
    protocols = list({**PROTOCOLS, protocol.name: protocol}.values())
    intervals = None
    if resamples:
        parts = [
            [addends(scores.groups[cell.group], cell.cutoff, protocol)[:, :3] for cell in CELLS]
            for scores in systems.values()
        ]
        stacked = np.stack([np.stack(cells, axis=1) for cells in parts], axis=1)
        intervals = paired_bootstrap(stacked, protocol, resamples=resamples, seed=seed)
    return Comparison(
        protocol=protocol,
        protocols=protocols,
        num_documents=len(next(iter(systems.values())).matched),
        systems=[_measure_system(name, scores, protocols) for name, scores in systems.items()],
        resamples=resamples,
        intervals=intervals,
    )


def _measure_system(name: str, scores: Scores, protocols: Sequence[Protocol]) -> SystemResult:
    return SystemResult(
        name=name,
        metrics={
            protocol.name: {
                cell: compute_metrics(scores.groups[cell.group], cell.cutoff, protocol)
                for cell in CELLS
            }
            for protocol in protocols
        },
        counts={group: count_phrases(scores.groups[group]) for group in GROUPS},
        num_read=int(scores.num_read.sum()),
        num_unique=int(scores.num_unique.sum()),
        duplication=scores.duplication,
    )


def to_record(comparison: Comparison) -> dict[str, object]:
    """The whole comparison as a JSON object, unrounded."""
    first, intervals = comparison.systems[0], comparison.intervals
    systems = []
    for at, system in enumerate(comparison.systems):
        record: dict[str, object] = {
            "name": system.name,
            "figures": {
                name: {
                    str(cell): dict(zip(METRIC_NAMES, values, strict=True))
                    for cell, values in cells.items()
                }
                for name, cells in system.metrics.items()
            },
            "#PK": system.counts["present"].predicted,
            "#AK": system.counts["absent"].predicted,
            "MAE": {group: counts.mean_absolute_error for group, counts in system.counts.items()},
            "Dup": system.duplication,
            "predictions": system.num_read,
            "unique_predictions": system.num_unique,
        }
        if intervals is not None:
            main = comparison.protocol.name
            record["F1_intervals"] = {
                str(cell): bounds.tolist()
                for cell, bounds in zip(CELLS, intervals.f1[at], strict=True)
            }
            record["F1_differences_to_first"] = {
                str(cell): {
                    "difference": system.metrics[main][cell].f1 - first.metrics[main][cell].f1,
                    "interval": bounds.tolist(),
                }
                for cell, bounds in zip(CELLS, intervals.difference[at], strict=True)
            }
        systems.append(record)
    return {
        "protocol": comparison.protocol.name,
        "protocols": {protocol.name: protocol.choices for protocol in comparison.protocols},
        "documents": comparison.num_documents,
        "resamples": comparison.resamples,
        "gold": {
            group: {"per_document": counts.gold, "documents_with_gold": counts.documents_with_gold}
            for group, counts in first.counts.items()
        },
        "systems": systems,
    }


def iterate_document_records(
    golds: Sequence[Gold], scores: Scores, protocol: Protocol
) -> Iterator[dict[str, object]]:
    """For each document: its unique valid predictions, which of them are correct, its metrics."""
    # The metrics of a single document do not depend on how documents are averaged.
    own = replace(protocol, average="mean-f1")
    metrics_of = {
        str(cell): addends(scores.groups[cell.group], cell.cutoff, own)[:, :, 0]  # (D, 6)
        for cell in CELLS
    }
    for at, (gold, matched) in enumerate(zip(golds, scores.matched, strict=True)):
        predictions = zip(matched.phrases, matched.present, matched.hits, strict=True)
        yield {
            "document": at + 1,
            "id": gold.id,
            "gold": {"present": gold.of("present"), "absent": gold.of("absent")},
            "predictions": [
                {"stems": stems, "present": present, "correct": hit}
                for stems, present, hit in predictions
            ],
            "predictions_read": matched.num_read,
            "unique_predictions": matched.num_unique,
            **{
                cell: dict(zip(METRIC_NAMES, metrics_of[cell][at].tolist(), strict=True))
                for cell in metrics_of
            },
        }


def paired_bootstrap(
    addends: Floats, protocol: Protocol, *, resamples: int, seed: int
) -> Intervals:
    """Confidence intervals by paired bootstrap, from addends (D, S, C, 3, 2) of P, R and F1.

    Each resample draws D documents with replacement, the same ones for every system, so that the
    difficulty of the documents cancels in differences. Metrics are ratios of sums over documents
    (`metrics.addends`), so a resample is one row of a matrix product.
    """
    drawn = np.concatenate(
        [
            compute_from_sums(sums, protocol)[2]
            for sums in resample_sums(addends, resamples=resamples, seed=seed)
        ]
    )  # (B, S, C)
    return Intervals(interval(drawn), interval(drawn - drawn[:, :1]))


def resample_sums(addends: Floats, *, resamples: int, seed: int) -> Iterator[Floats]:
    """The sums of addends (D, …) over the documents of each resample, some resamples at a time:
    (b, …)."""
    documents = len(addends)
    flat = addends.reshape(documents, -1)
    generator = np.random.default_rng(seed)
    chunk = max(1, _MAX_ELEMENTS // documents)
    for start in range(0, resamples, chunk):
        times_drawn = np.array(
            [
                np.bincount(generator.integers(documents, size=documents), minlength=documents)
                for _ in range(min(chunk, resamples - start))
            ],
            dtype=np.float64,
        )  # (b, D)
        yield (times_drawn @ flat).reshape(-1, *addends.shape[1:])


def interval(drawn: Floats) -> Floats:
    """The 95 % interval of resampled values: (B, …) → (…, 2)."""
    return np.moveaxis(np.quantile(drawn, _BOUNDS, axis=0), 0, -1)
