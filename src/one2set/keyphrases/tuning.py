"""Tuning: fit a model's calibration to documents with known keyphrases, and check it.

Every code is made to generate a phrase. For each pair of biases on ∅, some of these phrases remain;
on them the logistic models are fitted and the thresholds are searched. The objective is the mean of
F1@5 and F1@M (`ye2021`), separately for present and for absent phrases. `cross_validate` measures
how good and how reliable the probabilities are on documents that were left out.

Shapes: D documents, Q candidates of all documents end to end, I inputs, P pairs of a candidate and
a slot that generates it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats, Ints
from one2set.data.control_codes import SIDES, Side, is_present_code
from one2set.data.document import Document, StemmedDocument
from one2set.data.phrase_list import Stems
from one2set.errors import missing_extra
from one2set.evaluation.metrics import f1_score, precision_recall
from one2set.evaluation.rankings import Rankings
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge
from one2set.extraction.ngrams import hash_of
from one2set.keyphrases.calibration import TOP_K, Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.candidates import (
    GENERATED_INPUTS,
    INPUTS,
    CandidateBuilder,
    Candidates,
    is_readable,
)
from one2set.keyphrases.selection import without_subphrases
from one2set.prediction.prediction import Prediction
from one2set.search.null_bias import NO_NULL, NullBias, is_silent
from one2set.text import stem_all

_BIASES = (-6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0)
_START = -2.0
_GOLD_FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_THRESHOLD_FACTORS = (0.0, 0.2, 0.4, 0.6, 0.8)  # of the best threshold without a cutoff
_QUANTILES = np.linspace(0, 0.99, 67)  # of probabilities, to try as thresholds
# Even if F1@5 would gain, nobody wants to read phrases of which 49 in 50 are wrong.
_MIN_THRESHOLD = 0.02
_CODES = INPUTS.index("codes")
_GENERATED = [INPUTS.index(name) for name in GENERATED_INPUTS]
_EMPTY, _NO_FLAGS = np.empty(0, np.int64), np.empty(0, np.bool_)


class LabelledCandidates(NamedTuple):
    """The candidates of a document, and which of them are keyphrases."""

    candidates: Candidates
    correct: Flags  # (Q,)
    num_gold: tuple[int, int]  # numbers of present and of absent keyphrases
    num_codes: int


def label_candidates(
    document: Document, prediction: Prediction, knowledge: Knowledge = NO_KNOWLEDGE
) -> LabelledCandidates:
    """The candidates of a document from a prediction in which every code generates a phrase."""
    stemmed = StemmedDocument.of(document)
    builder = CandidateBuilder(stemmed, knowledge)
    gold = {stem_all(words) for words in document.phrase_words()} - {()}
    found = builder.candidates(prediction, stemmed)
    readable = [
        is_readable(found.stems(at), present=bool(present))
        for at, present in enumerate(found.present)
    ]
    candidates = found.take(np.array(readable, np.bool_))
    present = sum(map(builder.contains, gold))
    return LabelledCandidates(
        candidates,
        np.isin(candidates.hash, np.array([hash_of(stems) for stems in gold], np.uint64)),
        (present, len(gold) - present),
        len(prediction.slots),
    )


@dataclass(frozen=True)
class Pool:
    """The candidates of D documents as columns."""

    documents: Sequence[LabelledCandidates]

    @cached_property
    def document(self) -> Ints:
        """(Q,)"""
        return np.repeat(
            np.arange(len(self.documents)), [len(one.candidates) for one in self.documents]
        )

    @cached_property
    def correct(self) -> Flags:
        """(Q,)"""
        return np.concatenate([_NO_FLAGS, *(one.correct for one in self.documents)])

    @cached_property
    def present(self) -> Flags:
        """(Q,)"""
        return np.concatenate([_NO_FLAGS, *(one.candidates.present for one in self.documents)])

    @cached_property
    def proposed(self) -> Flags:
        """(Q,)"""
        return np.concatenate([_NO_FLAGS, *(one.candidates.proposed for one in self.documents)])

    @cached_property
    def _inputs(self) -> Floats:
        """(Q, I)"""
        none = np.empty((0, len(INPUTS)))
        return np.concatenate([none, *(one.candidates.inputs for one in self.documents)])

    def stems(self, number: int) -> Stems:
        """The stems of one of the Q candidates."""
        document = int(self.document[number])
        return self.documents[document].candidates.stems(
            number - int(np.searchsorted(self.document, document))
        )

    @cached_property
    def _generated(self) -> tuple[Ints, Floats, Floats, Flags]:
        """For each pair (P,): the candidate, P of the slot's first token, P(∅), and whether its
        code is for present phrases."""
        before = np.cumsum([0, *(len(one.candidates) for one in self.documents)]).tolist()
        pairs = [
            (
                before[document] + at,
                slot.first_probability,
                slot.null,
                is_present_code(slot.code, one.num_codes),
            )
            for document, one in enumerate(self.documents)
            for at in np.flatnonzero(one.candidates.generated).tolist()
            for slot in one.candidates[at].slots
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
        generates = ~is_silent(word, null, np.where(first, bias.present, bias.absent))
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

    def mean_f1(self, side: Side, probabilities: Floats, shown: Flags) -> float:
        """The mean of F1@5 and F1@M of one side, for the `shown` (Q,) ordered by probability."""
        chosen = np.flatnonzero(shown & self.of(side))
        chosen = chosen[np.lexsort((-probabilities[chosen], self.document[chosen]))]
        place = 0 if side == "present" else 1
        rankings = Rankings(
            num_gold=np.array([one.num_gold[place] for one in self.documents]),
            document=self.document[chosen],
            hit=self.correct[chosen].astype(np.float64),
            cover_prediction=_EMPTY,
            cover_gold=_EMPTY,
        )
        means = ([x.mean() for x in precision_recall(rankings, cut)] for cut in ("5", "M"))
        return float(np.mean([f1_score(np.array(p), np.array(r)) for p, r in means]))


def tune(documents: Iterable[LabelledCandidates]) -> Calibration:
    """The calibration with the best F1 on these documents."""
    pool = Pool(list(documents))
    bias = NullBias(_START, _START)
    generates = pool.num_generating(NO_NULL).any()  # a light model has no codes
    biases = _BIASES if generates else (_START,)
    for side in SIDES:
        tried = [bias._replace(**{side: value}) for value in biases]
        bias = max(tried, key=lambda one: _fit_side(pool, side, one)[1])
    present, absent = (
        _tune_cutoff(pool, side, bias, _fit_side(pool, side, bias)[0]) for side in SIDES
    )
    found = Calibration(present, absent)
    without = replace(found, drop_subphrases=True)
    return max(found, without, key=lambda one: sum(mean_f1(pool, one).values()))


def _fit_side(pool: Pool, side: Side, bias: NullBias) -> tuple[SideCalibration, float]:
    """The best calibration of a side with these biases, and its mean F1."""
    count = pool.num_generating(bias)
    inputs = pool.inputs(count)
    models: list[LogisticModel | None] = []
    for chosen in (count > 0, (count == 0) & pool.proposed):
        chosen &= pool.of(side)
        if not chosen.any():
            models.append(None)
            continue
        intercept, *weights = fit_logistic(inputs[chosen], pool.correct[chosen]).tolist()
        models.append(LogisticModel(intercept, dict(zip(INPUTS, weights, strict=True))))
    generated, proposed = models
    found = SideCalibration(getattr(bias, side), 0.0, generated, proposed)
    p = _probabilities(pool, found, count)
    shown = (p > 0) & pool.of(side)
    if not shown.any():
        return found, 0.0
    tried = np.maximum(np.quantile(p[shown], _QUANTILES), _MIN_THRESHOLD).tolist()
    values = [pool.mean_f1(side, p, shown & (p >= threshold)) for threshold in tried]
    best = int(np.argmax(values))
    return replace(found, threshold=tried[best]), values[best]


def _tune_cutoff(
    pool: Pool, side: Side, bias: NullBias, fitted: SideCalibration
) -> SideCalibration:
    """The side with the best cutoff, if any is better than none."""
    p = _probabilities(pool, fitted, pool.num_generating(bias))
    possible = (p > 0) & pool.of(side)
    tried = [fitted] + [
        replace(
            fitted,
            threshold=max(share * fitted.threshold, _MIN_THRESHOLD),
            expected_gold_factor=factor,
        )
        for factor in _GOLD_FACTORS
        for share in _THRESHOLD_FACTORS
    ]

    def value(one: SideCalibration) -> float:
        return pool.mean_f1(side, p, _apply_cutoff(pool, one, p, possible))

    return max(tried, key=value)


def _apply_cutoff(
    pool: Pool, side: SideCalibration, probabilities: Floats, possible: Flags
) -> Flags:
    """(Q,) which of the possible candidates (Q,) of one side are shown: those above the threshold,
    up to `SideCalibration.cutoff_by_expected_f1` in each document."""
    shown = possible & (probabilities >= side.threshold)
    if side.expected_gold_factor is None or not shown.any():
        return shown
    order = np.flatnonzero(shown)
    order = order[np.lexsort((-probabilities[order], pool.document[order]))]
    document, p = pool.document[order], probabilities[order]
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
    shown[order[count > cutoff[document]]] = False
    return shown


def mean_f1(pool: Pool, calibration: Calibration) -> dict[Side, float]:
    """The mean of F1@5 and F1@M of the candidates that a calibration shows, for each side."""
    probabilities, shown = score_and_select(pool, calibration)
    return {side: pool.mean_f1(side, probabilities, shown) for side in SIDES}


def score_and_select(pool: Pool, calibration: Calibration) -> tuple[Floats, Flags]:
    """The probability of each candidate by a calibration, and whether it is shown.  (Q,), (Q,)"""
    count = pool.num_generating(calibration.null_bias())
    present, absent = calibration.present, calibration.absent
    p = np.where(
        pool.present, _probabilities(pool, present, count), _probabilities(pool, absent, count)
    )
    shown = np.zeros(len(p), np.bool_)
    for side, each in zip(SIDES, (present, absent), strict=True):
        shown |= _apply_cutoff(pool, each, p, (p > 0) & pool.of(side))
    if calibration.drop_subphrases:
        order = np.lexsort((-p, pool.document))
        for numbers in np.split(order, np.flatnonzero(np.diff(pool.document[order])) + 1):
            by_stems = {pool.stems(one): one for one in numbers.tolist() if shown[one]}
            shown[list(by_stems.values())] = False
            shown[[by_stems[stems] for stems in without_subphrases(list(by_stems))]] = True
    return p, shown


def _probabilities(pool: Pool, side: SideCalibration, count: Ints) -> Floats:
    """(Q,) `SideCalibration.probability` if `count` (Q,) codes generate each candidate; 0 for those
    that are neither generated nor proposed."""
    p = np.zeros(len(count))
    possible = (count > 0) | pool.proposed
    p[possible] = side.probabilities(pool.inputs(count)[possible], count[possible] > 0)
    return p


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


class CalibrationCheck(NamedTuple):
    """Tuning measured on documents that were left out: the phrases that are shown, and the mean F1
    of each side before and after."""

    probabilities: Floats  # (n,)
    correct: Flags  # (n,)
    present: Flags  # (n,)
    before: dict[Side, float]
    after: dict[Side, float]

    def reliability(self, side: Side, bins: int = 10) -> list[tuple[float, float, int]]:
        """Phrases in bins of equal size, by probability: mean probability, share that is correct,
        and number."""
        chosen = np.flatnonzero(self.present == (side == "present"))
        ordered = chosen[np.argsort(self.probabilities[chosen], kind="stable")]
        return [
            (float(self.probabilities[part].mean()), float(self.correct[part].mean()), len(part))
            for part in np.array_split(ordered, bins)
            if len(part)
        ]

    def calibration_error(self, side: Side) -> float:
        """The expected calibration error: the mean distance of probability and share over those
        bins, weighted by their sizes."""
        found = self.reliability(side)
        distance = sum(abs(p - share) * count for p, share, count in found)
        return distance / max(sum(count for *_, count in found), 1)


def cross_validate(documents: Sequence[LabelledCandidates]) -> CalibrationCheck:
    """Tune on each half of the documents, and measure on the other."""
    parts = documents[::2], documents[1::2]
    checks = []
    for fitted, rest in (parts, parts[::-1]):
        calibration, pool = tune(fitted), Pool(rest)
        p, shown = score_and_select(pool, calibration)
        checks.append(
            CalibrationCheck(
                p[shown],
                pool.correct[shown],
                pool.present[shown],
                before=mean_f1(pool, Calibration()),
                after=mean_f1(pool, calibration),
            )
        )
    first, second = checks
    return CalibrationCheck(
        np.concatenate([first.probabilities, second.probabilities]),
        np.concatenate([first.correct, second.correct]),
        np.concatenate([first.present, second.present]),
        before={side: (first.before[side] + second.before[side]) / 2 for side in SIDES},
        after={side: (first.after[side] + second.after[side]) / 2 for side in SIDES},
    )


def draw_reliability_diagram(check: CalibrationCheck, path: Path) -> None:
    """Draw the reliability diagram: calibrated probabilities lie on the diagonal."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", extra="train", purpose="Drawing a diagram") from None

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="perfect")
    for side in SIDES:
        found = check.reliability(side)
        label = f"{side} ({sum(count for *_, count in found):,} phrases)"
        axes.plot([one[0] for one in found], [one[1] for one in found], marker="o", label=label)
    axes.set(xlabel="score", ylabel="share that is correct", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path, dpi=120)
