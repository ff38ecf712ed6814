"""Knowledge: the components that `one2set learn` fits on training documents, without the network.

They propose candidates that no control code needs to generate: n-grams of the text that the
candidate scorer finds likely, and phrases of a list that need not occur in the text (phrases whose
words are scattered over the text, phrases that the phrase classifier finds likely, keyphrases of
similar documents). The calibration weights each kind. `fit_knowledge` fits the components.
"""

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from one2set.arrays import Float32s, Floats, Ints
from one2set.data import phrase_list
from one2set.data.document import StemmedDocument
from one2set.data.phrase_list import NO_PHRASES, PhraseList
from one2set.data.text import stem_all, words_of
from one2set.errors import DataError
from one2set.extraction import (
    candidate_scorer,
    lexicon,
    neighbors,
    phrase_classifier,
    phrase_index,
    span_rescorer,
)
from one2set.extraction.arrays import distinct, find_highest
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS, CandidateScorer
from one2set.extraction.features import FEATURES_VERSION
from one2set.extraction.neighbors import NeighborIndex
from one2set.extraction.ngrams import HashedPhrases, HashedTexts, Hashes, NgramIndex
from one2set.extraction.phrase_classifier import PhraseClassifier
from one2set.extraction.phrase_index import PhraseIndex
from one2set.extraction.span_rescorer import pool_states
from one2set.model.manifest import MANIFEST, check_manifest, update_manifest
from one2set.model.paths import VERSIONS, find_knowledge_folder, is_bundled, is_light
from one2set.prediction.prediction import TokenStates
from one2set.prediction.predictor import Project

# Absent phrases of the classifier and of the neighbours that are proposed.
_NUM_CLASSIFIED, _NUM_VOTED = 10, 20
_MIN_TEXTS = 100  # that have a phrase, to tell its keyphraseness


# Words and suffixes on which another tokeniser or stemmer would differ.
_PROBE = """Micromagnetics, 3D (naïve) state-of-the-art fitting: relational conditional hopping,
17.5 % don't e.g. C++ O(n^2) generalizations oscillators triplicate electrical; analyses, studies,
agreed plastered motoring conflated troubled sized falling happy sky digitizer feudalism"""


class Proposals(NamedTuple):
    """What is proposed for a passage: its likely n-grams, then phrases of the list that need not
    occur in it. Each phrase is there once. Q of them, L words of the longest. And what is known of
    phrases of the list, proposed or not: A that are classified, P in all."""

    phrases: HashedPhrases  # (Q, L)
    at: Ints  # (Q,) where an n-gram first begins in the passage; −1 for phrases of the list
    listed: Ints  # (Q,) the index in the list; −1 for n-grams
    log_odds: Floats  # (Q,) of being keyphrases; `MIN_LOG_ODDS` for phrases of the list
    pmi: Float32s  # (A,) log P(phrase | passage) − log P(phrase)
    votes: Float32s  # (P,) see `NeighborIndex.vote`; empty if there is no index


_NONE, _NO_FLOATS = np.empty(0, np.int64), np.empty(0, np.float32)
NO_PROPOSALS = Proposals(HashedPhrases.of([]), _NONE, _NONE, np.empty(0), _NO_FLOATS, _NO_FLOATS)


