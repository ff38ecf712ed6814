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
# What is added to log P(∅) where a row begins: in the first half of a document's rows, and in the
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


def greedy_set(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    rules: Sequence[Rule] = (),
    null_bias: NullBias = (0.0, 0.0),
) -> Rows:
    """Each row until `<eos>` or ∅, which ends it: a phrase with ∅ in it is none."""
    choose = most_probable
    if any(null_bias):
        half = network.rows // 2
        factors = torch.tensor(null_bias, device=memory.states.device).exp()
        by_row = factors.repeat_interleave(torch.tensor([half, network.rows - half]))
        choose = _BiasedBeginning(by_row.repeat(len(memory.lengths)))
    return _greedy(network, memory, steps, ends=(EOS, NULL), rules=rules, choose=choose)


def greedy_sequence(
    network: Network, memory: Memory, *, steps: int, rules: Sequence[Rule] = ()
) -> Rows:
    """One row per document until `<eos>`."""
    return _greedy(network, memory, steps, ends=(EOS,), rules=rules, choose=most_probable)


def most_probable(mixture: Mixture, forbidden: Tensor | None) -> Choice:
    """The greedy choice."""
    return mixture.greedy(forbidden)


class _BiasedBeginning:
    """The greedy choice, but where rows begin ∅ counts `factors` (r,) times."""

    def __init__(self, factors: Tensor) -> None:
        self._factors: Tensor | None = factors

    def __call__(self, mixture: Mixture, forbidden: Tensor | None) -> Choice:
        if self._factors is None:
            return mixture.greedy(forbidden)
        factors, self._factors = self._factors, None
        nothing = torch.full((len(factors), 1), NULL, device=factors.device)
        null = mixture.probability(nothing).squeeze(1)
        allowed = nothing if forbidden is None else torch.cat([nothing, forbidden], dim=1)
        word = mixture.greedy(allowed)
        silent = null * factors > word.probability
        return Choice(word.tokens.where(~silent, NULL), word.probability.where(~silent, null))


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
    rows = torch.arange(len(state.documents), device=memory.states.device)
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
    network: Network,
    memory: Memory,
    steps: int,
    *,
    ends: Sequence[int],
    rules: Sequence[Rule],
    choose: Choose,
) -> Rows:
    grid = (len(memory.lengths), network.rows)
    length = torch.zeros(grid, dtype=torch.int64, device=memory.states.device).flatten()
    tokens = length.new_zeros(len(length), steps)
    place = torch.zeros_like(tokens)
    probability = torch.zeros_like(tokens, dtype=torch.float32)
    null = probability.new_zeros(len(length))
    walk = roll_out(network, memory, steps=steps, ends=ends, rules=rules, choose=choose)
    for t, (rows, mixture, choice) in enumerate(walk):
        length[rows] += 1
        tokens[rows, t], probability[rows, t] = choice
        place[rows, t] = mixture.attention.argmax(1)
        if t == 0:
            null = mixture.probability(torch.full_like(tokens[:, :1], NULL)).squeeze(1)
    return Rows(*(x.view(*grid, *x.shape[1:]) for x in (length, tokens, probability, place, null)))
