"""Policy gradients (REINFORCE).

The loss of a sample is −Σ_t Q_t log P(y_t | y_<t), with a value Q_t for each token. `SelfCritical`
(catSeqTG-2RF1) uses the adaptive reward, with that of the greedy rollout as baseline;
`AdversarialLoss` uses the scores of a discriminator.

Dropout is disabled, so that sampling, baseline and gradient belong to the same policy and can share
one encoding of the documents.

Shapes: B documents, K samples for each, T steps.
"""

from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, shift_right
from one2set.model.dropout import Dropout
from one2set.model.network import Memory, Network
from one2set.training.objectives.likelihood import Loss
from one2set.training.objectives.reward import compute_returns
from one2set.training.objectives.rollout import Rollout, generate_rollouts, sample_with_baseline

# Maps a rollout of a batch to the rewards (B, 2) of its present and its absent phrases.
Reward = Callable[[Rollout, Batch], Tensor]


def policy_loss(
    network: Network, memory: Memory, samples: Sequence[Rollout], values: Sequence[Tensor]
) -> Tensor:
    """() −Σ Q log P, given the values Q (B, T) of each sample, which have no gradient.

    Minimising it makes tokens with positive values more probable.
    """
    rows = torch.stack([rollout.tokens for rollout in samples], dim=1)  # (B, K, T)
    mask = torch.stack([rollout.mask for rollout in samples], dim=1)
    mixture = network.decode(memory, shift_right(rows), mask)
    return -(mixture.log_likelihood(rows[mask]) * torch.stack([*values], dim=1)[mask]).sum()


class SelfCritical(nn.Module):
    """Self-critical training (Chan et al., 2019): the reward of a sample minus that of the greedy
    rollout.

    In eval mode, the loss is minus the reward of the greedy rollout: lower is better.
    """

    def __init__(self, network: Network, *, reward: Reward, steps: int, samples: int = 1) -> None:
        """Draws `samples` rollouts of at most `steps` tokens for each document."""
        super().__init__()
        self.network, self.reward, self.steps, self.samples = network, reward, steps, samples
        self.train()

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        disable_dropout(self.network)
        return self

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch in the layout with `<peos>`."""
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
    """The mean rewards per document, multiplied by `tokens`, by which the log divides parts."""
    present, absent = rewards.mean(0) * tokens
    return {"reward": present + absent, "reward_present": present, "reward_absent": absent}


def disable_dropout(network: nn.Module) -> None:
    """Put all dropout modules in eval mode, whatever the mode of the network."""
    for module in network.modules():
        if isinstance(module, Dropout | nn.Dropout):
            module.eval()
