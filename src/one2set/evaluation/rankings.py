"""Rankings: the matched predictions of many documents as columns, the input of the metrics.

A ranking is one document's predictions of one group (present, absent or all), best first.

Letters: D documents; Q predictions, G gold phrases of all documents, end to end; C pairs of a
prediction and a gold phrase that it covers, by prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple, Self

import numpy as np

from one2set.arrays import Flags, Floats, Ints

Cutoff = Literal["5", "10", "M", "O"]
CUTOFFS: tuple[Cutoff, ...] = ("5", "10", "M", "O")
_NOVELTY_LOSS = 0.5  # the α of α-NDCG


class Ranking(NamedTuple):
    """One document's ranking.

    `hits[i]` is whether prediction i is a gold phrase; `covers[i]` are the indices of the gold
    phrases that contain it, which is α-NDCG's relevance.
    """

    hits: Sequence[bool]
    covers: Sequence[Sequence[int]]
    num_gold: int


@dataclass(frozen=True)
class Rankings:
    """The rankings of D documents."""

    num_gold: Ints  # (D,)
    document: Ints  # (Q,) the document of each prediction
    hit: Floats  # (Q,) 1 or 0
    cover_prediction: Ints  # (C,)
    cover_gold: Ints  # (C,)

    @classmethod
    def of(cls, rankings: Sequence[Ranking]) -> Self:
        """Convert the rankings of documents to columns."""
        num_gold = np.array([ranking.num_gold for ranking in rankings], dtype=np.int64)
        num_predicted = [len(ranking.hits) for ranking in rankings]
        document = np.repeat(np.arange(len(rankings)), num_predicted)
        covers = list(chain.from_iterable(ranking.covers for ranking in rankings))
        prediction = np.repeat(np.arange(len(document)), list(map(len, covers)))
        within = np.array(list(chain.from_iterable(covers)), dtype=np.int64)
        first_gold = np.cumsum(num_gold) - num_gold  # (D,)
        return cls(
            num_gold=num_gold,
            document=document,
            hit=np.array(
                list(chain.from_iterable(ranking.hits for ranking in rankings)), dtype=np.float64
            ),
            cover_prediction=prediction,
            cover_gold=within + first_gold[document[prediction]],
        )

    def only(self, predictions: Flags, gold: Flags) -> Self:
        """Keep only some of the predictions, (Q,), and of the gold phrases, (G,)."""
        gold_document = np.repeat(np.arange(len(self.num_gold)), self.num_gold)  # (G,)
        selected = predictions[self.cover_prediction] & gold[self.cover_gold]
        return type(self)(
            num_gold=np.bincount(gold_document[gold], minlength=len(self.num_gold)),
            document=self.document[predictions],
            hit=self.hit[predictions],
            cover_prediction=(np.cumsum(predictions) - 1)[self.cover_prediction[selected]],
            cover_gold=(np.cumsum(gold) - 1)[self.cover_gold[selected]],
        )

    @cached_property
    def num_predicted(self) -> Ints:
        """(D,)"""
        return np.bincount(self.document, minlength=len(self.num_gold))

    @cached_property
    def rank(self) -> Ints:
        """The rank of each prediction in its document, from 1.  (Q,)"""
        return _count_before(self.document) + 1

    @cached_property
    def novelty(self) -> Floats:
        """α-DCG's gains: each gold phrase covered is worth (1 − α)^(times covered before).  (Q,)"""
        order = np.argsort(self.cover_gold, kind="stable")  # (C,) one gold phrase's by rank
        worth = (1 - _NOVELTY_LOSS) ** _count_before(self.cover_gold[order])
        gains = np.bincount(self.cover_prediction[order], worth, minlength=len(self.document))
        return gains.astype(np.float64, copy=False)

    @cached_property
    def ideal_novelty(self) -> Floats:
        """The gains in the ideal order of each document's predictions.  (Q,)

        Each step takes the prediction with the highest gain, the earlier one of equals. The true
        optimum is NP-hard; this greedy order is what the literature divides by.
        """
        num_covered = np.bincount(self.cover_prediction, minlength=len(self.document))  # (Q,)
        # If no gold phrase is covered twice, the gains are the numbers of covered phrases.
        gains = num_covered[np.lexsort((-num_covered, self.document))].astype(np.float64)
        twice = np.bincount(self.cover_gold)[self.cover_gold] > 1  # (C,)
        documents = np.unique(self.document[self.cover_prediction[twice]])
        bounds = np.searchsorted(self.document, [documents, documents + 1])  # (2, documents)
        pair_bounds = np.searchsorted(self.cover_prediction, bounds)
        predictions, golds = self.cover_prediction.tolist(), self.cover_gold.tolist()
        for start, end, first, last in np.concatenate([bounds, pair_bounds]).T.tolist():
            covers: list[list[int]] = [[] for _ in range(end - start)]
            for prediction, gold in zip(predictions[first:last], golds[first:last], strict=True):
                covers[prediction - start].append(gold)
            gains[start:end] = _compute_greedy_gains(covers)
        return gains

    def depth(self, cutoff: Cutoff) -> Ints:
        """k of each document: the number of predictions considered @5, @10, @M or @O.  (D,)"""
        match cutoff:
            case "M":
                return self.num_predicted
            case "O":
                return self.num_gold
            case _:
                return np.full_like(self.num_gold, int(cutoff))

    def sum_top(self, values: Floats, cutoff: Cutoff) -> Floats:
        """Each document's sum of (Q,) values over its first k predictions.  (D,)"""
        within = self.rank <= self.depth(cutoff)[self.document]
        sums = np.bincount(self.document, values * within, minlength=len(self.num_gold))
        return sums.astype(np.float64, copy=False)


def _count_before(ordered: Ints) -> Ints:
    """How often each value of a sorted column occurs before its position."""
    return np.arange(len(ordered)) - np.searchsorted(ordered, ordered)


def _compute_greedy_gains(covers: list[list[int]]) -> list[float]:
    left = [gold for gold in covers if gold]
    worth: dict[int, float] = {}
    gains = []
    while left:
        offers = [sum(worth.get(index, 1.0) for index in gold) for gold in left]
        gains.append(max(offers))
        for index in left.pop(offers.index(max(offers))):
            worth[index] = worth.get(index, 1.0) * (1 - _NOVELTY_LOSS)
    return gains + [0.0] * (len(covers) - len(gains))
