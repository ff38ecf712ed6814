"""An example: a document as dictionary ids, the input of training and prediction.

Dictionary ids are ordered by frequency, specials first. A network's vocabulary is the ids below its
size; higher ids are words that it can only copy. In a batch, an unknown word of a source has an
*extended id* V, V+1, … by its first occurrence in that document, where V is the vocabulary's size.
Beyond `MAX_OOV` such words it is `<unk>`. Needs no torch.

Shapes: B documents, S source words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Ints
from one2set.data.specials import PAD, UNK

Ids = NDArray[np.int32]
MAX_OOV = 1000  # copyable unknown words of one document; further ones are `<unk>`
USUAL_TITLE = 10  # words: the beginning of a document without a title is used instead


@dataclass(frozen=True, slots=True)
class Example:
    """One document.

    The first `title_length` ids of the source are the title. Present phrases are in the order of
    their first occurrence, absent ones in the author's order. Words that are not in the dictionary
    have the ids after it; `unknown` has their text.
    """

    id: str
    source: Ids  # (S,)
    title_length: int
    present: tuple[Ids, ...] = ()
    absent: tuple[Ids, ...] = ()
    unknown: tuple[str, ...] = ()


class Sources(NamedTuple):
    """The sources of some documents."""

    lengths: tuple[int, ...]
    title_lengths: tuple[int, ...]  # the number of its first words that are the title
    oov: tuple[dict[int, int], ...]  # of each document, dictionary id → extended id
    known: Ints  # (B, S), unknown words are `<unk>`
    extended: Ints  # (B, S), unknown words have their extended ids
    first: Ints  # (B, S), the position of the first occurrence of the same word

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(B, S), True = a word."""
        return np.arange(self.extended.shape[1]) < np.array(self.lengths)[:, None]


def pad_sources(examples: Sequence[Example], *, vocabulary_size: int) -> Sources:
    """Pad the sources of examples. A source without words becomes one `<unk>`, because attention
    needs a position."""
    sources, firsts, oov = [], [], []
    for example in examples:
        source, extended_ids = _extend(example.source, vocabulary_size)
        _, first, inverse = np.unique(source, return_index=True, return_inverse=True)
        sources.append(source)
        firsts.append(first[inverse])
        oov.append(extended_ids)
    lengths = tuple(map(len, sources))
    title_lengths = tuple(
        min(example.title_length or USUAL_TITLE, length)
        for example, length in zip(examples, lengths, strict=True)
    )
    extended = pad_rows(sources)
    known = np.where(extended < vocabulary_size, extended, UNK)
    return Sources(lengths, title_lengths, tuple(oov), known, extended, pad_rows(firsts))


def pad_rows(rows: Sequence[Sequence[int] | Ints]) -> Ints:
    """Rows of different lengths as one table, padded with `<pad>` (0)."""
    table = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _extend(source: Ids, vocabulary_size: int) -> tuple[Ints, dict[int, int]]:
    """A source in extended ids, and the map from dictionary ids to extended ids."""
    words = source.astype(np.int64) if len(source) else np.array([UNK])
    extended: dict[int, int] = {}
    for place in np.flatnonzero(words >= vocabulary_size):
        word = int(words[place])
        if word not in extended and len(extended) < MAX_OOV:
            extended[word] = vocabulary_size + len(extended)
        words[place] = extended.get(word, UNK)
    return words, extended