@dataclass(frozen=True)
class Knowledge:
    """A phrase list, a candidate scorer, a phrase classifier and an index of neighbours, where a
    model has them."""

    phrase_list: PhraseList = NO_PHRASES
    candidate_scorer: CandidateScorer | None = None
    phrase_classifier: PhraseClassifier | None = None  # of the first phrases of the list
    neighbor_index: NeighborIndex | None = None
    stored_phrase_index: PhraseIndex | None = field(default=None, compare=False)  # of the list

    def save(self, folder: Path) -> None:
        """Write it into a model's folder, with the versions of tokeniser, stemmer and features."""
        (folder / VERSIONS).write_text(f"{json.dumps(current_versions())}\n", encoding="utf-8")
        if len(self.phrase_list):
            self.phrase_list.save(folder)
            self.phrase_index.save(folder, self.phrase_list.checksum)
        for part in (self.candidate_scorer, self.phrase_classifier, self.neighbor_index):
            if part is not None:
                part.save(folder)
        update_manifest(folder)

    @classmethod
    def load(cls, folder: Path) -> "Knowledge":
        """The knowledge of a model."""
        shared = find_knowledge_folder(folder)
        check_versions(shared)
        phrases, classifier = PhraseList.load(shared), PhraseClassifier.load(shared)
        neighbor_index = NeighborIndex.load(shared)
        _check_parts(shared, phrases, classifier, neighbor_index)
        knowledge = cls(
            phrases,
            CandidateScorer.load(shared),
            classifier,
            neighbor_index,
            PhraseIndex.load(shared, phrases.checksum),
        )
        if not is_light(folder):
            return knowledge
        if knowledge.candidate_scorer is None:
            fix = (
                "copy it together with the model whose components it shares, or make it again with "
                "one2set learn"
            )
            raise DataError("this light model has no learnt components", fix=fix, path=folder)
        return knowledge.without_span_rescorer()

    def without_span_rescorer(self) -> "Knowledge":
        """Without the span rescorer, which fits one network only."""
        if self.candidate_scorer is None:
            return self
        scorer = replace(self.candidate_scorer, span_rescorer=None)
        return replace(self, candidate_scorer=scorer)

    @property
    def project(self) -> Project | None:
        """The projection of encoder states that `propose` needs; None if it needs no states."""
        scorer = self.candidate_scorer
        rescorer = None if scorer is None else scorer.span_rescorer
        return None if rescorer is None else rescorer.project

    def count_keyphrases(self, hashes: Hashes) -> tuple[Floats, Floats]:
        """(Q,) the number of training documents that have each phrase as a keyphrase; and its
        keyphraseness, their share of the training texts with the phrase, 1 if too few have it."""
        if self.candidate_scorer is None:
            return np.zeros(len(hashes)), np.ones(len(hashes))
        keyphrases, texts = self.candidate_scorer.lexicon.phrases(hashes)
        shares = np.where(texts >= _MIN_TEXTS, keyphrases / np.maximum(texts, 1), 1.0)
        return keyphrases, shares

    def propose(self, passage: StemmedDocument, states: TokenStates | None = None) -> Proposals:
        """The proposals for a passage, better ones with the states of its tokens."""
        if not passage.stems or (self.candidate_scorer is None and not len(self.phrase_list)):
            return NO_PROPOSALS
        text = HashedTexts.of([passage.stems], [passage.title_length])
        at, length, log_odds = self._select(text, passage, states)
        columns = np.arange(length.max(initial=0))
        inside = columns < length[:, None]
        words = np.where(inside, text.hash[np.where(inside, at[:, None] + columns, 0)], 0)
        ngrams = HashedPhrases.of_words(words, length)
        index = self.phrase_index.index_of(ngrams.hash)
        likely, pmi, votes = self._list(text)
        known = {*index.tolist()}
        listed = np.array([number for number in likely if number not in known], np.int64)
        none = np.full(len(listed), -1)
        return Proposals(
            ngrams.append(self.phrase_index.phrases.take(listed)),
            np.concatenate([at, none]),
            np.concatenate([np.full(len(at), -1), listed]),
            np.concatenate([log_odds, np.full(len(listed), MIN_LOG_ODDS)], dtype=np.float64),
            pmi,
            votes,
        )

    def _select(
        self, text: HashedTexts, passage: StemmedDocument, states: TokenStates | None
    ) -> tuple[Ints, Ints, Float32s]:
        """The likely n-grams of a passage, as in `CandidateScorer.select`."""
        if self.candidate_scorer is None:
            return _NONE, _NONE, np.empty(0, np.float32)
        pooled = None if states is None else pool_states(states, passage.spans)
        return self.candidate_scorer.select(text, pooled)

    def _list(self, text: HashedTexts) -> tuple[list[int], Float32s, Float32s]:
        """The phrases of the list to propose for a text: those that are scattered over it, and
        those that do not occur in it and are most likely or have most votes. And the pmi of the
        first phrases of the list, and the votes for all."""
        scattered = sorted(self.phrase_index.find_scattered(distinct(text.hash)).tolist())
        if self.phrase_classifier is None:
            return scattered, _NO_FLOATS, _NO_FLOATS
        ngrams, vector = NgramIndex(text.hash), self.phrase_classifier.embed(text)
        log_probabilities, pmi = self.phrase_classifier(vector)
        absent = self._best_absent(ngrams, log_probabilities, _NUM_CLASSIFIED)
        votes = _NO_FLOATS
        if self.neighbor_index is not None:
            votes = self.neighbor_index.vote(vector)
            absent += self._best_absent(ngrams, votes, _NUM_VOTED)
        return list(dict.fromkeys(scattered + absent)), pmi, votes

    def _best_absent(self, ngrams: NgramIndex, scores: Float32s, count: int) -> list[int]:
        """The phrases with the highest scores that do not occur in a text."""
        best = find_highest(scores, 5 * count)  # many of them occur in it
        best = best[np.argsort(-scores[best], kind="stable")]
        phrases = self.phrase_index.phrases.take(best)
        occurrences, _ = ngrams.find(phrases.hash, phrases.length)
        absent: list[int] = best[occurrences == 0][:count].tolist()
        return absent

    def log_absent_shares(self, index: Ints) -> Floats:
        """(Q,) log of the share of the documents with each keyphrase in which it is absent, for
        indices into the list; 0 if it is unknown."""
        known = np.empty(0) if self.neighbor_index is None else self.neighbor_index.absent
        return look_up(known, index)

    @cached_property
    def phrase_index(self) -> PhraseIndex:
        """Finds phrases of the list."""
        return self.stored_phrase_index or PhraseIndex.of(list(self.phrase_list.phrases))


