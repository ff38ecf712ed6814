"""Metrics of rankings under a protocol: pure functions of arrays.

Letters: D documents, Q predictions of all documents end to end.
"""

from typing import NamedTuple

import numpy as np

from one2set.arrays import Floats, Ints
from one2set.evaluation.protocols import Protocol
from one2set.evaluation.rankings import Cutoff, Rankings

# --- Metrics of each document ---------------------------------------------------------------------


def _divide(numerator: Floats, denominator: Floats | Ints) -> Floats:
    """Elementwise division in which 0/0 is 0, as in the authors' evaluation."""
    safe = np.where(denominator == 0, 1, denominator)
    return np.where(denominator == 0, 0.0, numerator / safe)


def f1_score(precision: Floats, recall: Floats) -> Floats:
    """The harmonic mean of precision and recall; 0 where both are 0."""
    return _divide(2 * precision * recall, precision + recall)


def count_considered(rankings: Rankings, cutoff: Cutoff, *, padded: bool) -> Ints:
    """The denominator of precision.  (D,)

    Padded: k, as if the list were filled up with wrong predictions; 0 for an empty list. Otherwise:
    at most the length of the list.
    """
    depth = rankings.depth(cutoff)
    if padded:
        return np.where(rankings.num_predicted > 0, depth, 0)
    return np.minimum(depth, rankings.num_predicted)


def precision_recall(
    rankings: Rankings, cutoff: Cutoff, *, padded: bool = True
) -> tuple[Floats, Floats]:
    """P@k and R@k of each document.  (D,), (D,)"""
    matches = rankings.sum_top(rankings.hit, cutoff)
    considered = count_considered(rankings, cutoff, padded=padded)
    return _divide(matches, considered), _divide(matches, rankings.num_gold)


def average_precision(rankings: Rankings, cutoff: Cutoff) -> Floats:
    """AP@k: Σ over the hits in the first k of P at that rank, / #gold.  (D,)"""
    total = np.cumsum(rankings.hit)  # (Q,)
    before = (total - rankings.hit)[rankings.rank == 1]  # (documents with predictions,)
    hits_so_far = total - np.repeat(before, rankings.num_predicted[rankings.num_predicted > 0])
    precision_here = rankings.hit * hits_so_far / rankings.rank
    return _divide(rankings.sum_top(precision_here, cutoff), rankings.num_gold)


def ndcg(rankings: Rankings, cutoff: Cutoff) -> Floats:
    """NDCG@k: binary relevance, log2 discount; the ideal puts all hits of the list first.  (D,)"""
    hits = rankings.sum_top(rankings.hit, "M")  # (D,)
    ideal = (rankings.rank <= hits[rankings.document]).astype(np.float64)
    return _normalise_gains(rankings, rankings.hit, ideal, cutoff)


def alpha_ndcg(rankings: Rankings, cutoff: Cutoff) -> Floats:
    """α-NDCG@k, α = ½: a prediction is relevant to each gold phrase that contains it.  (D,)"""
    return _normalise_gains(rankings, rankings.novelty, rankings.ideal_novelty, cutoff)


def _normalise_gains(rankings: Rankings, gains: Floats, ideal: Floats, cutoff: Cutoff) -> Floats:
    discount = np.log2(rankings.rank + 1)
    gain = rankings.sum_top(gains / discount, cutoff)
    return _divide(gain, rankings.sum_top(ideal / discount, cutoff))


# --- Metrics of a set of documents ----------------------------------------------------------------


class MetricValues(NamedTuple):
    """The metrics of one group at one cutoff over a set of documents."""

    precision: float
    recall: float
    f1: float
    map: float
    ndcg: float
    alpha_ndcg: float


def compute_metrics(rankings: Rankings, cutoff: Cutoff, protocol: Protocol) -> MetricValues:
    """All metrics of a group at a cutoff."""
    sums = addends(rankings, cutoff, protocol).sum(axis=0)
    return MetricValues(*map(float, compute_from_sums(sums, protocol)))


def addends(rankings: Rankings, cutoff: Cutoff, protocol: Protocol) -> Floats:
    """The numerator and the denominator that each document adds to each metric.  (D, 6, 2)

    A metric of a set of documents, or of a bootstrap resample, is the ratio of the two sums over D.
    """
    precision, recall = precision_recall(rankings, cutoff, padded=protocol.padded)
    ones = np.ones_like(precision)
    pairs: list[tuple[Floats, Floats | Ints]]
    pairs = [(precision, ones), (recall, ones), (f1_score(precision, recall), ones)]
    if protocol.average == "micro":
        matches = rankings.sum_top(rankings.hit, cutoff)
        considered = count_considered(rankings, cutoff, padded=protocol.padded)
        pairs[:2] = [(matches, considered), (matches, rankings.num_gold)]
    # Ranking metrics are means over documents in every protocol.
    pairs += [(order(rankings, cutoff), ones) for order in (average_precision, ndcg, alpha_ndcg)]
    added = np.array(pairs, dtype=np.float64)  # (6, 2, D)
    if protocol.skip_without_gold:
        added *= rankings.num_gold > 0
    # Documents are contiguous in memory, so that sums run over them in order and agree with the
    # authors' evaluation bit for bit.
    return np.ascontiguousarray(added.transpose(2, 0, 1))


def compute_from_sums(sums: Floats, protocol: Protocol) -> Floats:
    """The metrics from summed addends (at least those of P, R and F1).  (…, 6, 2) → (6, …)"""
    metrics = np.moveaxis(_divide(sums[..., 0], sums[..., 1]), -1, 0)
    if protocol.average != "mean-f1":
        metrics[2] = f1_score(metrics[0], metrics[1])
    return metrics


class Counts(NamedTuple):
    """The mean number of phrases per document in a group, and its mean absolute error."""

    predicted: float  # #PK of the present group, #AK of the absent one
    gold: float
    mean_absolute_error: float
    documents_with_gold: int


def count_phrases(rankings: Rankings) -> Counts:
    """Count the phrases of a group, over all documents in every protocol."""
    documents = len(rankings.num_gold)
    errors = np.abs(rankings.num_predicted - rankings.num_gold)
    return Counts(
        predicted=int(rankings.num_predicted.sum()) / documents,
        gold=int(rankings.num_gold.sum()) / documents,
        mean_absolute_error=int(errors.sum()) / documents,
        documents_with_gold=int((rankings.num_gold > 0).sum()),
    )
