"""Greedy decoding of sets and sequences.

Shapes: B documents, R rows per document, T steps; r active rows, which have not ended, t tokens
that each of them has generated.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from one2set.data.control_codes import is_present_code
from one2set.data.specials import BOS, EOS, NULL
from one2set.model.network import Memory, Network
from one2set.model.pointer import ChosenTokens, Mixture
from one2set.prediction.prediction import AS_TRAINED, NullBias, predicts_null

# The tokens that end a row: the phrase of a control code, or a sequence.
PHRASE_STOP_IDS, SEQUENCE_STOP_IDS = (EOS, NULL), (EOS,)
# Chooses the next tokens of the active rows: their indices (r,), mixtures and tokens so far (r, t).
Choose = Callable[[Tensor, Mixture, Tensor], ChosenTokens]


class DecodedRows(NamedTuple):
    """Decoded tokens. Cells after the end of a row are zero."""

    length: Tensor  # (B, R) number of tokens, including the one that ended the row
    tokens: Tensor  # (B, R, T) extended ids
    probability: Tensor  # (B, R, T) of each token
    position: Tensor  # (B, R, T) of the most attended source word
    null: Tensor  # (B, R) the probability of ∅ as the first token


@dataclass(frozen=True)
class DecodingStep:
    """One step of the active rows."""

    rows: Tensor  # (r,) indices into the B·R rows
    mixture: Mixture
    written: Tensor  # (r, t) the tokens before it
    choose: Choose

    @cached_property
    def choice(self) -> ChosenTokens:
        """The next token of each row. It is computed when it is asked for: the assignment does not
        need the last step's."""
        return self.choose(self.rows, self.mixture, self.written)


def choose_most_probable(rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
    """The greedy choice."""
    return mixture.greedy()


@dataclass(frozen=True)
class NullBiasedGreedy:
    """The greedy choice, with a bias on ∅ as the first token. A document has `count` rows."""

    null_bias: NullBias
    count: int

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        if written.shape[1]:
            return mixture.greedy()
        null = torch.full((len(rows), 1), NULL, device=rows.device)
        word, value = mixture.greedy(forbidden=null)
        null_value = mixture.probability(null).squeeze(1)
        is_present = is_present_code(rows.cpu().numpy() % self.count, self.count)
        bias = np.where(is_present, self.null_bias.present, self.null_bias.absent)
        null_rows = predicts_null(
            value.float().cpu().numpy(), null_value.float().cpu().numpy(), bias
        )
        is_null = torch.from_numpy(null_rows).to(rows.device)
        return ChosenTokens(word.where(~is_null, NULL), value.where(~is_null, null_value))


def greedy_set(
    network: Network, memory: Memory, *, steps: int, null_bias: NullBias = AS_TRAINED
) -> DecodedRows:
    """Decode each row until `<eos>` or ∅. A row that ends in ∅ is not a phrase."""
    choose = NullBiasedGreedy(null_bias, network.rows) if any(null_bias) else choose_most_probable
    return _greedy(network, memory, steps, stop_ids=PHRASE_STOP_IDS, choose=choose)


def greedy_sequence(
    network: Network, memory: Memory, *, steps: int, choose: Choose = choose_most_probable
) -> DecodedRows:
    """Decode one row per document until `<eos>`."""
    return _greedy(network, memory, steps, stop_ids=SEQUENCE_STOP_IDS, choose=choose)


def roll_out(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    stop_ids: Sequence[int] = (),
    choose: Choose = choose_most_probable,
    copies: int = 1,
) -> Iterator[DecodingStep]:
    """Decode step by step with `choose`. A row that has generated one of `stop_ids` becomes
    inactive and costs nothing more. With `copies`, each row is repeated that many times."""
    state = network.start(memory, steps=steps)
    rows = torch.arange(len(state.documents), device=memory.copy_source.extended_ids.device)
    if copies > 1:
        state = state.select(rows.repeat_interleave(copies))
        rows = torch.arange(len(state.documents), device=rows.device)
    tokens = torch.full_like(rows, BOS)
    written = tokens.new_empty(len(rows), 0)
    stop = torch.tensor(stop_ids, dtype=rows.dtype, device=rows.device)
    for number in range(steps):
        step = DecodingStep(rows, network.step(state, tokens), written, choose)
        yield step
        if number + 1 == steps:
            return
        tokens = step.choice.tokens
        written = torch.cat([written, tokens[:, None]], dim=1)
        active = torch.isin(tokens, stop, invert=True).nonzero().squeeze(1)
        if len(active) == 0:
            return
        if len(active) < len(rows):
            state, rows, tokens = state.select(active), rows[active], tokens[active]
            written = written[active]


@torch.no_grad()
def _greedy(
    network: Network,
    memory: Memory,
    steps: int,
    *,
    stop_ids: Sequence[int],
    choose: Choose = choose_most_probable,
) -> DecodedRows:
    grid = (len(memory.lengths), network.rows)
    length = torch.zeros(
        grid, dtype=torch.int64, device=memory.copy_source.extended_ids.device
    ).flatten()
    tokens = length.new_zeros(len(length), steps)
    position = torch.zeros_like(tokens)
    probability = torch.zeros_like(tokens, dtype=torch.float32)
    null = probability.new_zeros(len(length))
    walk = roll_out(network, memory, steps=steps, stop_ids=stop_ids, choose=choose)
    for t, step in enumerate(walk):
        rows = step.rows
        length[rows] += 1
        tokens[rows, t], probability[rows, t] = step.choice
        position[rows, t] = step.mixture.attention.argmax(1)
        if t == 0:
            null = step.mixture.probability(torch.full_like(tokens[:, :1], NULL)).squeeze(1)
    return DecodedRows(
        *(x.view(*grid, *x.shape[1:]) for x in (length, tokens, probability, position, null))
    )
