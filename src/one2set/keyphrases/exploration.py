"""Exploration: a document at several operating points, and the output of each control code.

Codes generate independently, and a bias on ∅ only decides whether a code generates a phrase. So one
run in which every code generates a phrase is enough: for any bias, `apply_null_bias` silences the
codes that would have generated ∅.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from one2set.data.control_codes import SIDES, Side
from one2set.data.document import Document, StemmedDocument
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import CandidateBuilder
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.prediction.prediction import Prediction, Slot, apply_null_bias
from one2set.prediction.stream import Check, checked, go_on
from one2set.text import stem_all, words_of

BIASES = tuple(half / 2 for half in range(-6, 7))  # −3 to 3


class CodeOutput(NamedTuple):
    """The phrase that a control code generates, or would generate."""

    slot: Slot
    side: Side | None  # that the code belongs to; None in a sequence
    since: float  # the lowest `more` at which it generates the phrase
    stems: str  # joined; equal for equal phrases


@dataclass(frozen=True, slots=True)
class Exploration:
    """A document at several operating points."""

    document: Document
    dial: tuple[tuple[float, list[Keyphrase]], ...]  # (more, keyphrases), as from `generate`
    passages: tuple[tuple[CodeOutput, ...], ...]  # the codes of each passage

    def stems(self, text: str) -> str:
        """The stems of a keyphrase, to find the codes that generate it."""
        return _stems(text, self.document)


def explore(
    builder: CandidateBuilder,
    predictions: Sequence[tuple[Prediction, StemmedDocument]],
    calibration: Calibration,
    selections: Iterable[Selection],
    check: Check = go_on,
) -> Exploration:
    """`predictions` are those of each passage, in which every code generates a phrase."""
    dial = []
    for selection in selections:
        bias = calibration.null_bias(selection.more)
        pool = [
            builder.candidates(apply_null_bias(one, bias), passage)
            for one, passage in checked(predictions, check)
        ]
        dial.append((selection.more, select_keyphrases(pool, builder, calibration, selection)))
    outputs = tuple(
        tuple(_code_outputs(prediction, calibration, builder.document))
        for prediction, _ in predictions
    )
    return Exploration(builder.document, tuple(dial), outputs)


def _code_outputs(
    prediction: Prediction, calibration: Calibration, document: Document
) -> Iterator[CodeOutput]:
    bias = calibration.null_bias()
    for slot in prediction.slots:
        half = prediction.half(slot)
        side = None if prediction.order == "written" else SIDES[half]
        yield CodeOutput(slot, side, bias[half] - slot.log_odds, _stems(slot.text, document))


def _stems(text: str, document: Document) -> str:
    return " ".join(stem_all(words_of(text, tokenised=document.tokenised)))
