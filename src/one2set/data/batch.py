"""Target layouts, and batches of tensors (§3.1, §3.3.2).

Ids are extended ids (see `example`). A target word is *reachable* if the network can generate it or
copy it from the source. Others are `<unk>`, or their phrases are left out.

Shapes: B documents, S source words, R rows of targets per document, L words per row.
A sequence is a single row (R = 1); a set has one row per control code (R = N).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import torch
from torch import Tensor

from one2set.data.control_codes import codes_by_side
from one2set.data.example import Example, pad_rows, pad_sources
from one2set.data.head_targets import HeadTargetBuilder, HeadTargets
from one2set.data.specials import (
    ABSENT_START,
    BOS,
    EOS,
    NULL,
    PAD,
    PEOS,
    PRESENT_START,
    SEP,
    UNK,
)
from one2set.errors import ConfigError

Phrases = Sequence[Sequence[int]]
# The rows of a document's targets, a pure function of its present and its absent phrases.
Layout = Callable[[Phrases, Phrases], list[list[int]]]


def sequence(present: Phrases, absent: Phrases) -> list[list[int]]:
    """One row: `p1 <sep> p2 <sep> a1 <eos>`."""
    return [[*_joined([*present, *absent]), EOS]]


def sequence_peos(present: Phrases, absent: Phrases) -> list[list[int]]:
    """One row with `<peos>` after the present phrases: `p1 <sep> p2 <peos> a1 <eos>`."""
    return [[*_joined(present), PEOS, *_joined(absent), EOS]]


def sequence_missing_eos(present: Phrases, absent: Phrases) -> list[list[int]]:
    """As in the authors' release: without absent phrases, the row ends in `<sep>`, not `<eos>`."""
    return [[*_joined([*present, *absent]), EOS if absent else SEP]]


def nested(present: Phrases, absent: Phrases) -> list[list[int]]:
    """ExHiRD's phrases in one row, each after its mark: `<p> p1 <sep> <a> a1 <sep> <eos>`.

    The separator ends a phrase, also the last one.
    """
    kinds = ((PRESENT_START, present), (ABSENT_START, absent))
    return [[*chain(*([start, *p, SEP] for start, half in kinds for p in half)), EOS]]


def one_to_one(present: Phrases, absent: Phrases) -> list[list[int]]:
    """A row for each phrase, so that every pair of document and phrase is a sample: `p1 <eos>`.
    Without phrases there is one row with `<eos>` only."""
    return [[*phrase, EOS] for phrase in [*present, *absent]] or [[EOS]]


def _joined(phrases: Phrases) -> list[int]:
    return list(chain.from_iterable([SEP, *phrase] for phrase in phrases))[1:]


