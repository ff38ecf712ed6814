"""Keyphrase dropout (KPDrop, Ray Chowdhury et al. 2022; the variant that replaces documents).

A present phrase that is removed from the source becomes an absent one, to be inferred from the
rest. The removed phrases depend only on the seed, the step and the document, so that neither a
restart nor the number of processes changes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from one2set.data.example import Example, Examples, Ids
from one2set.data.specials import MASK, SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.text import split_present_absent, stem_all


@dataclass(frozen=True, slots=True)
class KeyphraseDropout(Examples):
    """The same documents in the same order, with present phrases removed at random."""

    documents: Sequence[Example]
    vocabulary: WordVocabulary
    share: float  # probability with which a present phrase is removed
    seed: int
    step: int

    def __len__(self) -> int:
        return len(self.documents)

    def at(self, index: int) -> Example:
        example = self.documents[index]
        chance = np.random.default_rng([self.seed, self.step, index])
        drawn = chance.random(len(example.present)) < self.share
        taken = [phrase for phrase, out in zip(example.present, drawn, strict=True) if out]
        return mask_phrases(example, taken, self.vocabulary) if taken else example


def mask_phrases(example: Example, phrases: Sequence[Ids], vocabulary: WordVocabulary) -> Example:
    """Replace all occurrences of some phrases, in any inflection, by a mask. Phrases that no longer
    occur become absent, also those that occurred only inside another."""

    def to_words(ids: Ids) -> list[str]:
        return [vocabulary.text([id], unknown=example.unknown) for id in ids.tolist()]

    left = to_words(example.source)
    stems = list(stem_all(left))
    kept = np.ones(len(left), dtype=bool)
    # The longest first: masking a shorter phrase inside a longer one would leave the rest of it.
    for phrase in sorted((stem_all(to_words(one)) for one in phrases), key=len, reverse=True):
        count = len(phrase)
        for at in range(len(stems) - count + 1):
            if tuple(stems[at : at + count]) == phrase:
                left[at : at + count] = stems[at : at + count] = [SPECIALS[MASK]] * count
                kept[at + 1 : at + count] = False
    masked = np.array([word == SPECIALS[MASK] for word in left])
    everything = [*example.absent, *example.present]
    source = [word for word, stays in zip(left, kept, strict=True) if stays]
    split = split_present_absent([to_words(phrase) for phrase in everything], source)
    return replace(
        example,
        source=np.where(masked, MASK, example.source)[kept].astype(np.int32),
        title_length=int(kept[: example.title_length].sum()),
        # Phrases that became absent follow those that were absent before.
        present=tuple(everything[index] for index in split.present),
        absent=tuple(everything[index] for index in split.absent),
    )
