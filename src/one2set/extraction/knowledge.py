"""Knowledge: what was learnt from training documents beside the network, and what it proposes.

It proposes the n-grams of a text that a candidate scorer finds likely, and phrases of a list that
need not occur in the text: those whose words are scattered over it, and those that a classifier
finds likely. All are candidates even if no code generates them; a calibration learns how much each
kind is worth. `train_scorers` fits it.
"""

import json
import math
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from one2set.data.document import Document
from one2set.data.phrase_list import NO_PHRASES, PhraseList, Stems
from one2set.errors import DataError
from one2set.extraction.candidate_scorer import CandidateScorer
from one2set.extraction.features import FEATURES_VERSION
from one2set.extraction.ngrams import HashedTexts, hash_of
from one2set.extraction.phrase_classifier import BagOfWordsClassifier
from one2set.extraction.span_rescorer import WordStates
from one2set.prediction.stream import Project
from one2set.text import stem_all, words_of

_NUM_CLASSIFIED = 10  # absent phrases of the classifier that are proposed


VERSIONS = "versions.json"
# Words and suffixes on which another tokeniser or stemmer would differ.
_PROBE = """Micromagnetics, 3D (naïve) state-of-the-art fitting: relational conditional hopping,
17.5 % don't e.g. C++ O(n^2) generalizations oscillators triplicate electrical; analyses, studies,
agreed plastered motoring conflated troubled sized falling happy sky digitizer feudalism"""


class Proposals(NamedTuple):
    """What is proposed for a passage."""

    log_odds: dict[Stems, float]  # its likely n-grams, and their log odds of being keyphrases
    texts: dict[Stems, str]  # phrases that need not occur in it, as authors write them
    pmi: dict[Stems, float]  # log P(phrase | passage) − log P(phrase), where it is known


NO_PROPOSALS = Proposals({}, {}, {})


class Knowledge(NamedTuple):
    """A phrase list, a candidate scorer and a phrase classifier, where a model has them."""

    phrase_list: PhraseList = NO_PHRASES
    candidate_scorer: CandidateScorer | None = None
    phrase_classifier: BagOfWordsClassifier | None = None  # of the first phrases of the list

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, with the versions of what it depends on."""
        (folder / VERSIONS).write_text(f"{json.dumps(current_versions())}\n", encoding="utf-8")
        if self.phrase_list.phrases:
            self.phrase_list.save(folder)
        for part in (self.candidate_scorer, self.phrase_classifier):
            if part is not None:
                part.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Knowledge":
        """The knowledge in a model's folder."""
        check_versions(folder)
        return cls(
            PhraseList.load(folder),
            CandidateScorer.load(folder),
            BagOfWordsClassifier.load(folder),
        )

    def without_span_rescorer(self) -> "Knowledge":
        """Without the span rescorer, which fits one network only."""
        if self.candidate_scorer is None:
            return self
        return self._replace(candidate_scorer=replace(self.candidate_scorer, span_rescorer=None))

    @property
    def project(self) -> Project | None:
        """The projection of encoder states that `propose` needs; None if it needs no states."""
        scorer = self.candidate_scorer
        rescorer = None if scorer is None else scorer.span_rescorer
        return None if rescorer is None else rescorer.project

    def log_keyphrase_count(self, stems: Stems) -> float:
        """log(1 + the number of training documents that have a phrase as a keyphrase)."""
        if self.candidate_scorer is None:
            return 0.0
        hashes = np.array([hash_of(stems)], np.uint64)
        return math.log1p(self.candidate_scorer.lexicon.phrases(hashes)[0][0])

    def propose(self, passage: Document, word_states: WordStates | None = None) -> Proposals:
        """The proposals for a passage, better ones with the states of its words."""
        if self.candidate_scorer is None and not self.phrase_list.phrases:
            return NO_PROPOSALS
        stems = stem_all(passage.words())
        text = HashedTexts.of([stems], [len(passage.title_words())])
        log_odds: dict[Stems, float] = {}
        if self.candidate_scorer is not None:
            columns = self.candidate_scorer.select(text, word_states)
            found = zip(*(column.tolist() for column in columns), strict=True)
            log_odds = {stems[at : at + length]: value for at, length, value in found}
        scattered = sorted(self.phrase_list.find_scattered(stems))
        texts = {one: self.phrase_list.phrases[one].text for one in scattered}
        pmi: dict[Stems, float] = {}
        if self.phrase_classifier is not None:
            log_probabilities, every_pmi = self.phrase_classifier(text)
            # Many of the most probable phrases are present; only absent ones are proposed.
            best = np.argsort(-log_probabilities)[: 5 * _NUM_CLASSIFIED].tolist()
            joined = f" {' '.join(stems)} "
            absent = [
                self.phrase_list.in_order[index]
                for index in best
                if f" {' '.join(self.phrase_list.in_order[index][0])} " not in joined
            ]
            texts |= dict(absent[:_NUM_CLASSIFIED])
            indices = {one: self.phrase_list.index.get(one) for one in (*log_odds, *texts)}
            pmi = {
                one: float(every_pmi[index])
                for one, index in indices.items()
                if index is not None and index < len(every_pmi)
            }
        return Proposals(log_odds, texts, pmi)


NO_KNOWLEDGE = Knowledge()


def current_versions() -> dict[str, Any]:
    """What knowledge depends on: the tokeniser and the stemmer, as hashes of their output for a
    fixed text, and the version of the features. A lexicon has hashes of stems, so with another
    stemmer it would find nothing, without an error."""
    outputs = {"tokenizer": words_of(_PROBE), "stemmer": stem_all(_PROBE.split())}
    digests = {
        name: blake2b(" ".join(output).encode(), digest_size=8).hexdigest()
        for name, output in outputs.items()
    }
    return {**digests, "features": FEATURES_VERSION}


def check_versions(folder: Path) -> None:
    """Refuse a model whose knowledge was learnt with another tokeniser, stemmer or other features.
    Old models do not record them."""
    path = folder / VERSIONS
    if not path.exists():
        return
    try:
        recorded = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise DataError(
            "is not a record of versions", fix="make it again with one2set learn", path=path
        ) from None
    current = current_versions()
    if differing := [name for name in current if recorded.get(name) != current[name]]:
        raise DataError(
            f"the model was learnt with another version of: {', '.join(differing)}",
            fix="learn it again with one2set learn, or install the version of one2set that made it",
            path=path,
        )
