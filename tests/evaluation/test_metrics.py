"""Each metric equals its textbook definition, one document at a time, in plain Python."""

from math import log2
from random import Random

import numpy as np
import pytest

from one2set.evaluation.metrics import (
    MetricValues,
    addends,
    alpha_ndcg,
    average_precision,
    compute_from_sums,
    compute_metrics,
    count_phrases,
    ndcg,
    precision_recall,
)
from one2set.evaluation.protocols import PROTOCOLS, YE2021, get_protocol
from one2set.evaluation.rankings import CUTOFFS, Cutoff, Ranking, Rankings


def random_rankings(seed: int, size: int = 300) -> list[Ranking]:
    """Rankings of every kind: without gold, without predictions, all right, all wrong, long."""
    random = Random(seed)
    rankings = []
    for _ in range(size):
        num_gold = random.choice([0, 1, 2, 3, 5, 8, 13])
        length = random.choice([0, 1, 2, 4, 5, 6, 9, 10, 11, 30])
        result = random.sample(range(length), random.randint(0, min(length, num_gold)))
        density = random.choice([0.0, 0.2, 0.6])
        covers = [
            [gold for gold in range(num_gold) if random.random() < density] for _ in range(length)
        ]
        rankings.append(Ranking([at in result for at in range(length)], covers, num_gold))
    return rankings


# --- Oracles --------------------------------------------------------------------------------------


def depth(ranking: Ranking, cutoff: Cutoff) -> int:
    named = {"M": len(ranking.hits), "O": ranking.num_gold}
    return named[cutoff] if cutoff in named else int(cutoff)


def naive_precision_recall(
    ranking: Ranking, cutoff: Cutoff, padded: bool = True
) -> tuple[float, float]:
    k = depth(ranking, cutoff)
    first = list(ranking.hits[:k])
    if padded and ranking.hits:
        first += [False] * (k - len(first))  # wrong answers up to k
    precision = first.count(True) / len(first) if first else 0.0
    recall = first.count(True) / ranking.num_gold if ranking.num_gold else 0.0
    return precision, recall


def naive_f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def naive_average_precision(ranking: Ranking, cutoff: Cutoff) -> float:
    total = 0.0
    for rank in range(1, min(depth(ranking, cutoff), len(ranking.hits)) + 1):
        if ranking.hits[rank - 1]:
            total += sum(ranking.hits[:rank]) / rank
    return total / ranking.num_gold if ranking.num_gold else 0.0


def naive_dcg(gains: list[float], k: int) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


def naive_ndcg(ranking: Ranking, cutoff: Cutoff) -> float:
    gains = [float(hit) for hit in ranking.hits]
    k = depth(ranking, cutoff)
    ideal = naive_dcg(sorted(gains, reverse=True), k)
    return naive_dcg(gains, k) / ideal if ideal else 0.0


def naive_gains(covers: list[list[int]]) -> list[float]:
    """Count, for each prediction and gold phrase, how often that phrase was covered before."""
    return [
        sum(0.5 ** sum(gold in before for before in covers[:at]) for gold in covers[at])
        for at in range(len(covers))
    ]


def naive_alpha_ndcg(ranking: Ranking, cutoff: Cutoff) -> float:
    covers = [list(gold) for gold in ranking.covers]
    left, ideal = list(covers), list[list[int]]()
    while left:
        best = max(range(len(left)), key=lambda at: (naive_gains([*ideal, left[at]])[-1], -at))
        ideal.append(left.pop(best))
    k = depth(ranking, cutoff)
    most = naive_dcg(naive_gains(ideal), k)
    return naive_dcg(naive_gains(covers), k) / most if most else 0.0


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def naive_metrics(rankings: list[Ranking], cutoff: Cutoff, name: str) -> MetricValues:
    kept = [ranking for ranking in rankings if ranking.num_gold > 0 or name != "with-gold"]
    pairs = [naive_precision_recall(ranking, cutoff, name != "unpadded") for ranking in kept]
    precision, recall = mean([p for p, _ in pairs]), mean([r for _, r in pairs])
    f1 = naive_f1(precision, recall)
    if name == "mean-f1":
        f1 = mean([naive_f1(*pair) for pair in pairs])
    if name == "micro":
        matches = sum(sum(ranking.hits[: depth(ranking, cutoff)]) for ranking in kept)
        precision = matches / sum(depth(ranking, cutoff) for ranking in kept if ranking.hits)
        recall = matches / sum(ranking.num_gold for ranking in kept)
        f1 = naive_f1(precision, recall)
    order = [
        mean([metric(ranking, cutoff) for ranking in kept])
        for metric in (naive_average_precision, naive_ndcg, naive_alpha_ndcg)
    ]
    return MetricValues(precision, recall, f1, *order)


# --- Against the oracles --------------------------------------------------------------------------


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_documents_equal_the_definitions(cutoff: Cutoff, seed: int) -> None:
    rankings = random_rankings(seed)
    columns = Rankings.of(rankings)
    for padded in (True, False):
        expected = [naive_precision_recall(ranking, cutoff, padded) for ranking in rankings]
        actual = np.array(precision_recall(columns, cutoff, padded=padded)).T
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
    for metric, naive in (
        (average_precision, naive_average_precision),
        (ndcg, naive_ndcg),
        (alpha_ndcg, naive_alpha_ndcg),
    ):
        expected_values = [naive(ranking, cutoff) for ranking in rankings]
        np.testing.assert_allclose(metric(columns, cutoff), expected_values, rtol=1e-12)


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_metrics_of_a_set_equal_the_definitions(cutoff: Cutoff, name: str) -> None:
    rankings = random_rankings(7)
    metrics = compute_metrics(Rankings.of(rankings), cutoff, PROTOCOLS[name])
    assert metrics == pytest.approx(naive_metrics(rankings, cutoff, name), rel=1e-12)


