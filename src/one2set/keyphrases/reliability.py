"""How good and how reliable a calibration is, on documents that were left out of the tuning.

Shapes: D documents, Q candidates of all documents end to end, n phrases that are shown.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats
from one2set.atomic import atomic_file
from one2set.data.control_codes import SIDES, Side
from one2set.data.text import stem_all
from one2set.errors import ConfigError, missing_extra
from one2set.extraction.ngrams import Hashes, hash_of
from one2set.keyphrases.calibration import MIN_THRESHOLD, Calibration
from one2set.keyphrases.phrase_speller import NO_SPELLER, PhraseSpeller
from one2set.keyphrases.selection import DEFAULT_TOP, Selection, select_keyphrases
from one2set.keyphrases.tuning import (
    CandidateTable,
    LabelledCandidates,
    mean_f1,
    score_and_select,
    tune,
)

_PARTS = (2, 4, 8, 16)  # documents that are joined


class CalibrationCheck(NamedTuple):
    """What is shown of documents that were left out of the tuning, and the mean F1 of each side
    before and after it."""

    probabilities: Floats  # (n,)
    correct: Floats  # (n,) 1 if right, else 0; of joined documents, the share where it is right
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
        bins = self.reliability(side)
        distance = sum(abs(p - share) * count for p, share, count in bins)
        return distance / max(sum(count for *_, count in bins), 1)

    def join(self, other: "CalibrationCheck") -> "CalibrationCheck":
        """Two halves as one."""
        return CalibrationCheck(
            np.concatenate([self.probabilities, other.probabilities]),
            np.concatenate([self.correct, other.correct]),
            np.concatenate([self.present, other.present]),
            before={side: (self.before[side] + other.before[side]) / 2 for side in SIDES},
            after={side: (self.after[side] + other.after[side]) / 2 for side in SIDES},
        )


class CrossValidation(NamedTuple):
    """The checks of both operating points, and one of long documents: related ones, joined."""

    f1: CalibrationCheck
    shown: CalibrationCheck
    joined: CalibrationCheck

    def join(self, other: "CrossValidation") -> "CrossValidation":
        """Two folds as one."""
        return CrossValidation(
            self.f1.join(other.f1), self.shown.join(other.shown), self.joined.join(other.joined)
        )


def validate_fold(
    documents: Sequence[LabelledCandidates],
    fold: Literal[0, 1],
    speller: PhraseSpeller = NO_SPELLER,
) -> CrossValidation:
    """Tune on one half of the documents, and measure on the other."""
    return _validate(tune(documents[fold::2]), CandidateTable(documents[1 - fold :: 2]), speller)


def _validate(
    calibration: Calibration, table: CandidateTable, speller: PhraseSpeller
) -> CrossValidation:
    before = mean_f1(table, Calibration())
    p, best = score_and_select(table, calibration)
    f1 = CalibrationCheck(
        p[best],
        table.correct[best].astype(np.float64),
        table.present[best],
        before,
        {side: table.mean_f1(side, p, best) for side in SIDES},
    )
    joined = CalibrationCheck(*join_related(table, p, MIN_THRESHOLD), before, before)
    return CrossValidation(f1, _check_shown(table, p, calibration, speller, before), joined)


def _check_shown(
    table: CandidateTable,
    p: Floats,
    calibration: Calibration,
    speller: PhraseSpeller,
    before: dict[Side, float],
) -> CalibrationCheck:
    """The check of exactly the keyphrases that are shown to readers."""
    shown = [
        select_keyphrases(
            labelled.document.document,
            labelled.scored_phrases(scores, MIN_THRESHOLD),
            calibration,
            Selection(DEFAULT_TOP),
            speller,
        )
        for labelled, scores in zip(table.documents, np.split(p, table.bounds[1:-1]), strict=True)
    ]
    correct = np.array(
        [
            hash_of(stem_all(words)) in labelled.gold
            for labelled, keyphrases in zip(table.documents, shown, strict=True)
            for words in labelled.document.document.phrase_words(
                [keyphrase.text for keyphrase in keyphrases]
            )
        ],
        np.bool_,
    )
    together = [keyphrase for keyphrases in shown for keyphrase in keyphrases]
    present = np.array([keyphrase.present for keyphrase in together], np.bool_)
    document = np.repeat(np.arange(len(shown)), list(map(len, shown)))
    after = {}
    for side in SIDES:
        own = present == (side == "present")
        after[side] = table.mean_f1_of_ranking(side, document[own], correct[own])
    return CalibrationCheck(
        np.array([keyphrase.score for keyphrase in together], np.float64),
        correct.astype(np.float64),
        present,
        before,
        after,
    )


def join_related(
    table: CandidateTable, p: Floats, min_score: float
) -> tuple[Floats, Floats, Flags]:
    """Join related documents into long ones. Returns, for their phrases with a score of at least
    `min_score`, the score, the share of the parts that have it as a keyphrase, and whether it is
    present.  (n,) each

    A part stands for a passage: a score is the mean over the parts, as in `scoring`."""
    bounds = table.bounds
    scores, shares, present = [], [], []
    for group in group_related([labelled.gold for labelled in table.documents], _PARTS):
        rows = np.concatenate([np.arange(bounds[number], bounds[number + 1]) for number in group])
        hashes = np.concatenate([table.documents[number].candidates.hash for number in group])
        distinct, which = np.unique(hashes, return_inverse=True)
        score = np.bincount(which, p[rows], minlength=len(distinct)) / len(group)
        right = np.mean(
            [np.isin(distinct, table.documents[number].gold) for number in group], axis=0
        )
        there = np.bincount(which, table.present[rows], minlength=len(distinct)) > 0
        likely = score >= min_score
        scores.append(score[likely])
        shares.append(right[likely])
        present.append(there[likely])
    return np.concatenate(scores), np.concatenate(shares), np.concatenate(present)


def group_related(gold: Sequence[Hashes], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Divide the documents into groups; their sizes cycle through `sizes`. A group consists of a
    document and those that share most keyphrases with it, filled up with any others."""
    having: dict[int, list[int]] = {}
    for document, hashes in enumerate(gold):
        for name in hashes.tolist():
            having.setdefault(name, []).append(document)
    left = dict.fromkeys(range(len(gold)))
    for size in cycle(sizes):
        if not left:
            return
        first = next(iter(left))
        shared = Counter(document for name in gold[first].tolist() for document in having[name])
        near = [
            document
            for document, _ in shared.most_common()
            if document in left and document != first
        ]
        group = list(dict.fromkeys([first, *near, *islice(left, size)]))[:size]
        for document in group:
            del left[document]
        yield group


def check_diagram(path: Path) -> None:
    """Raise an error if no diagram can be drawn to a file."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise missing_extra("matplotlib", extra="train", purpose="Drawing a diagram") from None
    if path.suffix[1:] not in (known := FigureCanvasBase.get_supported_filetypes()):
        raise ConfigError(f"--diagram is {path}; expected a name that ends in {', '.join(known)}")
    if not path.parent.is_dir():
        raise ConfigError(f"--diagram is {path}, but there is no folder {path.parent}; create it")


def draw_reliability_diagram(check: CalibrationCheck, path: Path) -> None:
    """Draw the reliability diagram: calibrated probabilities lie on the diagonal."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="perfect")
    for side in SIDES:
        bins = check.reliability(side)
        label = f"{side} ({sum(count for *_, count in bins):,} phrases)"
        axes.plot(
            [point[0] for point in bins], [point[1] for point in bins], marker="o", label=label
        )
    axes.set(xlabel="score", ylabel="share that is correct", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    with atomic_file(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=120)
