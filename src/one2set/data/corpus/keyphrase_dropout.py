"""Keyphrase dropout (KPDrop, Ray Chowdhury et al. 2022; the variant that replaces documents): a
present phrase that is taken out of the source is an absent one, to be found by what is left.

What is taken out follows from the seed, the step and the document alone, so neither a restart nor
the number of processes changes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from one2set.data.example import Example, Examples, Ids
from one2set.data.specials import MASK, SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.text import split_present_absent, stem_all


@dataclass(frozen=True, slots=True)
class Dropped(Examples):
    """As many documents, in their order, with phrases taken out at random."""

    documents: Sequence[Example]
    vocabulary: WordVocabulary
    share: float  # how probable each present phrase is to be taken out
    seed: int
    step: int

    def __len__(self) -> int:
        return len(self.documents)

    def at(self, index: int) -> Example:
        example = self.documents[index]
        chance = np.random.default_rng([self.seed, self.step, index])
        drawn = chance.random(len(example.present)) < self.share
        taken = [phrase for phrase, out in zip(example.present, drawn, strict=True) if out]
        return take_out(example, taken, self.vocabulary) if taken else example


def take_out(example: Example, phrases: Sequence[Ids], vocabulary: WordVocabulary) -> Example:
    """The document with a mask wherever one of these phrases stood, in any inflection. Phrases that
    stand nowhere any more are absent ones, those among them that stood only inside another."""

    def spelt(ids: Ids) -> list[str]:
        return [vocabulary.text([id], unknown=example.unknown) for id in ids.tolist()]

    left = spelt(example.source)
    stems = list(stem_all(left))
    kept = np.ones(len(left), dtype=bool)
    # The longest first, or else the rest of a phrase that holds a shorter one would stay behind.
    for phrase in sorted((stem_all(spelt(one)) for one in phrases), key=len, reverse=True):
        count = len(phrase)
        for at in range(len(stems) - count + 1):
            if tuple(stems[at : at + count]) == phrase:
                left[at : at + count] = stems[at : at + count] = [SPECIALS[MASK]] * count
                kept[at + 1 : at + count] = False
    masked = np.array([word == SPECIALS[MASK] for word in left])
    everything = [*example.absent, *example.present]
    source = [word for word, stays in zip(left, kept, strict=True) if stays]
    split = split_present_absent([spelt(phrase) for phrase in everything], source)
    return replace(
        example,
        source=np.where(masked, MASK, example.source)[kept].astype(np.int32),
        title_length=int(kept[: example.title_length].sum()),
        # Those that are absent only since now follow those that were.
        present=tuple(everything[index] for index in split.present),
        absent=tuple(everything[index] for index in split.absent),
    )
