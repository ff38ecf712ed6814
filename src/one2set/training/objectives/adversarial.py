"""GAN_MR (Swaminathan et al., 2020): a discriminator rewards a generator for realistic phrases.

The discriminator is trained alone for some steps (`head_start`). Then rounds alternate: some steps
of the generator, some of the discriminator. Each step changes the weights of only one of the two.

The value of a token of phrase j, or of the separator that ends it, is the discriminator's score of
the phrases up to j, minus the mean score of the greedy rollout.

Shapes: B documents, T steps, P phrases.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Self

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.specials import MARKS
from one2set.model.network import Network
from one2set.training.objectives.discriminator import Discriminator, DiscriminatorOutput, Phrases
from one2set.training.objectives.likelihood import Loss
from one2set.training.objectives.policy import (
    Rollout,
    Strategy,
    disable_dropout,
    generate_rollouts,
    policy_loss,
    sample_with_baseline,
)


class AdversarialLoss(nn.Module):
    """The generator, the discriminator and their rounds.

    In eval mode, the loss is minus the mean score of the greedy rollout. The discriminator changes
    too, so this loss does not measure progress; use F1@M.
    """

    def __init__(
        self,
        network: Network,
        discriminator: Discriminator,
        *,
        steps: int,
        samples: int = 1,
        head_start: int,
        generator_steps: int,
        discriminator_steps: int,
        discriminator_lr_factor: float,
    ) -> None:
        """The generator draws `samples` rollouts of at most `steps` tokens for each document. The
        discriminator's learning rate is `discriminator_lr_factor` times the generator's."""
        super().__init__()
        self.network, self.discriminator = network, discriminator
        self.steps, self.samples = steps, samples
        self.head_start = head_start
        self.generator_steps, self.discriminator_steps = generator_steps, discriminator_steps
        self.discriminator_lr_factor = discriminator_lr_factor
        self.generating = False
        self.train()

    def start_step(self, step: int) -> float:
        """Choose the network to train, by the number of the step alone."""
        turn = (step - self.head_start) % (self.generator_steps + self.discriminator_steps)
        self.generating = step >= self.head_start and turn < self.generator_steps
        return 1.0 if self.generating else self.discriminator_lr_factor

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        disable_dropout(self.network)
        return self

    def forward(self, batch: Batch) -> Loss:
        """The loss of the network that this step trains."""
        if not self.training:
            return self._validation_loss(batch)
        return self._generator_loss(batch) if self.generating else self._discriminator_loss(batch)

    def _generator_loss(self, batch: Batch) -> Loss:
        memory = self.network.encode(batch)
        samples, greedy = sample_with_baseline(
            self.network, memory, steps=self.steps, samples=self.samples
        )
        output = self._discriminate(batch, *samples, greedy)
        baseline = output.means[:, -1:]  # (B, 1)
        values = [
            score_tokens(output.scores[:, k], rollout) - baseline
            for k, rollout in enumerate(samples)
        ]
        total = policy_loss(self.network, memory, samples, values)
        tokens = sum(rollout.count for rollout in samples)
        reward = output.means[:, :-1].mean() * tokens  # parts are divided by tokens
        return Loss(total, tokens, {"generator": total.detach(), "reward": reward})

    def _discriminator_loss(self, batch: Batch) -> Loss:
        with torch.no_grad():
            memory = self.network.encode(batch)
        strategies: list[Strategy] = ["sampled"] * self.samples
        samples = generate_rollouts(self.network, memory, steps=self.steps, strategies=strategies)
        self.discriminator.train()
        output = self.discriminator(
            batch, _split_by_document(Rollout.from_targets(batch), *samples)
        )
        total, lists = output.recognition_loss, 2 * output.pair_count
        parts = {"discriminator": total.detach(), "accuracy": output.accuracy * lists}
        return Loss(total, max(lists, 1), parts)

    def _validation_loss(self, batch: Batch) -> Loss:
        memory = self.network.encode(batch)
        (greedy,) = generate_rollouts(
            self.network, memory, steps=self.steps, strategies=("greedy",)
        )
        output = self._discriminate(batch, Rollout.from_targets(batch), greedy)
        reward = output.means[:, 1].sum()
        parts = {"reward": reward, "accuracy": output.accuracy * len(batch.ids)}
        return Loss(-reward, len(batch.ids), parts)

    @torch.no_grad()
    def _discriminate(self, batch: Batch, *rollout: Rollout) -> DiscriminatorOutput:
        """The discriminator's output in eval mode, without gradient."""
        self.discriminator.eval()
        output: DiscriminatorOutput = self.discriminator(batch, _split_by_document(*rollout))
        return output


def split_at_separators(row: Sequence[int]) -> Phrases:
    """Split a sequence into phrases at its separators."""
    return [tuple(run) for mark, run in groupby(row, MARKS.__contains__) if not mark]


def score_tokens(scores: Tensor, rollout: Rollout) -> Tensor:
    """(B, T) for each token of a phrase, and the separator that ends it, the score of the phrase,
    from scores (B, P). A separator that ends no phrase gets 0."""
    marks = torch.tensor(MARKS, device=scores.device)
    word = rollout.mask & torch.isin(rollout.tokens, marks, invert=True)
    after_word = nn.functional.pad(word, (1, 0))[:, :-1]
    phrase = (word & ~after_word).cumsum(1) - 1
    return scores.gather(1, phrase.clamp(min=0)) * (word | (after_word & rollout.mask))


def _split_by_document(*rollouts: Rollout) -> list[list[Phrases]]:
    """For each document, its phrases in each of the rollouts."""
    by_document = zip(*(rollout.rows() for rollout in rollouts), strict=True)
    return [[split_at_separators(row) for row in rows] for rows in by_document]
