"""Candidates: phrases that may be keyphrases of a document, each once, and all there is to weigh.

Codes say them; several may say the same phrase, in the same or in another inflection. Others are
suggested by what training documents have taught beside the network (`knowledge`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from one2set.data.document import Document
from one2set.data.phrase_list import Stems
from one2set.data.specials import SPECIALS
from one2set.extraction.candidate_scorer import UNLIKELY
from one2set.extraction.knowledge import NO_HINTS, NOTHING, Hints, Knowledge
from one2set.prediction.prediction import Prediction, Side, Slot
from one2set.text import DIGIT, PhraseIndex, Span, stem_all

# What a calibration can weigh, by name.
INPUTS = (
    "probability",  # log of that of all tokens
    "score",  # log of the mean probability of the words, by which the authors order phrases
    "null",  # log P(∅) of the code that says it best
    "codes",  # log of how many say it
    "words",
    "single",  # whether it is one word
    "occurrences",  # log(1 + how often it stands in the document)
    "place",  # log(1 + the words before it); 0 if it is absent
    "title",  # the share of its words that stand in the title
    "frequency",  # log(1 + Π how often the document has its words), by word
    "known",  # log(1 + of how many training documents it is a keyphrase); 0 if it is present
    "selector",  # the selector's log odds, cut off at `UNLIKELY`; 0 if it is absent
    "association",  # by how much the text makes it likelier, as a log; 0 if that is not known
)
SPOKEN = 4  # so many of them are of the codes that say a phrase, and 0 if none does
UNSAID = (0.0,) * SPOKEN
_TINY = 1e-12  # whose logarithm stands for that of 0
_FAR = 512  # words; longer documents than those of training look no different
_OFTEN = 20
_NO_WORDS = {*SPECIALS, ".", ","}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase."""

    text: str  # as its best slot writes it, or authors do; "" if only the document does
    stems: Stems
    slots: tuple[Slot, ...]  # those that say it, best first; none if it is only suggested
    suggested: bool  # whether it would be a candidate if no code said it
    places: tuple[int, ...]  # the document's words where it stands
    inputs: tuple[float, ...]  # what `INPUTS` names

    @property
    def said(self) -> bool:
        """Whether a code says it."""
        return bool(self.slots)

    @property
    def present(self) -> bool:
        """Whether the document holds it."""
        return bool(self.places)

    @property
    def side(self) -> Side:
        """The half that it belongs to."""
        return "present" if self.places else "absent"

    @property
    def readable(self) -> bool:
        """Whether it can be shown: a phrase of words. A number that no document spells is none."""
        unreadable = _NO_WORDS if self.present else {*_NO_WORDS, DIGIT}
        return bool(self.stems) and unreadable.isdisjoint(self.stems)


class Reading:
    """A document, read once for all its passages."""

    def __init__(self, document: Document, knowledge: Knowledge = NOTHING) -> None:
        self.document, self._knowledge = document, knowledge
        self._index = PhraseIndex(document.tokens())
        self._hints: dict[Document, Hints] = {}
        self._found: dict[Stems, tuple[int, ...]] = {}

    def spans(self, candidate: Candidate) -> tuple[Span, ...]:
        """The characters of the document's text where a candidate stands."""
        return tuple(self._index.span(at, len(candidate.stems)) for at in candidate.places)

    def holds(self, stems: Sequence[str]) -> bool:
        """Whether the document has these stems next to each other."""
        return bool(self._places(tuple(stems)))

    def said(self, prediction: Prediction) -> list[Candidate]:
        """What a prediction says, in its order. The same phrase again is the same candidate."""
        return self._said(prediction, NO_HINTS)

    def candidates(self, prediction: Prediction, passage: Document) -> list[Candidate]:
        """What a prediction says of a passage, then what else is suggested."""
        if passage not in self._hints:  # it is asked for at each position of a dial
            self._hints[passage] = self._knowledge.hints(passage, prediction.word_states)
        hints = self._hints[passage]
        found = self._said(prediction, hints)
        said = {one.stems for one in found}
        # What the document holds is written as it writes it.
        held = {stems: "" for stems in hints.odds if self.holds(stems)}
        return found + [
            self._candidate(text, stems, (), UNSAID, hints)
            for stems, text in (hints.texts | held).items()
            if stems not in said
        ]

    def _said(self, prediction: Prediction, hints: Hints) -> list[Candidate]:
        slots = prediction.phrases
        words = self.document.phrase_words([slot.text for slot in slots])
        saying: dict[Stems, list[Slot]] = {}
        for stems, slot in zip(map(stem_all, words), slots, strict=True):
            saying.setdefault(stems, []).append(slot)
        found = []
        for stems, same in saying.items():
            ordered = tuple(sorted(same, key=lambda slot: -slot.probability))
            best = ordered[0]
            measured = (best.probability, best.score, best.null)
            logs = (*(math.log(max(p, _TINY)) for p in measured), math.log(len(ordered)))
            found.append(self._candidate(best.text, stems, ordered, logs, hints))
        return found

    def _candidate(
        self,
        text: str,
        stems: Stems,
        slots: tuple[Slot, ...],
        spoken: tuple[float, ...],
        hints: Hints,
    ) -> Candidate:
        places = self._places(stems)
        count = max(len(stems), 1)
        often = [min(self._index.count(stem), _OFTEN) for stem in stems]
        written = (
            float(len(stems)),
            float(len(stems) == 1),
            math.log1p(min(len(places), _OFTEN)),
            math.log1p(min(places[0], _FAR)) if places else 0.0,
            len(self._title.intersection(stems)) / count,
            math.log1p(math.prod(often)) / count,
            0.0 if places else self._knowledge.counted(stems),
            hints.odds.get(stems, UNLIKELY) if places else 0.0,
            hints.lifts.get(stems, 0.0),
        )
        suggested = stems in hints.texts or (bool(places) and stems in hints.odds)
        return Candidate(text, stems, slots, suggested, places, spoken + written)

    def _places(self, stems: Stems) -> tuple[int, ...]:
        """Looked for once: the passages of a long document have many phrases in common."""
        if stems not in self._found:
            self._found[stems] = tuple(self._index.positions(stems))
        return self._found[stems]

    @cached_property
    def _title(self) -> frozenset[str]:
        return frozenset(stem_all(self.document.title_words()))
