"""Keyphrase dropout (KPDrop, Ray Chowdhury et al. 2022; the variant that replaces documents): a
present phrase that is taken out of the source is an absent one, to be found by what is left.

What is taken out follows from the seed, the step and the document alone, so neither a restart nor
the number of processes changes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from one2set.data.example import Example, Ids
from one2set.data.specials import MASK, SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.text import split_present_absent, stem_all


@dataclass(frozen=True, slots=True)
class Dropped(Sequence[Example]):
    """Documents as one step of training sees them."""

    documents: Sequence[Example]
    vocabulary: WordVocabulary
    share: float  # how probable each present phrase is to be taken out
    seed: int
    step: int

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        example = self.documents[index]
        chance = np.random.default_rng([self.seed, self.step, index % len(self)])
        drawn = chance.random(len(example.present)) < self.share
        taken = [phrase for phrase, out in zip(example.present, drawn, strict=True) if out]
        return take_out(example, taken, self.vocabulary) if taken else example


def take_out(example: Example, phrases: Sequence[Ids], vocabulary: WordVocabulary) -> Example:
    """The document with a mask wherever one of these phrases stood, in any inflection. Phrases that
    stand nowhere any more are absent ones, those among them that stood only inside another."""

    def words(ids: Ids) -> list[str]:
        return [vocabulary.text([id], unknown=example.unknown) for id in ids.tolist()]

    left = words(example.source)
    stems = list(stem_all(left))
    kept = np.ones(len(left), dtype=bool)
    # The longest first, or else the rest of a phrase that holds a shorter one would stay behind.
    for phrase in sorted((stem_all(words(one)) for one in phrases), key=len, reverse=True):
        count = len(phrase)
        for at in range(len(stems) - count + 1):
            if tuple(stems[at : at + count]) == phrase:
                left[at : at + count] = stems[at : at + count] = [SPECIALS[MASK]] * count
                kept[at + 1 : at + count] = False
    masked = np.array([word == SPECIALS[MASK] for word in left])
    everything = [*example.absent, *example.present]
    source = [word for word, stays in zip(left, kept, strict=True) if stays]
    split = split_present_absent([words(phrase) for phrase in everything], source)
    return replace(
        example,
        source=np.where(masked, MASK, example.source)[kept].astype(np.int32),
        title_length=int(kept[: example.title_length].sum()),
        present=tuple(everything[index] for index in split.present),
        absent=tuple(everything[index] for index in split.absent),
    )
