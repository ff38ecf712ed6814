"""Knowledge: what training documents teach beside the network, and what of a text it suggests.

N-grams of the text that a `selector` finds likely, and `known` phrases whose words are scattered
over it: both are candidates even if no code says them. How much that is worth, a calibration
learns.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from one2set.data.document import Document
from one2set.inference.fitting import fit_selector
from one2set.inference.known import NOTHING_KNOWN, KnownPhrases, Stems
from one2set.inference.ngrams import Words, hash_of
from one2set.inference.selector import Selector
from one2set.text import stem_all


class Knowledge(NamedTuple):
    """Known phrases and a selector, where a model has them."""

    known: KnownPhrases = NOTHING_KNOWN
    selector: Selector | None = None

    @classmethod
    def of(cls, documents: Callable[[], Iterable[Document]]) -> "Knowledge":
        """What documents teach whose keyphrases are known. They are read twice."""
        return cls(KnownPhrases.of(documents()), fit_selector(documents()))

    def save(self, folder: Path) -> None:
        """Store it with a model."""
        if self.known.phrases:
            self.known.save(folder)
        if self.selector is not None:
            self.selector.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Knowledge":
        """A model's."""
        return cls(KnownPhrases.load(folder), Selector.load(folder))

    def counted(self, stems: Stems) -> float:
        """log(1 + of how many training documents a phrase is a keyphrase)."""
        if self.selector is None:
            return 0.0
        hashes = np.array([hash_of(stems)], np.uint64)
        return math.log1p(self.selector.lexicon.phrases(hashes)[0][0])

    def likely(self, passage: Document) -> dict[Stems, float]:
        """The likely n-grams of a passage, and their log odds of being keyphrases."""
        if self.selector is None:
            return {}
        stems = stem_all(passage.words())
        text = Words.of([stems], [len(passage.title_words())])
        found = zip(*(column.tolist() for column in self.selector.select(text)), strict=True)
        return {stems[at : at + length]: odds for at, length, odds in found}

    def scattered(self, passage: Document) -> dict[Stems, str]:
        """The known phrases that a passage does not hold, but for all their words, as authors
        write them."""
        if not self.known.phrases:
            return {}
        found = self.known.scattered(stem_all(passage.words()))
        return {stems: self.known.phrases[stems].text for stems in sorted(found)}


NOTHING = Knowledge()
