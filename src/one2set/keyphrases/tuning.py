"""Tuning: a model's calibration, from documents whose keyphrases are known.

Every code is made to say a phrase. For each pair of biases on ∅ some of them would have spoken; on
what those say, the likelihoods are fitted and the least ones searched for. What is best is the mean
of F1@5 and F1@M (`ye2021`), for present and for absent phrases.

Letters: D documents, Q candidates of all documents end to end, I inputs, P pairs of a candidate and
a slot that says it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats, Ints
from one2set.data.document import Document
from one2set.evaluation.metrics import f1_score, precision_recall
from one2set.evaluation.rankings import Rankings
from one2set.extraction.knowledge import NOTHING, Knowledge
from one2set.keyphrases.calibration import FEW, Calibration, Curve, Half
from one2set.keyphrases.candidates import INPUTS, SPOKEN, UNSAID, Candidate, Reading
from one2set.keyphrases.selection import without_parts
from one2set.prediction.prediction import SIDES, Prediction, Side
from one2set.search.null_bias import NullBias, is_silent
from one2set.text import stem_all

_BIASES = (-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0)
_START = -2.0
_APPETITES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_LEASTS = (0.0, 0.2, 0.4, 0.6, 0.8)  # of what is least likely without appetite
_SHARES = np.linspace(0, 0.99, 67)  # of the candidates, that are less likely than `least`
# Whatever F1@5 would gain, nobody wants to read phrases of which 49 in 50 are wrong.
_READABLE = 0.02
_CODES, _PROBABILITY = INPUTS.index("codes"), INPUTS.index("probability")
_NOTHING = np.empty(0, np.int64)


class Judged(NamedTuple):
    """The candidates of a document whose keyphrases are known."""

    candidates: list[Candidate]
    correct: list[bool]
    num_gold: tuple[int, int]  # present and absent keyphrases
    num_codes: int


def judge(document: Document, prediction: Prediction, knowledge: Knowledge = NOTHING) -> Judged:
    """What every code says of a document and what else is suggested, and what of it is right."""
    reading = Reading(document, knowledge)
    gold = {stem_all(words) for words in document.phrase_words()} - {()}
    candidates = [one for one in reading.candidates(prediction, document) if one.readable]
    present = sum(map(reading.holds, gold))
    return Judged(
        candidates,
        [one.stems in gold for one in candidates],
        (present, len(gold) - present),
        len(prediction.slots),
    )


@dataclass(frozen=True)
class Pool:
    """The candidates of D documents as columns."""

    judged: Sequence[Judged]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """(Q,)"""
        return [one for each in self.judged for one in each.candidates]

    @cached_property
    def document(self) -> Ints:
        """(Q,)"""
        return np.repeat(np.arange(len(self.judged)), [len(one.candidates) for one in self.judged])

    @cached_property
    def correct(self) -> Flags:
        """(Q,)"""
        return np.array([right for one in self.judged for right in one.correct], dtype=np.bool_)

    @cached_property
    def present(self) -> Flags:
        """(Q,)"""
        return np.array([one.present for one in self.candidates], dtype=np.bool_)

    @cached_property
    def suggested(self) -> Flags:
        """(Q,)"""
        return np.array([one.suggested for one in self.candidates], dtype=np.bool_)

    @cached_property
    def _inputs(self) -> Floats:
        """(Q, I)"""
        return np.array([one.inputs for one in self.candidates]).reshape(-1, len(INPUTS))

    @cached_property
    def _said(self) -> tuple[Ints, Floats, Floats, Flags]:
        """For each pair (P,) of a candidate and a slot that generates it: the candidate, P of the
        slot's first token, P(∅), and whether its code is for present phrases."""
        pairs = [
            (
                number,
                slot.first_probability,
                slot.null,
                slot.code < self.judged[document].num_codes // 2,
            )
            for number, (document, one) in enumerate(
                zip(self.document.tolist(), self.candidates, strict=True)
            )
            for slot in one.slots
        ]
        candidate, word, null, first = zip(*pairs, strict=True) if pairs else ((), (), (), ())
        return (
            np.array(candidate, np.int64),
            np.array(word, np.float64),
            np.array(null, np.float64),
            np.array(first, np.bool_),
        )

    def num_speaking(self, bias: NullBias) -> Ints:
        """(Q,) how many codes say each candidate, with biases on ∅."""
        candidate, word, null, first = self._said
        speaks = ~is_silent(word, null, np.where(first, bias.present, bias.absent))
        return np.bincount(candidate[speaks], minlength=len(self.candidates))

    def inputs(self, count: Ints) -> Floats:
        """(Q, I) what is known of candidates if so many codes (Q,) say each."""
        inputs = self._inputs.copy()
        inputs[:, _CODES] = np.log(np.maximum(count, 1))
        inputs[count == 0, :SPOKEN] = UNSAID
        return inputs

    def of(self, side: Side) -> Flags:
        """(Q,) the present or the absent ones."""
        return self.present if side == "present" else ~self.present

    def quality(self, side: Side, likely: Floats, shown: Flags) -> float:
        """The mean of F1@5 and F1@M of one side, where the `shown` (Q,) are ordered by `likely`."""
        chosen = np.flatnonzero(shown & self.of(side))
        chosen = chosen[np.lexsort((-likely[chosen], self.document[chosen]))]
        place = 0 if side == "present" else 1
        rankings = Rankings(
            num_gold=np.array([one.num_gold[place] for one in self.judged]),
            document=self.document[chosen],
            hit=self.correct[chosen].astype(np.float64),
            cover_prediction=_NOTHING,
            cover_gold=_NOTHING,
        )
        means = ([x.mean() for x in precision_recall(rankings, cut)] for cut in ("5", "M"))
        return float(np.mean([f1_score(np.array(p), np.array(r)) for p, r in means]))


