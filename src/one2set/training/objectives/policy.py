"""Policy gradients (REINFORCE): rollouts, the reward of catSeqTG-2RF1, and the loss.

The loss of a sample is −Σ_t Q_t log P(y_t | y_<t), with a value Q_t for each token. `SelfCritical`
(catSeqTG-2RF1, Chan et al., 2019) uses the adaptive reward, with that of the greedy rollout as
baseline; `AdversarialLoss` uses the scores of a discriminator.

A sequence `p1 <sep> p2 <peos> a1 <eos>` has two parts, the present and the absent phrases. The
adaptive reward of a part is its recall while it has fewer phrases than the gold, otherwise its F1.
A repeated phrase is wrong.

Dropout is disabled, so that sampling, baseline and gradient belong to the same policy and can share
one encoding of the documents.

Shapes: B documents, K samples for each, T steps.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Self

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, shift_right
from one2set.data.specials import MARKS, PEOS, SPECIALS
from one2set.data.text import stem_all, words_of
from one2set.data.vocabulary import Vocabulary, WordVocabulary
from one2set.model.dropout import Dropout
from one2set.model.network import Memory, Network
from one2set.model.pointer import ChosenTokens, Mixture
from one2set.prediction.greedy import SEQUENCE_STOP_IDS, roll_out
from one2set.training.objectives.likelihood import Loss

Strategy = Literal["sampled", "greedy"]
TokenIds = Sequence[int]
# Maps a rollout of a batch to the rewards (B, 2) of its present and its absent phrases.
Reward = Callable[["Rollout", Batch], Tensor]


# --- Rollouts -------------------------------------------------------------------------------------


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
        for selected, pick in ((random, Mixture.sample), (~random, Mixture.greedy)):
            where = selected.nonzero().squeeze(1)
            if len(where):
                chosen.tokens[where], chosen.probability[where] = pick(mixture.select(where))
        return chosen

    walk = roll_out(
        network,
        memory,
        steps=steps,
        stop_ids=SEQUENCE_STOP_IDS,
        choose=choose,
        copies=len(strategies),
    )
    for t, step in enumerate(walk):
        tokens[step.rows, t], mask[step.rows, t] = step.choice.tokens, True
    by_strategy = (x.view(shape).unbind(1) for x in (tokens, mask))
    return [Rollout(*both) for both in zip(*by_strategy, strict=True)]


# --- Rewards --------------------------------------------------------------------------------------


def adaptive_f1(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The reward of a part. Gold phrases are distinct, and None is never correct.

    It is F1 with precision at k = max(#predicted, #gold): with fewer predicted than gold phrases,
    precision at k equals recall.
    """
    right = set(predicted).intersection(gold) - {None}
    most = max(len(predicted), len(gold))
    return 2 * len(right) / (most + len(gold)) if gold else 0.0


def split_present_absent_tokens(row: TokenIds) -> tuple[list[TokenIds], list[TokenIds]]:
    """Split a sequence at the first `<peos>` into present and absent phrases.

    Without `<peos>`, all are present. Each further `<peos>` counts as an absent phrase, which is
    always wrong.
    """
    cut = row.index(PEOS) if PEOS in row else len(row)
    return _split_phrases(row[:cut]), _split_phrases(row[cut + 1 :])


def _split_phrases(row: TokenIds) -> list[TokenIds]:
    phrases: list[TokenIds] = []
    for mark, run in groupby(row, key=lambda token: token if token in MARKS else None):
        if mark is None:
            phrases.append(tuple(run))
        elif mark == PEOS:
            phrases += [(PEOS,) for _ in run]
    return phrases


class AdaptiveReward:
    """The adaptive reward; phrases are compared by their stems, as in evaluation."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokenised = isinstance(vocabulary, WordVocabulary)

    def __call__(self, rollout: Rollout, batch: Batch) -> Tensor:
        """(B, 2) the rewards of the present and the absent phrases of each document."""
        gold = Rollout.from_targets(batch).rows()
        rewards = [
            [
                adaptive_f1(self._stems(predicted, oov), self._stems(correct, oov))
                for predicted, correct in zip(
                    split_present_absent_tokens(row),
                    split_present_absent_tokens(gold_row),
                    strict=True,
                )
            ]
            for row, gold_row, oov in zip(rollout.rows(), gold, batch.oov, strict=True)
        ]
        return torch.tensor(rewards, device=rollout.tokens.device)

    def _stems(self, phrases: Sequence[TokenIds], oov: TokenIds) -> list[tuple[str, ...] | None]:
        """The stems of each phrase; None if it has a special token, which is never correct."""
        return [
            None if min(phrase) < len(SPECIALS) else self._stemmed(phrase, oov)
            for phrase in phrases
        ]

    def _stemmed(self, phrase: TokenIds, oov: TokenIds) -> tuple[str, ...]:
        size = self._vocabulary.size
        text = self._vocabulary.text(t if t < size else oov[t - size] for t in phrase)
        return stem_all(words_of(text, tokenised=self._tokenised))


def compute_returns(advantages: Tensor, rollout: Rollout) -> Tensor:
    """(B, T) the return of each step: the sum of the advantages (B, 2) received from then on.

    The reward of the present phrases is received at the first `<peos>`, that of the absent ones at
    the last step (`<eos>`, unless the sequence was cut off). Without `<peos>`, both are received at
    the last step.
    """
    mask = rollout.mask
    step = torch.arange(mask.shape[1], device=mask.device)
    is_peos = (rollout.tokens == PEOS) & mask
    last = mask.sum(1) - 1  # (B,)
    peos = torch.where(is_peos.any(1), is_peos.int().argmax(1), last)
    present, absent = advantages[:, :, None].unbind(1)  # (B, 1)
    return present * (step <= peos[:, None]) + absent * mask


# --- The loss -------------------------------------------------------------------------------------


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
            return Loss(-reward.sum(), len(reward), _average_rewards(reward, len(reward)))
        samples, greedy = sample_with_baseline(
            self.network, memory, steps=self.steps, samples=self.samples
        )
        rewards = [self.reward(rollout, batch) for rollout in samples]
        baseline = self.reward(greedy, batch)
        values = [compute_returns(r - baseline, w) for r, w in zip(rewards, samples, strict=True)]
        total = policy_loss(self.network, memory, samples, values)
        tokens = sum(rollout.count for rollout in samples)
        return Loss(total, tokens, _average_rewards(torch.cat(rewards), tokens))


def _average_rewards(rewards: Tensor, tokens: int) -> dict[str, Tensor]:
    """The mean rewards per document, multiplied by `tokens`, by which the log divides parts."""
    present, absent = rewards.mean(0) * tokens
    return {"reward": present + absent, "reward_present": present, "reward_absent": absent}


def disable_dropout(network: nn.Module) -> None:
    """Put all dropout modules in eval mode, whatever the mode of the network."""
    for module in network.modules():
        if isinstance(module, Dropout | nn.Dropout):
            module.eval()
