"""Candidates: the phrases that may be keyphrases of a document, each once, with their inputs.

Control codes generate some of them; several codes may generate the same phrase, in the same or in
another inflection. The others are proposed by `knowledge`, without the network. Candidates are
stored as rows of arrays, because most are never shown; an object is created on access.

Shapes: Q candidates of a passage, G those that a code generates, I inputs, L words of the longest
candidate.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np

from one2set.arrays import Flags, Floats, Ints
from one2set.data.control_codes import Side
from one2set.data.document import Document, StemmedDocument
from one2set.data.specials import SPECIALS
from one2set.data.text import DIGIT, Stems, stem_all
from one2set.extraction.arrays import find_sorted
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge, Proposals, look_up
from one2set.extraction.ngrams import HashedPhrases, Hashes, NgramIndex, hash_words
from one2set.prediction.prediction import Prediction, Slot

_TINY = 1e-12  # its logarithm replaces that of 0
_MAX_POSITION = 512  # words: documents longer than those of training look no different
_MAX_COUNT = 20
_VOTES = 1000  # a share of .001 of the neighbours is hardly more than none
_NO_WORDS = frozenset({*SPECIALS, ".", ","})
_NO_WORDS_IF_ABSENT = _NO_WORDS | {DIGIT}


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
    votes: float = 0.0  # log(1 + 1,000 · the share of similar documents that have it)
    # log of the share of its documents in which it is absent; 0 if it is present or unknown
    absent_share: float = 0.0
    coverage: float = 0.0  # the share of its words that the document has; 0 if it is present


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
        """Whether it can be shown."""
        return is_readable(self.stems, present=self.present)


def is_readable(stems: Stems, *, present: bool) -> bool:
    """Whether a phrase can be shown: it consists of words, and has a letter. A digit placeholder
    that does not occur in the document cannot."""
    letters = any(any(map(str.isalpha, stem)) for stem in stems if stem != DIGIT)
    return letters and (_NO_WORDS if present else _NO_WORDS_IF_ABSENT).isdisjoint(stems)


class _Phrase(NamedTuple):
    """A phrase that codes generate, or that is only proposed."""

    stems: Stems
    text: str
    slots: tuple[Slot, ...] = ()  # best first

    @property
    def inputs(self) -> Inputs:
        """The inputs that describe its slots."""
        best = self.slots[0]
        return Inputs(
            probability=_log(best.probability),
            score=_log(best.score),
            null=_log(best.null),
            codes=math.log(len(self.slots)),
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The phrases of candidates by number: generated ones first, then all proposals."""

    generated: Sequence[_Phrase]
    proposals: Proposals
    passage: StemmedDocument
    knowledge: Knowledge

    def phrase(self, row: int) -> _Phrase:
        if row < len(self.generated):
            return self.generated[row]
        number = row - len(self.generated)
        if (listed := int(self.proposals.listed[number])) >= 0:
            return _Phrase(*self.knowledge.phrase_list.entry(listed))
        # A phrase of the document is spelt as the document spells it.
        at, length = int(self.proposals.at[number]), int(self.proposals.phrases.length[number])
        return _Phrase(self.passage.stems[at : at + length], "")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """The candidates of a passage as columns. One becomes an object when it is asked for."""

    hash: Hashes  # (Q,) the same for the same stems
    inputs: Floats  # (Q, I)
    present: Flags  # (Q,)
    generated: Flags  # (Q,)
    proposed: Flags  # (Q,)
    keyphraseness: Floats  # (Q,) as `Knowledge.count_keyphrases`
    _row: Ints  # (Q,)
    _rows: _Rows
    ngrams: NgramIndex  # of the document

    def __len__(self) -> int:
        return len(self.hash)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> list[Candidate]: ...
    def __getitem__(self, at: int | slice) -> Candidate | list[Candidate]:
        if isinstance(at, slice):
            return [self[index] for index in range(len(self))[at]]
        stems, text, slots = self.phrase(at)
        positions = self.ngrams.positions(int(self.hash[at]), len(stems))
        inputs = Inputs(*self.inputs[at].tolist())
        return Candidate(text, stems, slots, bool(self.proposed[at]), positions, inputs)

    def stems(self, at: int) -> Stems:
        """The stems of one of them."""
        return self.phrase(at).stems

    def phrase(self, at: int) -> _Phrase:
        """The phrase of one of them, which is faster than the candidate."""
        return self._rows.phrase(int(self._row[at]))

    def take(self, which: Ints | Flags) -> "Candidates":
        """Some of them."""
        columns = ("hash", "inputs", "present", "generated", "proposed", "keyphraseness", "_row")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})


