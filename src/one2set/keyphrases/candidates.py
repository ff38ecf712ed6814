"""Candidates: the phrases that may be keyphrases of a document, each once, with their inputs.

Control codes generate some of them; several codes may generate the same phrase, in the same or in
another inflection. Others are proposed by what was learnt beside the network (`knowledge`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from one2set.data.control_codes import Side
from one2set.data.document import Document
from one2set.data.phrase_list import Stems
from one2set.data.specials import SPECIALS
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS
from one2set.extraction.knowledge import NO_KNOWLEDGE, NO_PROPOSALS, Knowledge, Proposals
from one2set.prediction.prediction import Prediction, Slot
from one2set.text import DIGIT, PhraseIndex, Span, stem_all

_TINY = 1e-12  # its logarithm stands for that of 0
_MAX_POSITION = 512  # words: documents longer than those of training look no different
_MAX_COUNT = 20
_NO_WORDS = {*SPECIALS, ".", ","}


class Inputs(NamedTuple):
    """The inputs of the calibration's logistic models. The first four describe the codes that
    generate a phrase; they are 0 if none does."""

    probability: float = 0.0  # log of the product of the token probabilities
    score: float = 0.0  # log of the words' mean probability, by which the authors order phrases
    null: float = 0.0  # log P(∅) of the best code that generates it
    codes: float = 0.0  # log of the number of codes that generate it
    words: float = 0.0
    single: float = 0.0  # 1 if it is one word
    occurrences: float = 0.0  # log(1 + its occurrences in the document)
    position: float = 0.0  # log(1 + the number of words before it); 0 if it is absent
    title: float = 0.0  # the share of its words that the title has
    frequency: float = 0.0  # log(1 + Π occurrences of its words), divided by their number
    # log(1 + training documents that have it as a keyphrase); 0 if it is present
    keyphrase_count: float = 0.0
    # log odds by the candidate scorer, at least `MIN_LOG_ODDS`; 0 if it is absent
    candidate_score: float = 0.0
    pmi: float = 0.0  # pointwise mutual information of phrase and text; 0 if unknown


INPUTS = Inputs._fields
GENERATED_INPUTS = ("probability", "score", "null", "codes")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase that may be a keyphrase."""

    text: str  # as its best slot or the phrase list has it; "" if it is only in the document
    stems: Stems
    slots: tuple[Slot, ...]  # those that generate it, best first; none if it is only proposed
    proposed: bool  # whether it would be a candidate if no code generated it
    positions: tuple[int, ...]  # its occurrences: indices of words of the document
    inputs: Inputs

    @property
    def generated(self) -> bool:
        """Whether a code generates it."""
        return bool(self.slots)

    @property
    def present(self) -> bool:
        """Whether it occurs in the document."""
        return bool(self.positions)

    @property
    def side(self) -> Side:
        """Whether it is a present or an absent phrase."""
        return "present" if self.positions else "absent"

    @property
    def readable(self) -> bool:
        """Whether it can be shown: it consists of words, and has a letter. A digit placeholder that
        does not occur in the document cannot."""
        unreadable = _NO_WORDS if self.present else {*_NO_WORDS, DIGIT}
        letters = any(any(map(str.isalpha, stem)) for stem in self.stems if stem != DIGIT)
        return letters and unreadable.isdisjoint(self.stems)


class CandidateBuilder:
    """Builds the candidates of one document, from the predictions for its passages."""

    def __init__(self, document: Document, knowledge: Knowledge = NO_KNOWLEDGE) -> None:
        self.document, self._knowledge = document, knowledge
        self._index = PhraseIndex(document.tokens())
        self._proposals: dict[Document, Proposals] = {}
        self._positions: dict[Stems, tuple[int, ...]] = {}

    def spans(self, candidate: Candidate) -> tuple[Span, ...]:
        """The character spans of a candidate's occurrences in the document's text."""
        return tuple(self._index.span(at, len(candidate.stems)) for at in candidate.positions)

    def contains(self, stems: Sequence[str]) -> bool:
        """Whether these stems occur in the document next to each other."""
        return bool(self._find(tuple(stems)))

    def generated(self, prediction: Prediction) -> list[Candidate]:
        """The phrases of a prediction in its order, equal ones merged."""
        return self._generated(prediction, NO_PROPOSALS)

    def candidates(self, prediction: Prediction, passage: Document) -> list[Candidate]:
        """The phrases generated for a passage, then those that are only proposed."""
        if passage not in self._proposals:  # `explore` asks once per operating point
            self._proposals[passage] = self._knowledge.propose(passage, prediction.word_states)
        proposals = self._proposals[passage]
        found = self._generated(prediction, proposals)
        known = {one.stems for one in found}
        # A phrase of the document is spelt as the document spells it.
        present = {stems: "" for stems in proposals.log_odds if self.contains(stems)}
        return found + [
            self._candidate(text, stems, (), Inputs(), proposals)
            for stems, text in (proposals.texts | present).items()
            if stems not in known
        ]

    def _generated(self, prediction: Prediction, proposals: Proposals) -> list[Candidate]:
        slots = prediction.phrases
        words = self.document.phrase_words([slot.text for slot in slots])
        by_stems: dict[Stems, list[Slot]] = {}
        for stems, slot in zip(map(stem_all, words), slots, strict=True):
            by_stems.setdefault(stems, []).append(slot)
        found = []
        for stems, same in by_stems.items():
            ordered = tuple(sorted(same, key=lambda slot: -slot.probability))
            best = ordered[0]
            inputs = Inputs(
                probability=_log(best.probability),
                score=_log(best.score),
                null=_log(best.null),
                codes=math.log(len(ordered)),
            )
            found.append(self._candidate(best.text, stems, ordered, inputs, proposals))
        return found

    def _candidate(
        self,
        text: str,
        stems: Stems,
        slots: tuple[Slot, ...],
        inputs: Inputs,
        proposals: Proposals,
    ) -> Candidate:
        positions = self._find(stems)
        count = max(len(stems), 1)
        frequencies = [min(self._index.count(stem), _MAX_COUNT) for stem in stems]
        inputs = inputs._replace(
            words=float(len(stems)),
            single=float(len(stems) == 1),
            occurrences=math.log1p(min(len(positions), _MAX_COUNT)),
            position=math.log1p(min(positions[0], _MAX_POSITION)) if positions else 0.0,
            title=len(self._title.intersection(stems)) / count,
            frequency=math.log1p(math.prod(frequencies)) / count,
            keyphrase_count=0.0 if positions else self._knowledge.log_keyphrase_count(stems),
            candidate_score=proposals.log_odds.get(stems, MIN_LOG_ODDS) if positions else 0.0,
            pmi=proposals.pmi.get(stems, 0.0),
        )
        proposed = stems in proposals.texts or (bool(positions) and stems in proposals.log_odds)
        return Candidate(text, stems, slots, proposed, positions, inputs)

    def _find(self, stems: Stems) -> tuple[int, ...]:
        """Where stems occur. Cached: the passages of a long document share many phrases."""
        if stems not in self._positions:
            self._positions[stems] = tuple(self._index.positions(stems))
        return self._positions[stems]

    @cached_property
    def _title(self) -> frozenset[str]:
        return frozenset(stem_all(self.document.title_words()))


def _log(probability: float) -> float:
    return math.log(max(probability, _TINY))
