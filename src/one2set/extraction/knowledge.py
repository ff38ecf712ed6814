"""Knowledge: what training documents teach beside the network, and what it hints at in a text.

N-grams of the text that a `selector` finds likely, and `known` phrases that the text does not hold:
those whose words are scattered over it, and those that are associated with it. All are candidates
even if no code says them. How much that is worth, a calibration learns. `fitting` makes it.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from one2set.data.document import Document
from one2set.data.phrase_list import NOTHING_KNOWN, PhraseList, Stems
from one2set.extraction.candidate_scorer import Selector
from one2set.extraction.ngrams import Words, hash_of
from one2set.extraction.phrase_classifier import Associations
from one2set.extraction.span_scorer import Views
from one2set.prediction.stream import Project
from one2set.text import stem_all

_ASSOCIATED = 10  # phrases of a text that are hinted at


class Hints(NamedTuple):
    """What is known of a passage."""

    odds: dict[Stems, float]  # n-grams that it holds, and their log odds of being keyphrases
    texts: dict[Stems, str]  # phrases that it need not hold, as authors write them
    lifts: dict[Stems, float]  # by how much the passage makes phrases likelier, as a log


NO_HINTS = Hints({}, {}, {})


class Knowledge(NamedTuple):
    """Known phrases, a selector and associations, where a model has them."""

    known: PhraseList = NOTHING_KNOWN
    selector: Selector | None = None
    associations: Associations | None = None  # of the first of the known phrases

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        if self.known.phrases:
            self.known.save(folder)
        for part in (self.selector, self.associations):
            if part is not None:
                part.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Knowledge":
        """A model's."""
        return cls(PhraseList.load(folder), Selector.load(folder), Associations.load(folder))

    def of_any_network(self) -> "Knowledge":
        """Without the selector's sight, which is of one network only."""
        if self.selector is None:
            return self
        return self._replace(selector=replace(self.selector, sight=None))

    @property
    def project(self) -> Project | None:
        """What `hints` needs of a network's states; None if it needs nothing."""
        sight = None if self.selector is None else self.selector.sight
        return None if sight is None else sight.word_states

    def counted(self, stems: Stems) -> float:
        """log(1 + of how many training documents a phrase is a keyphrase)."""
        if self.selector is None:
            return 0.0
        hashes = np.array([hash_of(stems)], np.uint64)
        return math.log1p(self.selector.lexicon.phrases(hashes)[0][0])

    def hints(self, passage: Document, word_states: Views | None = None) -> Hints:
        """What is known of a passage, of whose words a network may have views."""
        if self.selector is None and not self.known.phrases:
            return NO_HINTS
        stems = stem_all(passage.words())
        text = Words.of([stems], [len(passage.title_words())])
        odds: dict[Stems, float] = {}
        if self.selector is not None:
            columns = self.selector.select(text, word_states)
            found = zip(*(column.tolist() for column in columns), strict=True)
            odds = {stems[at : at + length]: value for at, length, value in found}
        scattered = sorted(self.known.scattered(stems))
        texts = {one: self.known.phrases[one].text for one in scattered}
        lifts: dict[Stems, float] = {}
        if self.associations is not None:
            likely, lift = self.associations(text)
            # Many of the likeliest are present, and no hint.
            best = np.argsort(-likely)[: 5 * _ASSOCIATED].tolist()
            joined = f" {' '.join(stems)} "
            absent = [
                self.known.in_order[number]
                for number in best
                if f" {' '.join(self.known.in_order[number][0])} " not in joined
            ]
            texts |= dict(absent[:_ASSOCIATED])
            mine = {one: self.known.number.get(one) for one in (*odds, *texts)}
            lifts = {
                one: float(lift[number])
                for one, number in mine.items()
                if number is not None and number < len(lift)
            }
        return Hints(odds, texts, lifts)


NOTHING = Knowledge()