def tune(judged: Iterable[Judged]) -> Calibration:
    """The calibration that is best for these documents."""
    pool = Pool(list(judged))
    bias = NullBias(_START, _START)
    for side in SIDES:
        tried = [bias._replace(**{side: value}) for value in _BIASES]
        bias = max(tried, key=lambda one: _fitted(pool, side, one)[1])
    present, absent = (_hungry(pool, side, bias, _fitted(pool, side, bias)[0]) for side in SIDES)
    found = Calibration(present, absent)
    thinned = replace(found, drop_parts=True)
    return max(found, thinned, key=lambda one: sum(quality(pool, one).values()))


def _fitted(pool: Pool, side: Side, bias: NullBias) -> tuple[Half, float]:
    """The best half with these biases, and its quality."""
    count = pool.num_speaking(bias)
    inputs = pool.inputs(count)
    curves: list[Curve | None] = []
    for chosen in (count > 0, (count == 0) & pool.suggested):
        chosen &= pool.of(side)
        if not chosen.any():
            curves.append(None)
            continue
        intercept, *weights = fit_logistic(inputs[chosen], pool.correct[chosen]).tolist()
        curves.append(Curve(intercept, dict(zip(INPUTS, weights, strict=True))))
    said, suggested = curves
    half = Half(getattr(bias, side), 0.0, said, suggested)
    likely = _likely(pool, half, count)
    shown = (likely > 0) & pool.of(side)
    if not shown.any():
        return half, 0.0
    tried = np.maximum(np.quantile(likely[shown], _SHARES), _READABLE).tolist()
    values = [pool.quality(side, likely, shown & (likely >= least)) for least in tried]
    best = int(np.argmax(values))
    return replace(half, least=tried[best]), values[best]


def _hungry(pool: Pool, side: Side, bias: NullBias, half: Half) -> Half:
    """The half with the best appetite, if any is better than none."""
    likely = _likely(pool, half, pool.num_speaking(bias))
    possible = (likely > 0) & pool.of(side)
    tried = [half] + [
        replace(half, least=max(share * half.least, _READABLE), appetite=appetite)
        for appetite in _APPETITES
        for share in _LEASTS
    ]

    def value(one: Half) -> float:
        return pool.quality(side, likely, _enough(pool, one, likely, possible))

    return max(tried, key=value)


