"""Exploration: a document at every position of the dial, and what each control code says.

Codes generate independently, and the bias on ∅ only decides whether a code generates at all. So one
run without ∅ contains the output at every bias: `apply_null_bias` removes what a bias suppresses.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from one2set.data.document import Document
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import Reading
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Wanted, keyphrases
from one2set.prediction.prediction import SIDES, Prediction, Side, Slot, apply_null_bias
from one2set.text import stem_all, words_of

DIAL = tuple(half / 2 for half in range(-6, 7))  # −3 to 3


class Voice(NamedTuple):
    """What a control code says, or would say."""

    slot: Slot
    side: Side | None  # the half that the code belongs to; a sequence has no halves
    since: float  # the least position of the dial at which it speaks
    stems: str  # by which it is the same phrase as another


@dataclass(frozen=True, slots=True)
class Exploration:
    """A document, explored."""

    document: Document
    dial: tuple[tuple[float, list[Keyphrase]], ...]  # what `generate` finds, by `more`
    passages: tuple[tuple[Voice, ...], ...]  # the codes, of each passage

    def stems(self, text: str) -> str:
        """By which a keyphrase is what a code says."""
        return _stems(text, self.document)


def explore(
    reading: Reading,
    said: Sequence[tuple[Prediction, Document]],
    calibration: Calibration,
    positions: Iterable[Wanted],
) -> Exploration:
    """`said` has a prediction for each passage, in which every code says a phrase."""
    dial = []
    for wanted in positions:
        bias = calibration.null_bias(wanted.more)
        pool = [reading.candidates(apply_null_bias(one, bias), passage) for one, passage in said]
        dial.append((wanted.more, keyphrases(pool, reading, calibration, wanted)))
    voices = tuple(
        tuple(_voices(prediction, calibration, reading.document)) for prediction, _ in said
    )
    return Exploration(reading.document, tuple(dial), voices)


def _voices(
    prediction: Prediction, calibration: Calibration, document: Document
) -> Iterator[Voice]:
    bias = calibration.null_bias()
    for slot in prediction.slots:
        half = prediction.half(slot)
        side = None if prediction.order == "written" else SIDES[half]
        yield Voice(slot, side, bias[half] - slot.log_odds, _stems(slot.text, document))


def _stems(text: str, document: Document) -> str:
    return " ".join(stem_all(words_of(text, tokenised=document.tokenised)))
