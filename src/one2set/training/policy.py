"""Policy gradients: a network writes, what it wrote is valued, and its probability is changed.

The loss of what was sampled is −Σ_t Q_t log P(y_t | y_<t), with a value Q_t for each token, whoever
supplies it. `SelfCritical` (catSeqTG-2RF1) takes the adaptive reward, less that of what the same
network writes greedily; the adversarial objective takes a discriminator's scores.

Dropout is off: what is sampled, compared and changed then is one policy, for which one reading of
the documents is enough.

Shapes: B documents, T steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, shifted
from one2set.data.specials import EOS
from one2set.model.decoding import roll_out
from one2set.model.dropout import Dropout
from one2set.model.network import Memory, Network
from one2set.model.pointer import Choice, Mixture
from one2set.training.likelihood import Loss
from one2set.training.reward import Tokens, returns

Way = Literal["sampled", "greedy"]
# The rewards (B, 2) of the present and the absent phrases of rows, one for each document.
Reward = Callable[[Sequence[Tokens], Batch], Tensor]


@dataclass(frozen=True)
class Written:
    """What a network wrote, a row for each document."""

    tokens: Tensor  # (B, T) extended ids
    mask: Tensor  # (B, T), True until `<eos>` and there

    @property
    def count(self) -> int:
        """How many tokens there are."""
        return int(self.mask.sum())

    def rows(self) -> list[list[int]]:
        """The tokens as plain numbers."""
        return [row[real].tolist() for row, real in zip(self.tokens, self.mask, strict=True)]


@torch.no_grad()
def write(network: Network, memory: Memory, *, steps: int, ways: Sequence[Way]) -> list[Written]:
    """Write for each document in each of some ways, all of them together."""
    shape = (len(memory.lengths), len(ways), steps)
    tokens = torch.zeros(shape, dtype=torch.int64, device=memory.states.device).flatten(0, 1)
    mask = torch.zeros_like(tokens, dtype=torch.bool)
    sampled = torch.tensor([way == "sampled" for way in ways], device=tokens.device)

    def choose(rows: Tensor, mixture: Mixture) -> Tensor:
        random = sampled[rows % len(ways)]
        chosen = torch.zeros_like(rows)
        for part, pick in ((random, Mixture.sample), (~random, lambda m: m.greedy().tokens)):
            where = part.nonzero().squeeze(1)
            if len(where):
                chosen[where] = pick(mixture.select(where))
        return chosen

    walk = roll_out(network, memory, steps=steps, ends=(EOS,), copies=len(ways), choose=choose)
    for t, step in enumerate(walk):
        tokens[step.rows, t], mask[step.rows, t] = step.choice.tokens, True
    grid = zip(tokens.view(shape).unbind(1), mask.view(shape).unbind(1), strict=True)
    return [Written(*both) for both in grid]


def policy_loss(network: Network, memory: Memory, written: Written, values: Tensor) -> Tensor:
    """() −Σ Q log P, whose gradient makes tokens of positive value (B, T) more probable."""
    rows, mask = written.tokens[:, None], written.mask[:, None]  # (B, 1, T)
    mixture = network.decode(memory, shifted(rows), mask)
    return -(mixture.log_likelihood(rows[mask]) * values[written.mask]).sum()


class SelfCritical(nn.Module):
    """Reinforcement by how much better a sample is than the greedy row (Chan et al., 2019).

    In eval mode it is minus the reward of greedy rows, so that a lower loss is a better network.
    """

    def __init__(self, network: Network, *, reward: Reward, steps: int) -> None:
        super().__init__()
        self.network, self.reward, self.steps = network, reward, steps

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        return without_dropout(self)

    def forward(self, batch: Batch) -> Loss:
        memory = self.network.encode(batch)
        if not self.training:
            (greedy,) = write(self.network, memory, steps=self.steps, ways=("greedy",))
            rewards = self.reward(greedy.rows(), batch)
            return Loss(-rewards.sum(), len(rewards), _parts(rewards, len(rewards)))
        sampled, greedy = write(self.network, memory, steps=self.steps, ways=("sampled", "greedy"))
        rewards = self.reward(sampled.rows(), batch)  # (B, 2)
        advantages = rewards - self.reward(greedy.rows(), batch)
        values = returns(advantages, sampled.tokens, sampled.mask)
        total = policy_loss(self.network, memory, sampled, values)
        return Loss(total, sampled.count, _parts(rewards, sampled.count))


def _parts(rewards: Tensor, tokens: int) -> dict[str, Tensor]:
    """Mean rewards of a document, times what parts are divided by."""
    present, absent = rewards.mean(0) * tokens
    return {"reward": present + absent, "reward_present": present, "reward_absent": absent}


def without_dropout[Module: nn.Module](module: Module) -> Module:
    """A module in whose training nothing is dropped."""