def build_candidates(
    document: StemmedDocument, prediction: Prediction, knowledge: Knowledge = NO_KNOWLEDGE
) -> Candidates:
    """The phrases generated for a document or a passage, in the order of the prediction and equal
    ones merged, then those that are only proposed."""
    proposals = knowledge.propose(document, prediction.states)
    generated = _merge_slots(document.document, prediction)
    count = len(generated)
    phrases = HashedPhrases.of([phrase.stems for phrase in generated])
    number = {name: at for at, name in enumerate(proposals.phrases.hash.tolist())}
    same = [number.pop(name, -1) for name in phrases.hash.tolist()]
    rest = list(number.values())
    proposal = np.array(same + rest, np.int64)  # (Q,) its number; −1 if it is only generated
    phrases = phrases.append(proposals.phrases.take(np.array(rest, np.int64)))
    inputs = np.zeros((len(proposal), len(INPUTS)))
    if generated:
        inputs[:count] = [phrase.inputs for phrase in generated]
    words = hash_words(document.stems)
    index = NgramIndex(words)
    occurrences, position = index.find(phrases.hash, phrases.length)
    present = occurrences > 0
    listed = knowledge.phrase_index.index_of(phrases.hash)
    keyphrase_count, keyphraseness = knowledge.count_keyphrases(phrases.hash)
    for name, values in {
        **_word_inputs(phrases, present, words, document.title_length),
        "occurrences": np.log1p(np.minimum(occurrences, _MAX_COUNT)),
        "position": np.log1p(np.minimum(position, _MAX_POSITION)),
        "keyphrase_count": np.log1p(keyphrase_count) * ~present,
        "candidate_score": np.append(proposals.log_odds, MIN_LOG_ODDS)[proposal] * present,
        "pmi": look_up(proposals.pmi, listed),
        "votes": np.log1p(_VOTES * look_up(proposals.votes, listed)),
        "absent_share": knowledge.log_absent_shares(listed) * ~present,
    }.items():
        inputs[:, INPUTS.index(name)] = values
    row = np.append(np.arange(count), count + proposal[count:])
    is_generated = np.arange(len(proposal)) < count
    rows = _Rows(generated, proposals, document, knowledge)
    columns = phrases.hash, inputs, present, is_generated, proposal >= 0, keyphraseness, row
    return Candidates(*columns, rows, index)


def _merge_slots(document: Document, prediction: Prediction) -> list[_Phrase]:
    """The phrases of a prediction, those with the same stems merged."""
    generated = prediction.phrases
    words = document.phrase_words([slot.text for slot in generated])
    by_stems: dict[Stems, list[Slot]] = {}
    for stems, slot in zip(map(stem_all, words), generated, strict=True):
        by_stems.setdefault(stems, []).append(slot)
    phrases = []
    for stems, slots in by_stems.items():
        ordered = sorted(slots, key=lambda slot: -slot.probability)
        phrases.append(_Phrase(stems, ordered[0].text, tuple(ordered)))
    return phrases


def _word_inputs(
    phrases: HashedPhrases, present: Flags, words: Hashes, title_length: int
) -> dict[str, Floats]:
    """The inputs that depend on the words of phrases, given the words of the document."""
    distinct, first, counts = np.unique(words, return_index=True, return_counts=True)
    # The last entry is for words that the document does not have.
    counts = np.append(np.minimum(counts, _MAX_COUNT), 0)
    is_in_title = np.append(first < title_length, False)
    count, frequency = np.maximum(phrases.length, 1), np.ones(len(phrases.length))
    in_title, in_text = np.zeros((2, len(phrases.length)))
    for at, column in enumerate(phrases.words.T):
        which = find_sorted(distinct, column)
        frequency *= np.where(phrases.length > at, counts[which], 1)
        is_repeated = (phrases.words[:, :at] == column[:, None]).any(axis=1)
        in_title += is_in_title[which] & ~is_repeated
        in_text += counts[which] > 0  # padding is no word of the document
    return {
        "words": phrases.length.astype(np.float64),
        "single": (phrases.length == 1).astype(np.float64),
        "title": in_title / count,
        "frequency": np.log1p(frequency) / count,
        "coverage": in_text / count * ~present,
    }


def _log(probability: float) -> float:
    return math.log(max(probability, _TINY))