@dataclass(frozen=True, slots=True)
class SetLayout:
    """A row for each of `num_codes` control codes: a phrase and `<eos>`, or ∅ (§3.3.2).

    Separate: the first half of the rows is for present phrases, the second for absent ones. Phrases
    for which there is no row, and those of `phrase_length` words or more, are left out.
    """

    num_codes: int
    phrase_length: int = 6  # L, which includes `<eos>`
    separate: bool = True
    peos: bool = False  # the authors' single set, for parity: `<peos>` is one of its phrases
    parts: dict[str, slice] = field(init=False, compare=False)  # the rows of each set of targets

    def __post_init__(self) -> None:
        if self.separate and self.num_codes % 2:
            raise ConfigError(
                f"num_codes is {self.num_codes}; separate halves need an even number of codes"
            )
        every = {"all": slice(0, self.num_codes)}
        parts = codes_by_side(self.num_codes) if self.separate else every
        object.__setattr__(self, "parts", parts)

    def __call__(self, present: Phrases, absent: Phrases) -> list[list[int]]:
        mark = [[PEOS]] if self.peos else []
        phrases = {"present": present, "absent": absent, "all": [*present, *mark, *absent]}
        return [*chain(*(self._rows(phrases[name], part) for name, part in self.parts.items()))]

    def _rows(self, phrases: Phrases, part: slice) -> list[list[int]]:
        count = part.stop - part.start
        rows = [[*phrase, EOS] for phrase in phrases if len(phrase) < self.phrase_length][:count]
        rows += [[NULL]] * (count - len(rows))
        return [row + [PAD] * (self.phrase_length - len(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of documents. Numbers that the host needs are not tensors."""

    ids: tuple[str, ...]
    lengths: tuple[int, ...]
    title_lengths: tuple[int, ...]  # the number of its first words that are the title
    oov: tuple[tuple[int, ...], ...]  # the dictionary ids of the extended ids V, V+1, …
    tokens: int  # target tokens without padding, by which a loss is normalised
    source: Tensor  # (B, S), unknown words are `<unk>`
    source_extended: Tensor  # (B, S), unknown words have their extended ids
    source_first: Tensor  # (B, S), the position of the first occurrence of the same word
    source_mask: Tensor  # (B, S), True = a word
    targets: Tensor  # (B, R, L), extended ids
    target_mask: Tensor  # (B, R, L), True = a cell to predict
    heads: HeadTargets | None = None  # of the span scorer and the phrase head

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on a device."""
        return replace(
            self,
            **{
                name: getattr(self, name).to(device, non_blocking=True)
                for name, kind in self.__annotations__.items()
                if kind is Tensor
            },
            heads=None if self.heads is None else self.heads.to(device),
        )


def collate(
    examples: Sequence[Example],
    *,
    vocabulary_size: int,
    layout: Layout | None = None,
    output_size: int | None = None,
    drop_oov_phrases: bool = False,
    head_targets: HeadTargetBuilder | None = None,
) -> Batch:
    """Collate examples into a batch. Without a layout, as in prediction, R = 0.

    The network generates words with ids below `output_size`; by default, its whole vocabulary.
    `drop_oov_phrases` leaves out target phrases with a word that is not reachable.
    """
    sources = pad_sources(examples, vocabulary_size=vocabulary_size)
    generated = vocabulary_size if output_size is None else output_size
    rows: list[list[list[int]]] = []
    for example, extended in zip(examples, sources.oov, strict=True):
        if layout is None:
            rows.append([])
            continue
        # Words of the vocabulary that can only be copied; `extended` has those outside of it.
        copied = {w for w in example.source.tolist() if generated <= w < vocabulary_size}
        present, absent = (
            [
                [
                    extended.get(w, w if w < generated or w in copied else UNK)
                    for w in phrase.tolist()
                ]
                for phrase in half
            ]
            for half in (example.present, example.absent)
        )
        if drop_oov_phrases:
            present, absent = ([p for p in half if UNK not in p] for half in (present, absent))
        rows.append(layout(present, absent))
    height = max(map(len, rows))
    table = pad_rows([row for group in rows for row in group + [[]] * (height - len(group))])
    targets = torch.from_numpy(table).view(len(examples), height, table.shape[1])
    target_mask = targets != PAD
    return Batch(
        ids=tuple(example.id for example in examples),
        lengths=sources.lengths,
        title_lengths=sources.title_lengths,
        oov=tuple(map(tuple, sources.oov)),
        tokens=int(target_mask.sum()),
        source=torch.from_numpy(sources.known),
        source_extended=torch.from_numpy(sources.extended),
        source_first=torch.from_numpy(sources.first),
        source_mask=torch.from_numpy(sources.mask),
        targets=targets,
        target_mask=target_mask,
        heads=None if head_targets is None else head_targets.build(examples, sources.lengths),
    )


def shift_right(tokens: Tensor) -> Tensor:
    """The decoder inputs for `tokens` (…, L): `<bos>`, then each previous token."""
    return torch.cat([torch.full_like(tokens[..., :1], BOS), tokens[..., :-1]], dim=-1)