NO_KNOWLEDGE = Knowledge()
KNOWLEDGE_FILES = frozenset(
    {VERSIONS, phrase_list.FILE, phrase_index.FILE, neighbors.FILE, lexicon.FILE}
    | {part.FILE for part in (candidate_scorer, span_rescorer, phrase_classifier)}
)


def check_model(folder: Path) -> None:
    """Check the manifest of a model's folder; and of the folder that a light model shares, as far
    as it shares it. The files of the package were checked when it was installed, so that their
    sizes are enough: hashing them would be a tenth of the time to the first keyphrase."""
    check_manifest(folder, sizes_only=is_bundled(folder))
    if (shared := find_knowledge_folder(folder)) != folder and shared.is_dir():
        others = {path.name for path in shared.iterdir()}.difference(KNOWLEDGE_FILES)
        check_manifest(shared, ignore=others, sizes_only=is_bundled(shared))


def model_files(folder: Path) -> list[Path]:
    """All files of a model, also those that a light model shares: copied into one folder, they are
    the same model."""
    own = [path for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."]
    if (shared := find_knowledge_folder(folder)) == folder:
        return own
    files = [*own, *(path for path in sorted(shared.iterdir()) if path.name in KNOWLEDGE_FILES)]
    return [path for path in files if path.name != MANIFEST]


def look_up(values: Float32s | Floats, index: Ints) -> Floats:
    """(Q,) values of phrases of the list by their indices (Q,); 0 where there is none."""
    is_known = (index >= 0) & (index < len(values))
    found = np.zeros(len(index))
    found[is_known] = values[index[is_known]]
    return found


def _check_parts(
    folder: Path,
    phrases: PhraseList,
    classifier: PhraseClassifier | None,
    index: NeighborIndex | None,
) -> None:
    """Check that the parts of knowledge fit each other."""
    numbers = {
        "the phrase classifier": 0 if classifier is None else len(classifier.bias),
        "the index of neighbours": 0 if index is None else len(index.absent),
    }
    fix = "make it again with one2set learn"
    for name, number in numbers.items():
        if number > len(phrases):
            what = f"has {len(phrases):,} phrases; {name} knows {number:,}"
            raise DataError(what, fix=fix, path=folder / phrase_list.FILE)
    if index is not None and (
        classifier is None or index.centroids.shape[1] != classifier.phrases.shape[1]
    ):
        what = "does not fit the phrase classifier"
        raise DataError(what, fix=fix, path=folder / neighbors.FILE)


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
    A model without knowledge has no record of them."""
    path = folder / VERSIONS
    if not path.exists():
        return
    try:
        recorded = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, OSError, RecursionError):
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
