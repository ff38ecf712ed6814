"""Policy gradients: the loss against its definition, its sign, and when it is nothing."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, collate, sequence_peos, shift_right
from one2set.data.specials import BOS
from one2set.model.dropout import Dropout
from one2set.model.network import Network
from one2set.model.pointer import Mixture
from one2set.training.objectives.policy import SelfCritical, policy_loss
from one2set.training.objectives.reward import compute_returns
from one2set.training.objectives.rollout import Rollout, generate_rollouts
from tests.model import padded, tiny

STEPS = 8


def rewards_of(score: Callable[[list[int]], tuple[float, float]]) -> Callable[..., Tensor]:
    """A reward of a row's tokens alone."""

    def reward(rollout: Rollout, batch: Batch) -> Tensor:
        return torch.tensor([score(row) for row in rollout.rows()])

    return reward


def evenness(row: list[int]) -> tuple[float, float]:
    return (sum(token % 2 == 0 for token in row) / len(row), len(row) / STEPS)


@pytest.fixture
def batch() -> Batch:
    return tiny.batch(6, layout=sequence_peos)


def objective(*, dropout: float = 0.0, steps: int = STEPS, samples: int = 1) -> SelfCritical:
    network = tiny.transformer(dropout=dropout)
    return SelfCritical(network, reward=rewards_of(evenness), steps=steps, samples=samples)


def test_the_loss_is_the_value_of_each_token_times_its_log_probability(batch: Batch) -> None:
    torch.manual_seed(1)
    network = tiny.transformer()
    memory = network.encode(batch)
    samples = generate_rollouts(network, memory, steps=STEPS, strategies=("sampled", "sampled"))
    values = [torch.randn(rollout.mask.shape) for rollout in samples]
    expected = torch.zeros(())
    for rollout, value in zip(samples, values, strict=True):
        full = padded.decode(
            network, batch, padded.encode(network, batch), shift_right(rollout.tokens[:, None])
        )[:, 0]  # (B, T, X)
        log = (full.gather(2, rollout.tokens[:, :, None]).squeeze(2) + 1e-8).log()
        expected = expected - (log * value * rollout.mask).sum()
    torch.testing.assert_close(policy_loss(network, memory, samples, values), expected)


def test_the_values_are_the_returns_of_the_advantages(batch: Batch) -> None:
    made = objective(samples=3)
    torch.manual_seed(2)
    loss = made(batch)
    torch.manual_seed(2)
    memory = made.network.encode(batch)
    *samples, greedy = generate_rollouts(
        made.network, memory, steps=STEPS, strategies=("sampled", "sampled", "sampled", "greedy")
    )
    rewards = torch.stack([made.reward(rollout, batch) for rollout in samples])  # (3, B, 2)
    advantages = rewards - made.reward(greedy, batch)
    values = [compute_returns(a, rollout) for a, rollout in zip(advantages, samples, strict=True)]
    torch.testing.assert_close(loss.sum, policy_loss(made.network, memory, samples, values))
    assert loss.tokens == sum(rollout.count for rollout in samples)
    for name, value in (
        ("reward", rewards.sum(2).mean()),
        ("reward_present", rewards[..., 0].mean()),
        ("reward_absent", rewards[..., 1].mean()),
    ):
        torch.testing.assert_close(loss.parts[name] / loss.tokens, value)


def test_a_sample_that_is_the_greedy_row_changes_nothing(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mixture, "sample", Mixture.greedy)
    made = objective()
    loss = made(batch)
    loss.sum.backward()
    assert loss.sum == 0
    gradients = [weight.grad for weight in made.parameters() if weight.grad is not None]
    assert gradients
    assert all((gradient == 0).all() for gradient in gradients)


def even_share(network: Network, batch: Batch) -> float:
    """The probability that the first token is even."""
    with torch.no_grad():
        state = network.start(network.encode(batch), steps=1)
        first = network.step(state, torch.tensor([BOS] * len(batch.ids)))
        return first.distribution(tiny.V + 10)[:, ::2].sum(1).mean().item()


def test_what_is_rewarded_becomes_more_probable() -> None:
    """One token, two kinds: a bandit. The released code of GAN_MR would fail here."""
    torch.manual_seed(0)
    batch = collate(tiny.examples(2) * 50, vocabulary_size=tiny.V, layout=sequence_peos)
    made = objective(steps=1)
    before = even_share(made.network, batch)
    loss = made(batch)
    loss.total.backward()
    torch.optim.SGD(made.parameters(), lr=0.05).step()
    assert even_share(made.network, batch) > before + 0.01


def test_validation_is_minus_the_reward_of_greedy_rows(batch: Batch) -> None:
    made = objective().eval()
    with torch.no_grad():
        loss = made(batch)
        memory = made.network.encode(batch)
        (greedy,) = generate_rollouts(made.network, memory, steps=STEPS, strategies=("greedy",))
    rewards = made.reward(greedy, batch)
    torch.testing.assert_close(loss.total, -rewards.sum(1).mean())
    torch.testing.assert_close(loss.parts["reward"] / loss.tokens, rewards.sum(1).mean())
    assert loss.tokens == len(batch.ids)


def test_nothing_is_dropped_though_the_network_is_in_training(batch: Batch) -> None:
    made = objective(dropout=0.5)

    def active() -> set[bool]:
        modules = made.network.modules()
        return {module.active for module in modules if isinstance(module, Dropout)}

    assert made.network.training
    assert active() == {False}
    assert made.eval().train() is made
    assert made.network.training
    assert active() == {False}
    losses = []
    for one in (made, objective()):  # of the same weights
        torch.manual_seed(4)
        losses.append(one(batch).sum)
    torch.testing.assert_close(*losses)
