"""Decoding of sets and sequences, word by word.

Shapes: B documents, R rows per document, T steps; r rows that are still being written, t tokens
that each of them has written.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from one2set.data.specials import BOS, EOS, NULL
from one2set.model.network import Memory, Network
from one2set.model.pointer import Choice, Mixture

# The next word of each of some rows: which of all rows they are (r,), and what they wrote (r, t).
Choose = Callable[[Tensor, Mixture, Tensor], Choice]
# What is added to log P(∅) where a row begins, in the first half of a document's rows and in the
# second.
NullBias = tuple[float, float]


class Rows(NamedTuple):
    """What was written. Cells after the end of a row are zero."""

    length: Tensor  # (B, R) tokens written, with the one that ended the row
    tokens: Tensor  # (B, R, T) extended ids
    probability: Tensor  # (B, R, T) of each token
    place: Tensor  # (B, R, T) the most attended source word
    null: Tensor  # (B, R) the probability of ∅ as the first token


class Step(NamedTuple):
    """One step of the rows that are still being written."""

    rows: Tensor  # (r,) which of the B·R rows they are
    mixture: Mixture
    choice: Choice


def most_probable(rows: Tensor, mixture: Mixture, written: Tensor) -> Choice:
    """The greedy choice."""
    return mixture.greedy()


def anything_but_null(rows: Tensor, mixture: Mixture, written: Tensor) -> Choice:
    """The greedy choice of rows that have to speak."""
    return mixture.greedy(forbidden=torch.full((len(rows), 1), NULL, device=rows.device))


@dataclass(frozen=True)
class Biased:
    """The greedy choice, but for ∅ where rows begin; a document has `count` of them."""

    null_bias: NullBias
    count: int

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> Choice:
        if written.shape[1]:
            return mixture.greedy()
        null = torch.full((len(rows), 1), NULL, device=rows.device)
        word, value = mixture.greedy(forbidden=null)
        null_value = mixture.probability(null).squeeze(1)
        present, absent = torch.tensor(self.null_bias, device=rows.device).exp()
        factor = torch.where(rows % self.count < self.count // 2, present, absent)
        silent = null_value * factor > value
        return Choice(word.where(~silent, NULL), value.where(~silent, null_value))


def greedy_set(
    network: Network, memory: Memory, *, steps: int, null_bias: NullBias = (0.0, 0.0)
) -> Rows:
    """Each row until `<eos>` or ∅, which ends it: a phrase with ∅ in it is none."""
    choose = Biased(null_bias, network.rows) if any(null_bias) else most_probable
    return _greedy(network, memory, steps, ends=(EOS, NULL), choose=choose)


def greedy_sequence(
    network: Network, memory: Memory, *, steps: int, choose: Choose = most_probable
) -> Rows:
    """One row per document until `<eos>`."""
    return _greedy(network, memory, steps, ends=(EOS,), choose=choose)


def roll_out(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    ends: Sequence[int] = (),
    choose: Choose = most_probable,
    copies: int = 1,
) -> Iterator[Step]:
    """Write step by step, greedily or as `choose` does. A row that has written one of `ends` costs
    nothing more. Each row can be written several times, as `copies` that follow one another."""
    state = network.start(memory, steps=steps)
    rows = torch.arange(len(state.documents), device=memory.words.extended.device)
    if copies > 1:
        state = state.select(rows.repeat_interleave(copies))
        rows = torch.arange(len(state.documents), device=rows.device)
    tokens = torch.full_like(rows, BOS)
    written = tokens.new_empty(len(rows), 0)
    stops = torch.tensor(ends, dtype=rows.dtype, device=rows.device)
    for _ in range(steps):
        mixture = network.step(state, tokens)
        choice = choose(rows, mixture, written)
        yield Step(rows, mixture, choice)
        tokens = choice.tokens
        written = torch.cat([written, tokens[:, None]], dim=1)
        living = torch.isin(tokens, stops, invert=True).nonzero().squeeze(1)
        if len(living) == 0:
            return
        if len(living) < len(rows):
            state, rows, tokens = state.select(living), rows[living], tokens[living]
            written = written[living]


@torch.no_grad()
def _greedy(
    network: Network,
    memory: Memory,
    steps: int,
    *,
    ends: Sequence[int],
    choose: Choose = most_probable,
) -> Rows:
    grid = (len(memory.lengths), network.rows)
    length = torch.zeros(grid, dtype=torch.int64, device=memory.words.extended.device).flatten()
    tokens = length.new_zeros(len(length), steps)
    place = torch.zeros_like(tokens)
    probability = torch.zeros_like(tokens, dtype=torch.float32)
    null = probability.new_zeros(len(length))
    walk = roll_out(network, memory, steps=steps, ends=ends, choose=choose)
    for t, (rows, mixture, choice) in enumerate(walk):
        length[rows] += 1
        tokens[rows, t], probability[rows, t] = choice
        place[rows, t] = mixture.attention.argmax(1)
        if t == 0:
            null = mixture.probability(torch.full_like(tokens[:, :1], NULL)).squeeze(1)
    return Rows(*(x.view(*grid, *x.shape[1:]) for x in (length, tokens, probability, place, null)))