def _enough(pool: Pool, half: Half, likely: Floats, possible: Flags) -> Flags:
    """Which of the possible candidates (Q,) of one side a half shows: of those that are `least`
    likely so many of each document as are `Half.enough`.  (Q,)"""
    shown = possible & (likely >= half.least)
    if half.appetite is None or not shown.any():
        return shown
    order = np.flatnonzero(shown)
    order = order[np.lexsort((-likely[order], pool.document[order]))]
    document, p = pool.document[order], likely[order]
    first = np.searchsorted(document, document)  # of its document
    count, total = np.arange(len(order)) - first + 1, np.cumsum(p)
    right = total - (total - p)[first]
    gold = 1 + half.appetite * np.bincount(document, p)[document]
    few = right[np.minimum(first + FEW - 1, np.arange(len(order)))]  # of no more than five
    promise = right / (count + gold) + few / (FEW + gold)
    best = np.zeros(document[-1] + 1)
    np.maximum.at(best, document, promise)
    enough = np.full(len(best), len(order))
    reached = promise >= best[document]
    np.minimum.at(enough, document[reached], count[reached])
    shown[order[count > enough[document]]] = False
    return shown


def quality(pool: Pool, calibration: Calibration) -> dict[Side, float]:
    """The mean of F1@5 and F1@M of what a calibration shows, on both sides."""
    likely, shown = judgement(pool, calibration)
    return {side: pool.quality(side, likely, shown) for side in SIDES}


def judgement(pool: Pool, calibration: Calibration) -> tuple[Floats, Flags]:
    """How likely each candidate is by a calibration, and whether it is shown.  (Q,), (Q,)"""
    count = pool.num_speaking(calibration.null_bias())
    present, absent = calibration.present, calibration.absent
    likely = np.where(pool.present, _likely(pool, present, count), _likely(pool, absent, count))
    shown = np.zeros(len(likely), np.bool_)
    for side, half in zip(SIDES, (present, absent), strict=True):
        shown |= _enough(pool, half, likely, (likely > 0) & pool.of(side))
    if calibration.drop_parts:
        order = np.lexsort((-likely, pool.document))
        for numbers in np.split(order, np.flatnonzero(np.diff(pool.document[order])) + 1):
            said = {pool.candidates[number].stems: number for number in numbers if shown[number]}
            shown[list(said.values())] = False
            shown[[said[stems] for stems in without_parts(list(said))]] = True
    return likely, shown


def _likely(pool: Pool, half: Half, count: Ints) -> Floats:
    """`Half.probability` of all candidates, of which so many codes say each; 0 for those that are
    none then.  (Q,)"""
    likely = np.zeros(len(count))
    inputs = pool.inputs(count)
    said, others = count > 0, (count == 0) & pool.suggested
    likely[said] = np.exp(inputs[said, _PROBABILITY])
    for curve, chosen in ((half.said, said), (half.suggested, others)):
        if curve is not None:
            weights = [curve.weights.get(name, 0.0) for name in INPUTS]
            z = curve.intercept + inputs[chosen] @ weights
            likely[chosen] = 0.5 * (1 + np.tanh(z / 2))
    return likely


def fit_logistic(x: Floats, correct: Flags) -> Floats:
    """(1 + I,) intercept and weights of a logistic regression on x (n, I).

    Targets are those of Platt (1999), a little inside 0 and 1, so that the weights stay finite
    where few phrases or only right ones are given.
    """
    from scipy.optimize import minimize

    right = int(correct.sum())
    wrong = len(correct) - right
    target = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))
    columns = np.column_stack([np.ones(len(x)), x])

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = columns @ weights
        value = np.logaddexp(0, z) - target * z
        return float(value.mean()), columns.T @ (0.5 * (1 + np.tanh(z / 2)) - target) / len(x)

    weights: Floats = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="BFGS").x
    return weights
