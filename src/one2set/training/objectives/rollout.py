"""Rollouts for policy gradients: sequences that a network samples, or generates greedily.

Shapes: B documents, T steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from one2set.data.batch import Batch
from one2set.data.specials import EOS
from one2set.model.network import Memory, Network
from one2set.model.pointer import ChosenTokens, Mixture
from one2set.search.greedy import roll_out

Strategy = Literal["sampled", "greedy"]


@dataclass(frozen=True)
class Rollout:
    """One generated sequence for each document."""

    tokens: Tensor  # (B, T) extended ids
    mask: Tensor  # (B, T), True up to and including `<eos>`

    @classmethod
    def from_targets(cls, batch: Batch) -> Self:
        """The target sequences of a batch, as a rollout."""
        return cls(batch.targets[:, 0], batch.target_mask[:, 0])

    @property
    def count(self) -> int:
        """The number of tokens."""
        return int(self.mask.sum())

    def rows(self) -> list[list[int]]:
        """The tokens of each document, without padding."""
        lengths = self.mask.sum(1).tolist()
        return [row[:end] for row, end in zip(self.tokens.tolist(), lengths, strict=True)]


def sample_with_baseline(
    network: Network, memory: Memory, *, steps: int, samples: int
) -> tuple[list[Rollout], Rollout]:
    """Generate samples, and the greedy rollout that is their baseline (self-critical training)."""
    strategies: list[Strategy] = ["sampled"] * samples
    *sampled, greedy = generate_rollouts(
        network, memory, steps=steps, strategies=[*strategies, "greedy"]
    )
    return sampled, greedy


@torch.no_grad()
def generate_rollouts(
    network: Network, memory: Memory, *, steps: int, strategies: Sequence[Strategy]
) -> list[Rollout]:
    """Generate a rollout by each strategy, all in one pass."""
    shape = (len(memory.lengths), len(strategies), steps)
    tokens = memory.copy_source.extended_ids.new_zeros(shape).flatten(0, 1)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    sampled = torch.tensor([strategy == "sampled" for strategy in strategies], device=tokens.device)

    def choose(rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        """Each document has one row per strategy."""
        random = sampled[rows % len(strategies)]
        chosen = ChosenTokens(torch.empty_like(rows), torch.empty_like(mixture.gate))
        for some, pick in ((random, Mixture.sample), (~random, Mixture.greedy)):
            where = some.nonzero().squeeze(1)
            if len(where):
                chosen.tokens[where], chosen.probability[where] = pick(mixture.select(where))
        return chosen

    walk = roll_out(
        network, memory, steps=steps, stop_ids=(EOS,), choose=choose, copies=len(strategies)
    )
    for t, step in enumerate(walk):
        tokens[step.rows, t], mask[step.rows, t] = step.choice.tokens, True
    by_strategy = (x.view(shape).unbind(1) for x in (tokens, mask))
    return [Rollout(*both) for both in zip(*by_strategy, strict=True)]
