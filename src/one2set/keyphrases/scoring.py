"""Score the phrases of a document: the probability that each is a keyphrase.

Each passage is scored like a separate document, so that positions and counts have the range of an
abstract, as in training. The score of a phrase in the whole text is the mean of its scores in the
passages, weighted by their lengths: the probability that the author of a random part of the text
would have chosen it. Scores therefore do not grow with the length of a text, and repeating a text
does not change them.

Shapes: Q candidates of all passages end to end, U distinct ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from one2set.data.control_codes import Side
from one2set.data.document import StemmedDocument
from one2set.data.text import Span, Stems
from one2set.extraction.candidates import build_candidates, is_readable
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.ngrams import NgramIndex, hash_words
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.thesaurus import Term
from one2set.prediction.prediction import Prediction
from one2set.prediction.predictor import Check, never_stop

Passages = Sequence[tuple[Prediction, StemmedDocument]]  # with the prediction of each


class ScoredPhrase(NamedTuple):
    """A phrase with the probability that it is a keyphrase of a document."""

    stems: Stems
    score: float
    text: str  # as `Candidate.text`
    spans: tuple[Span, ...]  # its occurrences in the document
    term: Term | None = None  # of a thesaurus, with the same stems
    # The share of training texts with it that have it as a keyphrase; 1 if few texts have it.
    keyphraseness: float = 1.0

    @property
    def side(self) -> Side:
        """Whether it is a present or an absent phrase."""
        return "present" if self.spans else "absent"


def score_phrases(
    document: StemmedDocument,
    passages: Passages,
    knowledge: Knowledge,
    calibration: Calibration,
    *,
    min_score: float = 0.0,
    check: Check = never_stop,
) -> list[ScoredPhrase]:
    """The phrases of a document that have at least this score, and more than 0."""
    by_passage = []
    for prediction, passage in passages:
        check()
        by_passage.append(build_candidates(passage, prediction, knowledge))
    lengths = np.array([len(passage.words) - passage.title_length + 1 for _, passage in passages])
    share = lengths / lengths.sum()
    p = np.concatenate([calibration.probabilities(candidates) for candidates in by_passage])  # (Q,)
    passage_of = np.repeat(np.arange(len(by_passage)), list(map(len, by_passage)))
    hashes = np.concatenate([candidates.hash for candidates in by_passage])
    distinct, which = np.unique(hashes, return_inverse=True)
    score = np.bincount(which, share[passage_of] * p, minlength=len(distinct))  # (U,)
    by_score = np.lexsort((-p, which))  # those of the same phrase together, the best first
    best = by_score[np.searchsorted(which[by_score], np.arange(len(distinct)))]  # (U,)
    row = np.arange(len(p)) - np.searchsorted(passage_of, passage_of)
    occurrences = NgramIndex(hash_words(document.stems))
    phrases = []
    for index in np.flatnonzero((score >= min_score) & (score > 0)).tolist():
        candidates, at = by_passage[passage_of[best[index]]], row[best[index]]
        stems, text, _ = candidates.phrase(at)
        positions = occurrences.positions(int(distinct[index]), len(stems))
        # Where a passage leaves out repeats, it joins words that are apart in the document.
        is_joined = not positions and not text
        if not is_joined and is_readable(stems, present=bool(positions)):
            spans = document.find_spans(positions, len(stems))
            keyphraseness = float(candidates.keyphraseness[at])
            phrases.append(
                ScoredPhrase(stems, float(score[index]), text, spans, keyphraseness=keyphraseness)
            )
    return phrases
