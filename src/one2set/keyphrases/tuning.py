"""Tuning: fit a model's calibration to documents with known keyphrases, and check it.

Every code is made to generate a phrase. For each pair of biases on ∅, some of these phrases remain;
on them the logistic models are fitted and the thresholds are searched. The objective is the mean of
F1@5 and F1@M (`ye2021`), separately for present and for absent phrases. `reliability` measures the
result on documents that were left out.

Shapes: D documents, Q candidates of all documents end to end, I inputs, P pairs of a candidate and
a slot that generates it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats, Ints
from one2set.data.control_codes import SIDES, Side, is_present_code
from one2set.data.document import Document, StemmedDocument
from one2set.data.text import Stems, stem_all
from one2set.evaluation.metrics import f1_score, precision_recall
from one2set.evaluation.rankings import Rankings
from one2set.extraction.candidates import (
    GENERATED_INPUTS,
    INPUTS,
    Candidates,
    build_candidates,
    is_readable,
)
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge
from one2set.extraction.ngrams import Hashes, hash_of
from one2set.keyphrases.calibration import (
    MIN_THRESHOLD,
    TOP_K,
    Calibration,
    LogisticModel,
    SideCalibration,
)
from one2set.keyphrases.overlap import marginal_probabilities, relations
from one2set.keyphrases.scoring import ScoredPhrase
from one2set.prediction.prediction import NO_NULL, NullBias, Prediction, predicts_null

_BIASES = (-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0)
_START = -2.0
_GOLD_FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_THRESHOLD_FACTORS = (0.0, 0.2, 0.4, 0.6, 0.8)  # of the best threshold without a cutoff
_QUANTILES = np.linspace(0, 0.99, 67)  # of probabilities, to try as thresholds
# Minimum score of absent phrases at the operating point `shown`: one in five should be correct.
_ABSENT_FLOOR = 0.2
# Kinds of overlap that have a weight together: few phrases of each are shown.
KINDS_OF_OVERLAP = (("part", "whole"), ("head",), ("word",), ("abbreviation",))
_DIVERSITIES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_NEAR = 0.997  # of the best F1: no worse but for chance
_CODES = INPUTS.index("codes")
_GENERATED = [INPUTS.index(name) for name in GENERATED_INPUTS]
_EMPTY, _NO_FLAGS = np.empty(0, np.int64), np.empty(0, np.bool_)


class LabelledCandidates(NamedTuple):
    """The candidates of a document, and which of them are keyphrases."""

    document: StemmedDocument
    candidates: Candidates
    correct: Flags  # (Q,)
    num_gold: tuple[int, int]  # numbers of present and of absent keyphrases
    num_codes: int
    gold: Hashes  # (G,) of its keyphrases

    def scored_phrases(self, scores: Floats, min_score: float) -> list[ScoredPhrase]:
        """The phrases of candidates with at least this score, of their scores (Q,)."""
        phrases = []
        for number in np.flatnonzero(scores >= min_score).tolist():
            candidate = self.candidates[number]
            phrases.append(
                ScoredPhrase(
                    candidate.stems,
                    float(scores[number]),
                    candidate.text,
                    self.document.find_spans(candidate.positions, len(candidate.stems)),
                    keyphraseness=float(self.candidates.keyphraseness[number]),
                )
            )
        return phrases


def label_candidates(
    document: Document, prediction: Prediction, knowledge: Knowledge = NO_KNOWLEDGE
) -> LabelledCandidates:
    """The candidates of a document from a prediction in which every code generates a phrase."""
    stemmed = StemmedDocument.of(document)
    gold = {stem_all(words) for words in document.phrase_words()} - {()}
    everything = build_candidates(stemmed, prediction, knowledge)
    readable = [
        is_readable(everything.stems(at), present=bool(present))
        for at, present in enumerate(everything.present)
    ]
    candidates = everything.take(np.array(readable, np.bool_))
    hashes = np.array([hash_of(stems) for stems in gold], np.uint64)
    occurrences, _ = everything.ngrams.find(hashes, np.array([*map(len, gold)], np.int64))
    present = int((occurrences > 0).sum())
    return LabelledCandidates(
        stemmed,
        candidates,
        np.isin(candidates.hash, hashes),
        (present, len(gold) - present),
        len(prediction.slots),
        hashes,
    )


@dataclass(frozen=True)
class CandidateTable:
    """The candidates of D documents as columns."""

    documents: Sequence[LabelledCandidates]

    @cached_property
    def bounds(self) -> Ints:
        """(D + 1,) those of document d are numbers bounds[d] up to bounds[d + 1]."""
        return np.cumsum([0, *(len(labelled.candidates) for labelled in self.documents)])

    @cached_property
    def document(self) -> Ints:
        """(Q,)"""
        return np.repeat(np.arange(len(self.documents)), np.diff(self.bounds))

    @cached_property
    def correct(self) -> Flags:
        """(Q,)"""
        return np.concatenate([_NO_FLAGS, *(labelled.correct for labelled in self.documents)])

    @cached_property
    def present(self) -> Flags:
        """(Q,)"""
        return np.concatenate(
            [_NO_FLAGS, *(labelled.candidates.present for labelled in self.documents)]
        )

    @cached_property
    def proposed(self) -> Flags:
        """(Q,)"""
        return np.concatenate(
            [_NO_FLAGS, *(labelled.candidates.proposed for labelled in self.documents)]
        )

    @cached_property
    def _inputs(self) -> Floats:
        """(Q, I)"""
        none = np.empty((0, len(INPUTS)))
        return np.concatenate([none, *(labelled.candidates.inputs for labelled in self.documents)])

    def stems(self, number: int) -> Stems:
        """The stems of one of the Q candidates."""
        document = int(self.document[number])
        return self.documents[document].candidates.stems(number - int(self.bounds[document]))

    @cached_property
    def _generated(self) -> tuple[Ints, Floats, Floats, Flags]:
        """For each pair (P,): the candidate, P of the slot's first token, P(∅), and whether its
        code is for present phrases."""
        before = self.bounds.tolist()
        pairs = [
            (
                before[document] + at,
                slot.first_probability,
                slot.null,
                is_present_code(slot.code, labelled.num_codes),
            )
            for document, labelled in enumerate(self.documents)
            for at in np.flatnonzero(labelled.candidates.generated).tolist()
            for slot in labelled.candidates[at].slots
        ]
        candidate, word, null, first = zip(*pairs, strict=True) if pairs else ((), (), (), ())
        return (
            np.array(candidate, np.int64),
            np.array(word, np.float64),
            np.array(null, np.float64),
            np.array(first, np.bool_),
        )

    def num_generating(self, bias: NullBias) -> Ints:
        """(Q,) how many codes generate each candidate, with these biases on ∅."""
        candidate, word, null, first = self._generated
        generates = ~predicts_null(word, null, np.where(first, bias.present, bias.absent))
        return np.bincount(candidate[generates], minlength=len(self.document))

    def inputs(self, count: Ints) -> Floats:
        """(Q, I) the inputs of candidates if `count` (Q,) codes generate each."""
        inputs = self._inputs.copy()
        inputs[:, _CODES] = np.log(np.maximum(count, 1))
        inputs[np.ix_(count == 0, _GENERATED)] = 0
        return inputs

    def of(self, side: Side) -> Flags:
        """(Q,) whether candidates are of this side."""
        return self.present if side == "present" else ~self.present

    @cached_property
    def _num_gold(self) -> dict[Side, Ints]:
        """(D,) numbers of keyphrases of each side."""
        pairs = np.array([labelled.num_gold for labelled in self.documents])  # (D, 2)
        return dict(zip(SIDES, pairs.T, strict=True))

    def order(self, p: Floats, which: Flags) -> Ints:
        """The numbers of some candidates (Q,), by document, then by probability p (Q,), the highest
        first."""
        order = np.flatnonzero(which)
        return order[np.lexsort((-p[order], self.document[order]))]

    def mean_f1(self, side: Side, p: Floats, shown: Flags) -> float:
        """The mean of F1@5 and F1@M of one side, for the `shown` (Q,) ordered by probability."""
        chosen = self.order(p, shown & self.of(side))
        return self.mean_f1_of_ranking(side, self.document[chosen], self.correct[chosen])

    def mean_f1_of_ranking(self, side: Side, document: Ints, correct: Flags) -> float:
        """The mean of F1@5 and F1@M of one side, for phrases that are sorted by document and best
        first: the document (n,) of each, and whether it is a keyphrase (n,)."""
        rankings = Rankings(
            num_gold=self._num_gold[side],
            document=document,
            hit=correct.astype(np.float64),
            cover_prediction=_EMPTY,
            cover_gold=_EMPTY,
        )
        means = ([x.mean() for x in precision_recall(rankings, cut)] for cut in ("5", "M"))
        return float(np.mean([f1_score(np.array(p), np.array(r)) for p, r in means]))


def tune(documents: Iterable[LabelledCandidates]) -> Calibration:
    """The calibration with the best F1 on these documents."""
    table = CandidateTable(list(documents))
    bias = NullBias(_START, _START)
    generates = table.num_generating(NO_NULL).any()  # a light model has no codes
    biases = _BIASES if generates else (_START,)
    for side in SIDES:
        tried = [bias._replace(**{side: value}) for value in biases]
        bias = max(tried, key=lambda bias_tried: _fit_side(table, side, bias_tried)[1])
    present, absent = (
        _tune_cutoff(table, side, bias, _fit_side(table, side, bias)[0]) for side in SIDES
    )
    absent = replace(absent, floor=_ABSENT_FLOOR)
    return _tune_overlap(table, Calibration(present, absent))


def _fit_side(table: CandidateTable, side: Side, bias: NullBias) -> tuple[SideCalibration, float]:
    """The best calibration of a side with these biases, and its mean F1."""
    count = table.num_generating(bias)
    inputs = table.inputs(count)
    models: list[LogisticModel | None] = []
    for chosen in (count > 0, (count == 0) & table.proposed):
        chosen &= table.of(side)
        if not chosen.any():
            models.append(None)
            continue
        intercept, *weights = fit_logistic(inputs[chosen], table.correct[chosen]).tolist()
        models.append(LogisticModel(intercept, dict(zip(INPUTS, weights, strict=True))))
    generated, proposed = models
    fitted = SideCalibration(getattr(bias, side), 0.0, generated, proposed)
    p = _probabilities(table, fitted, count)
    shown = (p > 0) & table.of(side)
    if not shown.any():
        return fitted, 0.0
    tried = np.maximum(np.quantile(p[shown], _QUANTILES), MIN_THRESHOLD).tolist()
    order = table.order(p, shown)
    document, correct = table.document[order], table.correct[order]
    values = []
    for threshold in tried:
        above = p[order] >= threshold
        values.append(table.mean_f1_of_ranking(side, document[above], correct[above]))
    best = int(np.argmax(values))
    return replace(fitted, threshold=tried[best]), values[best]


def _tune_cutoff(
    table: CandidateTable, side: Side, bias: NullBias, fitted: SideCalibration
) -> SideCalibration:
    """The side with the best cutoff, if any is better than none."""
    p = _probabilities(table, fitted, table.num_generating(bias))
    possible = (p > 0) & table.of(side)
    tried = [fitted] + [
        replace(
            fitted,
            threshold=max(share * fitted.threshold, MIN_THRESHOLD),
            expected_gold_factor=factor,
        )
        for factor in _GOLD_FACTORS
        for share in _THRESHOLD_FACTORS
    ]

    def value(calibration: SideCalibration) -> float:
        return table.mean_f1(side, p, _apply_cutoff(table, calibration, p, possible, p))

    return max(tried, key=value)


def _tune_overlap(table: CandidateTable, calibration: Calibration) -> Calibration:
    """The calibration with overlap penalties, and the lowest diversity whose F1 is near the best.

    The penalties are the weights of a logistic regression on the selected phrases of each document,
    best first. Its inputs are the log odds of a phrase, as an offset, and the kinds of its overlap
    with the phrases before it."""
    p, shown = score_and_select(table, calibration)
    rows, numbers = [], []
    for document in _by_document(table, p, shown):
        before: list[Stems] = []
        for number in document:
            stems = table.stems(number)
            kinds = relations(stems, before)
            rows.append([not kinds.isdisjoint(group) for group in KINDS_OF_OVERLAP])
            numbers.append(number)
            before.append(stems)
    if not rows:
        return calibration
    kinds_of, shown_numbers = np.array(rows, np.float64), np.array(numbers)
    fitted = {}
    for side in SIDES:
        own = table.of(side)[shown_numbers]
        chosen = shown_numbers[own]
        odds = p[chosen] / np.maximum(1 - p[chosen], MIN_THRESHOLD)
        weights = _fit_offsets(kinds_of[own], np.log(odds), table.correct[chosen])
        pairs = zip(KINDS_OF_OVERLAP, np.minimum(weights, 0).tolist(), strict=True)
        overlap = {kind: weight for kinds, weight in pairs for kind in kinds}
        fitted[side] = replace(calibration.sides[side], overlap=overlap)
    present, absent = (fitted[side] for side in SIDES)
    tried = [Calibration(present, absent, diversity=diversity) for diversity in _DIVERSITIES]
    f1 = [mean_f1(table, calibration) for calibration in tried]
    best = max(sum(each.values()) for each in f1)
    measured = zip(tried, f1, strict=True)
    return next(
        calibration for calibration, means in measured if sum(means.values()) >= _NEAR * best
    )


def _fit_offsets(x: Floats, log_odds: Floats, correct: Flags) -> Floats:
    """(R,) the weights of a logistic regression on x (n, R) with the offsets `log_odds` (n,) and an
    L2 penalty, which keeps weights near 0 if few rows support them."""
    from scipy.optimize import minimize
    from scipy.special import expit

    def loss(weights: Floats) -> tuple[float, Floats]:
        z = log_odds + x @ weights
        value = np.logaddexp(0, z) - correct * z
        gradient = x.T @ (expit(z) - correct)
        return float(value.sum() + weights @ weights / 2), gradient + weights

    weights: Floats = minimize(loss, np.zeros(x.shape[1]), jac=True, method="BFGS").x
    return weights


def _by_document(table: CandidateTable, p: Floats, which: Flags) -> Iterator[list[int]]:
    """The numbers of some candidates (Q,), of one document after the other, the best first."""
    order = table.order(p, which)
    for part in np.split(order, np.flatnonzero(np.diff(table.document[order])) + 1):
        yield part.tolist()


def _apply_cutoff(
    table: CandidateTable,
    side: SideCalibration,
    probabilities: Floats,
    possible: Flags,
    marginal: Floats,
) -> Flags:
    """(Q,) which of the possible candidates (Q,) of one side are shown: those above the threshold
    by their own and by their marginal probability (Q,), in each document the best by the latter,
    up to `SideCalibration.cutoff_by_expected_f1`."""
    likely = possible & (probabilities >= side.threshold)
    shown = likely & (marginal >= side.threshold)
    if side.expected_gold_factor is None or not shown.any():
        return shown
    order = table.order(probabilities, likely)
    document, p = table.document[order], probabilities[order]
    first = np.searchsorted(document, document)  # of its document
    count, total = np.arange(len(order)) - first + 1, np.cumsum(p)
    right = total - (total - p)[first]
    gold = 1 + side.expected_gold_factor * np.bincount(document, p)[document]
    few = right[np.minimum(first + TOP_K - 1, np.arange(len(order)))]  # of no more than five
    promise = right / (count + gold) + few / (TOP_K + gold)
    best = np.zeros(document[-1] + 1)
    np.maximum.at(best, document, promise)
    cutoff = np.full(len(best), len(order))
    reached = promise >= best[document]
    np.minimum.at(cutoff, document[reached], count[reached])
    order = table.order(marginal, shown)
    document = table.document[order]
    rank = np.arange(len(order)) - np.searchsorted(document, document)
    shown[order[rank >= cutoff[document]]] = False
    return shown


def mean_f1(table: CandidateTable, calibration: Calibration) -> dict[Side, float]:
    """The mean of F1@5 and F1@M of the candidates that a calibration shows, for each side."""
    probabilities, shown = score_and_select(table, calibration)
    return {side: table.mean_f1(side, probabilities, shown) for side in SIDES}


def score_and_select(table: CandidateTable, calibration: Calibration) -> tuple[Floats, Flags]:
    """The probability of each candidate by a calibration, and whether it is shown at the operating
    point `f1`.  (Q,), (Q,)"""
    count = table.num_generating(calibration.null_bias())
    present, absent = calibration.present, calibration.absent
    p = np.where(
        table.present, _probabilities(table, present, count), _probabilities(table, absent, count)
    )
    marginal = _marginal(table, p, calibration)
    shown = np.zeros(len(p), np.bool_)
    for name, side in calibration.sides.items():
        possible = (p > 0) & table.of(name)
        shown |= _apply_cutoff(table, side, p, possible, marginal)
    return p, shown


def _marginal(table: CandidateTable, p: Floats, calibration: Calibration) -> Floats:
    """(Q,) `marginal_probabilities` of all candidates above the thresholds, given the others of
    their documents."""
    present, absent = calibration.present, calibration.absent
    if calibration.diversity == 0 or not (present.overlap or absent.overlap):
        return p
    marginal = p.copy()
    threshold = np.where(table.present, present.threshold, absent.threshold)
    for numbers in _by_document(table, p, (p > 0) & (p >= threshold)):
        weights = [
            present.overlap if table.present[number] else absent.overlap for number in numbers
        ]
        stems = [table.stems(number) for number in numbers]
        marginal[numbers] = marginal_probabilities(
            stems, p[numbers].tolist(), weights, calibration.diversity
        )
    return marginal


def _probabilities(table: CandidateTable, side: SideCalibration, count: Ints) -> Floats:
    """(Q,) `SideCalibration.probabilities` if `count` (Q,) codes generate each candidate; 0 for
    those that are neither generated nor proposed."""
    p = np.zeros(len(count))
    possible = (count > 0) | table.proposed
    p[possible] = side.probabilities(table.inputs(count)[possible], count[possible] > 0)
    return p


def fit_logistic(x: Floats, correct: Flags) -> Floats:
    """(1 + I,) intercept and weights of a logistic regression on x (n, I).

    Targets are those of Platt (1999), a little inside 0 and 1, so that the weights stay finite
    where few phrases or only right ones are given.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    right = int(correct.sum())
    wrong = len(correct) - right
    target = np.where(correct, (right + 1) / (right + 2), 1 / (wrong + 2))
    columns = np.column_stack([np.ones(len(x)), x])

    def loss(weights: Floats) -> tuple[float, Floats]:
        """The mean cross entropy, and its gradient."""
        z = columns @ weights
        value = np.logaddexp(0, z) - target * z
        return float(value.mean()), columns.T @ (expit(z) - target) / len(x)

    def hessian(weights: Floats) -> Floats:
        p = expit(columns @ weights)
        product: Floats = columns.T @ (columns * (p * (1 - p))[:, None]) / len(x)
        return product

    # Conjugate gradients do not move along directions in which the loss is flat (equal columns).
    fit = minimize(
        loss,
        np.zeros(columns.shape[1]),
        jac=True,
        hess=hessian,
        method="trust-ncg",
        options={"gtol": 1e-6},
    )
    weights: Floats = fit.x
    return weights
