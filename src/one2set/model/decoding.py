"""Decoding of sets and sequences, word by word.

Shapes: B documents, R rows per document, T steps; r rows that are still being written, t steps that
they have written, M words forbidden to each.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from one2set.data.specials import BOS, EOS, NULL
from one2set.model.network import Memory, Network
from one2set.model.pointer import Choice, Mixture

# Which words must not follow what rows have written: (r, t) extended ids → (r, M), −1 for none.
Rule = Callable[[Tensor], Tensor]
# The next word of each row, none of those that are forbidden (r, M) to it.
Choose = Callable[[Mixture, Tensor | None], Choice]


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


def greedy_set(network: Network, memory: Memory, *, steps: int, rules: Sequence[Rule] = ()) -> Rows:
    """Each row until `<eos>` or ∅, which ends it: a phrase with ∅ in it is none."""
    return _greedy(network, memory, steps, ends=(EOS, NULL), rules=rules)


def greedy_sequence(
    network: Network, memory: Memory, *, steps: int, rules: Sequence[Rule] = ()
) -> Rows:
    """One row per document until `<eos>`."""
    return _greedy(network, memory, steps, ends=(EOS,), rules=rules)


def most_probable(mixture: Mixture, forbidden: Tensor | None) -> Choice:
    """The greedy choice."""
    return mixture.greedy(forbidden)


def roll_out(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    ends: Sequence[int] = (),
    rules: Sequence[Rule] = (),
    choose: Choose = most_probable,
) -> Iterator[Step]:
    """Write step by step, greedily or as `choose` does, and as the `rules` allow. A row that has
    written one of `ends` costs nothing more."""
    state = network.start(memory, steps=steps)
    rows = torch.arange(len(state.documents), device=memory.words.extended.device)
    tokens = torch.full_like(rows, BOS)
    written = tokens.new_empty(len(rows), 0)
    stops = torch.tensor(ends, dtype=rows.dtype, device=rows.device)
    for _ in range(steps):
        mixture = network.step(state, tokens)
        forbidden = torch.cat([rule(written) for rule in rules], dim=1) if rules else None
        choice = choose(mixture, forbidden)
        yield Step(rows, mixture, choice)
        tokens = choice.tokens
        if rules:
            written = torch.cat([written, tokens[:, None]], dim=1)
        living = torch.isin(tokens, stops, invert=True).nonzero().squeeze(1)
        if len(living) == 0:
            return
        if len(living) < len(rows):
            state, rows, tokens = state.select(living), rows[living], tokens[living]
            written = written[living]


@torch.no_grad()
def _greedy(
    network: Network, memory: Memory, steps: int, *, ends: Sequence[int], rules: Sequence[Rule]
) -> Rows:
    grid = (len(memory.lengths), network.rows)
    length = torch.zeros(grid, dtype=torch.int64, device=memory.words.extended.device).flatten()
    tokens = length.new_zeros(len(length), steps)
    place = torch.zeros_like(tokens)
    probability = torch.zeros_like(tokens, dtype=torch.float32)
    null = probability.new_zeros(len(length))
    walk = roll_out(network, memory, steps=steps, ends=ends, rules=rules)
    for t, (rows, mixture, choice) in enumerate(walk):
        length[rows] += 1
        tokens[rows, t], probability[rows, t] = choice
        place[rows, t] = mixture.attention.argmax(1)
        if t == 0:
            null = mixture.probability(torch.full_like(tokens[:, :1], NULL)).squeeze(1)
    return Rows(*(x.view(*grid, *x.shape[1:]) for x in (length, tokens, probability, place, null)))
