"""Exploration: a document at several positions of the dial, and the output of each control code.

Codes generate independently, and a bias on ∅ only decides whether a code generates a phrase. So one
run in which every code generates a phrase is enough: `apply_null_bias` replaces the phrases of the
codes that would have generated ∅. The dial changes what is shown, neither the codes nor any score.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from one2set.data.control_codes import SIDES, Side
from one2set.data.document import Document, StemmedDocument
from one2set.data.text import stem_all, words_of
from one2set.extraction.knowledge import Knowledge
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.phrase_speller import PhraseSpeller
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.scoring import Passages, score_phrases
from one2set.keyphrases.selection import Selection, select_from_surface
from one2set.keyphrases.surface import Surface
from one2set.prediction.prediction import (
    NullBias,
    Prediction,
    Slot,
    apply_null_bias,
    predicts_null,
)
from one2set.prediction.predictor import Check, never_stop

DIAL = tuple(half / 2 for half in range(-6, 7))  # −3 to 3


class CodeOutput(NamedTuple):
    """The phrase that a control code generates, or would generate."""

    slot: Slot
    side: Side | None  # that the code belongs to; None in a sequence
    generates: bool  # False if it generates ∅ instead
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
    document: StemmedDocument,
    passages: Passages,
    model: tuple[Calibration, Knowledge, PhraseSpeller],
    selections: Iterable[Selection],
    check: Check = never_stop,
) -> Exploration:
    """Explore a document. In the predictions for its passages, every code generates a phrase."""
    calibration, knowledge, speller = model
    bias = calibration.null_bias()
    biased = [(apply_null_bias(prediction, bias), passage) for prediction, passage in passages]
    scored = score_phrases(document, biased, knowledge, calibration, check=check)
    surface = Surface(document.document, speller)
    dial = tuple(
        (
            selection.more,
            select_from_surface(
                surface, scored, calibration, selection, num_passages=len(passages)
            ),
        )
        for selection in selections
    )
    outputs = tuple(
        tuple(_code_outputs(prediction, bias, document.document)) for prediction, _ in passages
    )
    return Exploration(document.document, dial, outputs)


def _code_outputs(
    prediction: Prediction, bias: NullBias, document: Document
) -> Iterator[CodeOutput]:
    for slot in prediction.slots:
        half = prediction.half(slot)
        side = None if prediction.order == "generated" else SIDES[half]
        generates = not predicts_null(slot.first_probability, slot.null, bias[half])
        yield CodeOutput(slot, side, generates, _stems(slot.text, document))


def _stems(text: str, document: Document) -> str:
    return " ".join(stem_all(words_of(text, tokenised=document.tokenised)))
