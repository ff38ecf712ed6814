"""Columns equal the rankings that they were made from."""

from random import Random

import numpy as np
import pytest

from one2set.evaluation.rankings import Ranking, Rankings


def random_ranking(random: Random) -> Ranking:
    num_gold, length = random.choice([0, 1, 3, 8]), random.choice([0, 1, 4, 12])
    density = random.choice([0.0, 0.1, 0.6])
    covers = [
        [gold for gold in range(num_gold) if random.random() < density] for _ in range(length)
    ]
    return Ranking([random.random() < 0.4 for _ in range(length)], covers, num_gold)


def make_rankings(covers: list[list[int]], num_gold: int = 3) -> Rankings:
    return Rankings.of([Ranking([False] * len(covers), covers, num_gold)])


def test_rankings_become_columns() -> None:
    columns = Rankings.of(
        [Ranking([True, False], [[1], []], 2), Ranking([], [], 3), Ranking([False], [[0, 1]], 2)]
    )
    assert columns.document.tolist() == [0, 0, 2]
    assert columns.rank.tolist() == [1, 2, 1]
    assert columns.num_predicted.tolist() == [2, 0, 1]
    assert columns.hit.tolist() == [1.0, 0.0, 0.0]
    # Gold phrases are counted through all documents.
    assert columns.cover_prediction.tolist() == [0, 2, 2]
    assert columns.cover_gold.tolist() == [1, 5, 6]
    assert columns.depth("5").tolist() == [5, 5, 5]
    assert columns.depth("M").tolist() == [2, 0, 1]
    assert columns.depth("O").tolist() == [2, 3, 2]
    assert columns.sum_top(np.array([1.0, 10.0, 100.0]), "O").tolist() == [11.0, 0.0, 100.0]


def test_no_documents_make_empty_columns() -> None:
    for columns in (Rankings.of([]), Rankings.of([Ranking([], [], 0)])):
        assert columns.novelty.tolist() == columns.ideal_novelty.tolist() == []


def test_novelty_halves_each_time() -> None:
    columns = make_rankings([[0], [], [0, 1], [0]])
    assert columns.novelty.tolist() == [1.0, 0.0, 1.5, 0.25]


def test_the_ideal_order_is_greedy() -> None:
    assert make_rankings([[0], [], [0, 1], [0]]).ideal_novelty.tolist() == [2.0, 0.5, 0.25, 0.0]
    assert make_rankings([[], [0], [1, 2]]).ideal_novelty.tolist() == [2.0, 1.0, 0.0]
    # All three gain 2 at first. We take the earliest, of which both others cover a part;
    # the last one would leave a prediction of its own to the first two.
    assert make_rankings([[0, 1], [0, 2], [1, 3]], num_gold=4).ideal_novelty.tolist() == [
        2.0,
        1.5,
        1.5,
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_part_of_columns_equals_the_columns_of_a_part(seed: int) -> None:
    random = Random(seed)
    rankings = [random_ranking(random) for _ in range(60)]
    keep = [[random.random() < 0.5 for _ in ranking.hits] for ranking in rankings]
    keep_gold = [[random.random() < 0.5 for _ in range(ranking.num_gold)] for ranking in rankings]
    parts = []
    for ranking, kept, kept_gold in zip(rankings, keep, keep_gold, strict=True):
        renamed = {old: new for new, old in enumerate(np.flatnonzero(kept_gold).tolist())}
        pairs = [
            (hit, [renamed[gold] for gold in covers if gold in renamed])
            for hit, covers, chosen in zip(ranking.hits, ranking.covers, kept, strict=True)
            if chosen
        ]
        parts.append(Ranking([hit for hit, _ in pairs], [c for _, c in pairs], sum(kept_gold)))
    expected = Rankings.of(parts)
    flags = [np.array([flag for flags in lists for flag in flags]) for lists in (keep, keep_gold)]
    actual = Rankings.of(rankings).only(*flags)
    for name in ("num_gold", "document", "hit", "cover_prediction", "cover_gold"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
    for name in ("num_predicted", "rank", "novelty", "ideal_novelty"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
