"""Candidates: the phrases that a model says of a document, each once, with all that is known of it.

Several codes may say the same phrase, in the same or in another inflection; that makes one
candidate. What a calibration weighs is read off here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from one2set.data.document import Document
from one2set.data.specials import SPECIALS
from one2set.inference.prediction import Prediction, Slot
from one2set.text import DIGIT, PhraseIndex, Span, stem_all

# What a calibration can weigh, by name.
INPUTS = (
    "probability",  # log of that of all tokens
    "score",  # log of the mean probability of the words, by which the authors order phrases
    "null",  # log P(∅) of the code that says it best
    "words",
    "single",  # whether it is one word
    "codes",  # log of how many say it
    "occurrences",  # log(1 + how often it stands in the document)
    "place",  # log(1 + the words before it); 0 if it is absent
    "title",  # whether it stands in the title
)
_TINY = 1e-12  # whose logarithm stands for that of 0
_FAR = 512  # words; longer documents than those of training look no different
_NO_WORDS = {*SPECIALS, ".", ","}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase, said by one slot or more."""

    stems: tuple[str, ...]
    slots: tuple[Slot, ...]  # those that say it, best first
    spans: tuple[Span, ...]  # where it stands in the document's text
    place: int  # of its first word; −1 if it is absent
    in_title: bool

    @property
    def text(self) -> str:
        """As its best slot writes it."""
        return self.slots[0].text

    @property
    def present(self) -> bool:
        """Whether the document holds it."""
        return self.place >= 0

    @property
    def readable(self) -> bool:
        """Whether it can be shown: a phrase of words. A number that no document spells is none."""
        unreadable = _NO_WORDS if self.present else {*_NO_WORDS, DIGIT}
        return bool(self.stems) and unreadable.isdisjoint(self.stems)

    def inputs(self) -> tuple[float, ...]:
        """What `INPUTS` names."""
        best = self.slots[0]
        return (
            math.log(max(best.probability, _TINY)),
            math.log(max(best.score, _TINY)),
            math.log(max(best.null, _TINY)),
            float(len(self.stems)),
            float(len(self.stems) == 1),
            math.log(len(self.slots)),
            math.log1p(len(self.spans)),
            math.log1p(min(max(self.place, 0), _FAR)),
            float(self.in_title),
        )


class Reading:
    """A document, read once for any number of predictions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._index = PhraseIndex(document.tokens())

    @cached_property
    def _title_length(self) -> int:
        return len(self.document.title_words())

    def holds(self, stems: Sequence[str]) -> bool:
        """Whether the document has these stems next to each other."""
        return bool(self._index.places(stems))

    def candidates(self, prediction: Prediction) -> list[Candidate]:
        """What a prediction says, in its order. The same phrase again is the same candidate."""
        slots = prediction.phrases
        words = self.document.phrase_words([slot.text for slot in slots])
        saying: dict[tuple[str, ...], list[Slot]] = {}
        for stems, slot in zip(map(stem_all, words), slots, strict=True):
            saying.setdefault(stems, []).append(slot)
        return [self._candidate(stems, same) for stems, same in saying.items()]

    def _candidate(self, stems: tuple[str, ...], slots: Sequence[Slot]) -> Candidate:
        places = self._index.places(stems)
        place = places[0] if places else -1
        return Candidate(
            stems,
            tuple(sorted(slots, key=lambda slot: -slot.probability)),
            tuple(self._index.spans(stems)),
            place,
            in_title=place >= 0 and place + len(stems) <= self._title_length,
        )
