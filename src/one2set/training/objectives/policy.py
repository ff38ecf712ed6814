"""Policy gradients: a network writes, what it wrote is valued, and its probability is changed.

A sample has the loss −Σ_t Q_t log P(y_t | y_<t) with a value Q_t for each token, whoever
supplies it. `SelfCritical` (catSeqTG-2RF1) takes the adaptive reward, less that of what the same
network writes greedily; `Adversarial` takes a discriminator's scores.

Dropout is off, so that what is sampled, compared and changed is one policy, and one reading of the
documents serves it all.

Shapes: B documents, K samples for each, T steps.
"""

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, shifted
from one2set.model.dropout import Dropout
from one2set.model.network import Memory, Network
from one2set.training.objectives.likelihood import Loss
from one2set.training.objectives.reward import compute_returns
from one2set.training.objectives.rollout import Rollout, generate_rollouts, sample_with_baseline

# The rewards (B, 2) of the present and the absent phrases that were rollout for a batch.
Reward = Callable[[Rollout, Batch], Tensor]


def policy_loss(
    network: Network, memory: Memory, samples: Sequence[Rollout], values: Sequence[Tensor]
) -> Tensor:
    """() −Σ Q log P for the values Q (B, T) of each sample, which are constants: its gradient makes
    tokens of positive value more probable."""
    rows = torch.stack([rollout.tokens for rollout in samples], dim=1)  # (B, K, T)
    mask = torch.stack([rollout.mask for rollout in samples], dim=1)
    mixture = network.decode(memory, shifted(rows), mask)
    return -(mixture.log_likelihood(rows[mask]) * torch.stack([*values], dim=1)[mask]).sum()


class SelfCritical(nn.Module):
    """Reinforcement by how much better a sample is than the greedy row (Chan et al., 2019).

    In eval mode it is minus the reward of greedy rows, so that a lower loss is a better network.
    """

    def __init__(self, network: Network, *, reward: Reward, steps: int, samples: int = 1) -> None:
        """A row has up to `steps` tokens; so many `samples` are drawn for each document."""
        super().__init__()
        self.network, self.reward, self.steps, self.samples = network, reward, steps, samples
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        disable_dropout(self.network)
        return self

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch that has the layout with `<peos>`."""
        memory = self.network.encode(batch)
        if not self.training:
            (greedy,) = generate_rollouts(
                self.network, memory, steps=self.steps, strategies=("greedy",)
            )
            reward = self.reward(greedy, batch)  # (B, 2)
            return Loss(-reward.sum(), len(reward), _parts(reward, len(reward)))
        samples, greedy = sample_with_baseline(
            self.network, memory, steps=self.steps, samples=self.samples
        )
        rewards = [self.reward(rollout, batch) for rollout in samples]
        baseline = self.reward(greedy, batch)
        values = [compute_returns(r - baseline, w) for r, w in zip(rewards, samples, strict=True)]
        total = policy_loss(self.network, memory, samples, values)
        tokens = sum(rollout.count for rollout in samples)
        return Loss(total, tokens, _parts(torch.cat(rewards), tokens))


def _parts(rewards: Tensor, tokens: int) -> dict[str, Tensor]:
    """A document's mean rewards, times what parts are divided by."""
    present, absent = rewards.mean(0) * tokens
    return {"reward": present + absent, "reward_present": present, "reward_absent": absent}


def disable_dropout(network: nn.Module) -> None:
    """Let a network drop nothing, though it is in training."""
    for module in network.modules():
        if isinstance(module, Dropout | nn.Dropout):
            module.eval()