def test_counts_equal_the_definitions() -> None:
    rankings = [Ranking([True, False], [[], []], 5), Ranking([], [], 0), Ranking([True], [[0]], 1)]
    counts = count_phrases(Rankings.of(rankings))
    assert counts == (1.0, 2.0, 1.0, 2)


# --- Worked by hand -------------------------------------------------------------------------------


def hits(*flags: int, num_gold: int) -> Ranking:
    return Ranking([bool(flag) for flag in flags], [[] for _ in flags], num_gold)


def test_precision_at_five_divides_by_five() -> None:
    """3 of 3: P@5 = .6, P@M = 1; 3 of 6, all in the first five: .6 and .5."""
    columns = Rankings.of([hits(1, 1, 1, num_gold=3), hits(1, 0, 1, 1, 0, 0, num_gold=3)])
    assert precision_recall(columns, "5")[0] == pytest.approx([0.6, 0.6])
    assert precision_recall(columns, "M")[0] == pytest.approx([1.0, 0.5])


def test_macro_f1_is_not_the_mean_of_f1() -> None:
    """Two documents with (P, R) = (1, .2) and (.2, 1): .6 against .3333."""
    columns = Rankings.of([hits(1, num_gold=5), hits(1, 0, 0, 0, 0, num_gold=1)])
    precision, recall = precision_recall(columns, "M")
    assert (precision.tolist(), recall.tolist()) == ([1.0, 0.2], [0.2, 1.0])
    assert compute_metrics(columns, "M", YE2021).f1 == pytest.approx(0.6)
    assert compute_metrics(columns, "M", PROTOCOLS["mean-f1"]).f1 == pytest.approx(1 / 3)


def test_documents_without_gold_or_predictions_count_as_zeros() -> None:
    right, no_gold, silent = hits(1, num_gold=1), hits(0, num_gold=0), hits(num_gold=2)
    columns = Rankings.of([right, no_gold, silent])
    for cutoff in CUTOFFS:
        assert compute_metrics(columns, cutoff, YE2021).recall == pytest.approx(1 / 3)
        assert compute_metrics(columns, cutoff, PROTOCOLS["with-gold"]).recall == pytest.approx(
            1 / 2
        )
    # A document without predictions adds none to the micro precision, not even padding.
    assert compute_metrics(columns, "5", PROTOCOLS["micro"]).precision == pytest.approx(1 / 10)


def test_nothing_at_all_is_zero_everywhere() -> None:
    columns = Rankings.of([hits(num_gold=0), hits(num_gold=0)])
    for protocol in PROTOCOLS.values():
        assert all(compute_metrics(columns, cutoff, protocol) == (0.0,) * 6 for cutoff in CUTOFFS)


def test_ndcg_looks_beyond_the_cutoff_for_its_ideal() -> None:
    """Hits at 1, 2 and 7: the ideal top five has three, so NDCG@5 is below one."""
    columns = Rankings.of([hits(1, 1, 0, 0, 0, 0, 1, num_gold=3)])
    expected = (1 + 1 / log2(3)) / (1 + 1 / log2(3) + 1 / 2)
    assert ndcg(columns, "5") == pytest.approx([expected])


def test_at_o_precision_equals_recall_when_padded() -> None:
    precision, recall = precision_recall(Rankings.of(random_rankings(3)), "O")
    np.testing.assert_allclose(precision, recall)


# --- Invariances ----------------------------------------------------------------------------------


def test_extra_wrong_predictions_never_raise_a_figure_at_m() -> None:
    rankings = random_rankings(11)
    longer = [
        Ranking([*ranking.hits, False], [*ranking.covers, []], ranking.num_gold)
        for ranking in rankings
    ]
    before = np.array(precision_recall(Rankings.of(rankings), "M"))
    after = np.array(precision_recall(Rankings.of(longer), "M"))
    assert (after[0] <= before[0]).all()
    assert (after[1] == before[1]).all()


def test_protocols_agree_where_their_choice_does_not_arise() -> None:
    """Every document has gold and ten predictions or more: neither skipping nor padding differs."""
    rankings = [
        ranking for ranking in random_rankings(5) if ranking.num_gold and len(ranking.hits) >= 10
    ]
    columns = Rankings.of(rankings)
    for name in ("with-gold", "unpadded"):
        for cutoff in ("5", "10", "M"):
            assert compute_metrics(columns, cutoff, PROTOCOLS[name]) == compute_metrics(
                columns, cutoff, YE2021
            )


def test_choices_combine() -> None:
    rankings = random_rankings(13)
    both = compute_metrics(Rankings.of(rankings), "5", get_protocol("with-gold+unpadded"))
    with_gold = [ranking for ranking in rankings if ranking.num_gold]
    assert both == pytest.approx(
        compute_metrics(Rankings.of(with_gold), "5", PROTOCOLS["unpadded"])
    )


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_resample_follows_from_the_sums(name: str) -> None:
    """Documents drawn twice count twice, whatever the protocol."""
    rankings = random_rankings(17, size=40)
    drawn = [3, 3, 5, 8, 39, 39, 39]
    protocol = PROTOCOLS[name]
    rows = addends(Rankings.of(rankings), "5", protocol)[drawn]
    again = compute_metrics(Rankings.of([rankings[at] for at in drawn]), "5", protocol)
    assert compute_from_sums(rows.sum(axis=0), protocol).tolist() == pytest.approx(list(again))
