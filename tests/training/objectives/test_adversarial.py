"""GAN_MR: alternation, rewards, and which network learns."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, collate, sequence, shift_right
from one2set.data.specials import EOS, SEP
from one2set.model.dropout import Dropout
from one2set.training.objectives.adversarial import (
    AdversarialLoss,
    score_tokens,
    split_at_separators,
)
from one2set.training.objectives.discriminator import Discriminator, DiscriminatorOutput, Phrases
from one2set.training.objectives.policy import Rollout, generate_rollouts
from tests.model import tiny

STEPS = 8
A, B, C = 10, 11, 12


def objective(
    discriminator: nn.Module | None = None,
    *,
    dropout: float = 0.0,
    steps: int = STEPS,
    samples: int = 1,
) -> AdversarialLoss:
    network = tiny.transformer(dropout=dropout)
    if discriminator is None:
        discriminator = Discriminator(
            vocabulary_size=tiny.V, embedding=8, hidden=6, dropout=dropout
        )
        tiny.randomise_weights(discriminator)
    return AdversarialLoss(
        network,
        discriminator,  # type: ignore[arg-type]
        steps=steps,
        samples=samples,
        head_start=3,
        generator_steps=2,
        discriminator_steps=1,
        discriminator_lr_factor=4.0,
    )


@pytest.fixture
def batch() -> Batch:
    return tiny.batch(6, layout=sequence)


def gradients(module: nn.Module) -> list[Tensor]:
    return [weight.grad for weight in module.parameters() if weight.grad is not None]


def test_the_step_number_determines_the_trained_network() -> None:
    loss_module = objective()
    rates = [loss_module.start_step(step) for step in range(10)]
    assert rates == [4.0] * 3 + [1.0, 1.0, 4.0] * 2 + [1.0]
    loss_module.start_step(4)
    assert loss_module.generating
    loss_module.start_step(0)  # a new run
    assert not loss_module.generating


@pytest.mark.parametrize("generating", [False, True], ids=["discriminator", "generator"])
def test_only_one_network_learns_at_each_step(generating: bool, batch: Batch) -> None:
    loss_module = objective(dropout=0.5)
    loss_module.start_step(3 if generating else 0)
    torch.manual_seed(0)
    loss = loss_module(batch)
    loss.sum.backward()
    modules: list[nn.Module] = [loss_module.discriminator, loss_module.network]
    resting, learning = modules if generating else modules[::-1]
    assert any((gradient != 0).any() for gradient in gradients(learning))
    assert gradients(resting) == []
    # The discriminator drops numbers when it learns, not when it judges; the generator never does.
    assert loss_module.discriminator.phrase.training != generating
    dropouts = [module for module in loss_module.network.modules() if isinstance(module, Dropout)]
    assert not any(module.active for module in dropouts)


def test_phrases_are_split_at_separators() -> None:
    assert split_at_separators([A, B, SEP, SEP, C, EOS]) == [(A, B), (C,)]
    assert split_at_separators([SEP, A]) == [(A,)]
    assert split_at_separators([EOS]) == []


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([A, B, SEP, C, EOS], [0.1, 0.1, 0.1, 0.2, 0.2]),
        ([A, SEP, SEP, C, EOS], [0.1, 0.1, 0.0, 0.2, 0.2]),  # a mark that ends nothing
        ([SEP, A, SEP, B, B], [0.0, 0.1, 0.1, 0.2, 0.2]),  # no room for an end
        ([A, EOS, C, C, C], [0.1, 0.1, 0.0, 0.0, 0.0]),
        ([EOS, 0, 0, 0, 0], [0.0] * 5),
    ],
)
def test_a_phrase_and_its_end_have_the_phrases_score(row: list[int], expected: list[float]) -> None:
    length = row.index(EOS) + 1 if EOS in row else len(row)
    rollout = Rollout(torch.tensor([row]), torch.arange(5)[None] < length)
    values = score_tokens(torch.tensor([[0.1, 0.2, 0.3]]), rollout)
    torch.testing.assert_close(values, torch.tensor([expected]))


def test_the_discriminators_loss_is_that_of_real_and_sampled_lists(batch: Batch) -> None:
    loss_module = objective(samples=2)
    loss_module.start_step(0)
    torch.manual_seed(1)
    loss = loss_module(batch)
    torch.manual_seed(1)
    with torch.no_grad():
        memory = loss_module.network.encode(batch)
    samples = generate_rollouts(
        loss_module.network, memory, steps=STEPS, strategies=("sampled", "sampled")
    )
    expected, right, pairs = torch.zeros(()), 0, 0
    for b, example in enumerate(tiny.examples(6)):
        single = collate([example], vocabulary_size=tiny.V, layout=sequence)
        real = split_at_separators(Rollout.from_targets(batch).rows()[b])
        for sampled in samples:
            sampled_phrases = split_at_separators(sampled.rows()[b])
            if not real or not sampled_phrases:
                continue
            pairs += 1
            logits = [
                loss_module.discriminator(single, [[phrases]]).logits[0, 0]
                for phrases in (real, sampled_phrases)
            ]
            right += bool(logits[0][-1] > logits[1][-1])
            for logit, label in zip(logits, (0.9, 0.0), strict=True):
                d = torch.sigmoid(logit)
                expected = expected - (label * d.log() + (1 - label) * (1 - d).log()).mean()
    assert 0 < pairs < 12  # one document has no phrases
    torch.testing.assert_close(loss.sum, expected)
    assert loss.tokens == 2 * pairs
    assert loss.parts["accuracy"] / loss.tokens == pytest.approx(right / pairs)
    torch.testing.assert_close(loss.parts["discriminator"], expected.detach())


class Counting(nn.Module):
    """A judge that likes short phrases: its score is 1 / words."""

    def forward(self, batch: Batch, lists: Sequence[Sequence[Phrases]]) -> DiscriminatorOutput:
        most = max((len(phrases) for row in lists for phrases in row), default=1)
        scores = torch.zeros(len(lists), len(lists[0]), most)
        mask = torch.zeros_like(scores, dtype=torch.bool)
        for b, row in enumerate(lists):
            for k, phrases in enumerate(row):
                for p, phrase in enumerate(phrases):
                    scores[b, k, p], mask[b, k, p] = 1 / len(phrase), True
        return DiscriminatorOutput(torch.logit(scores), mask)


def test_phrases_that_the_discriminator_prefers_become_more_frequent() -> None:
    """The released code has the sign wrong: there it would become rarer."""
    batch = collate(tiny.examples(3) * 4, vocabulary_size=tiny.V, layout=sequence)
    loss_module = objective(Counting())
    loss_module.start_step(3)
    adam = torch.optim.Adam(loss_module.parameters(), lr=0.01)
    rewards = []
    for step in range(20):
        torch.manual_seed(step)
        loss = loss_module(batch)
        rewards.append(float(loss.parts["reward"] / loss.tokens))
        adam.zero_grad()
        loss.total.backward()
        adam.step()
    assert sum(rewards[-5:]) > 1.5 * sum(rewards[:5])


def test_the_generators_loss_compares_with_its_greedy_phrases(batch: Batch) -> None:
    loss_module = objective(Counting(), samples=2)
    loss_module.start_step(3)
    torch.manual_seed(6)
    loss = loss_module(batch)
    torch.manual_seed(6)
    memory = loss_module.network.encode(batch)
    *samples, greedy = generate_rollouts(
        loss_module.network, memory, steps=STEPS, strategies=("sampled", "sampled", "greedy")
    )
    expected = torch.zeros(())
    means = []
    for b, example in enumerate(tiny.examples(6)):
        alone = collate([example], vocabulary_size=tiny.V, layout=sequence)
        baseline = mean_score(greedy.rows()[b])
        for sampled in samples:
            row = sampled.rows()[b]
            means.append(mean_score(row))
            single = Rollout(torch.tensor([row]), torch.ones(1, len(row), dtype=torch.bool))
            scores = torch.tensor(
                [[1 / len(phrase) for phrase in split_at_separators(row)] or [0.0]]
            )
            values = score_tokens(scores, single)[0] - baseline
            rows = single.tokens[:, None]
            mixture = loss_module.network.decode(
                loss_module.network.encode(alone), shift_right(rows), single.mask[:, None]
            )
            expected = expected - (mixture.log_likelihood(rows.flatten()) * values).sum()
    torch.testing.assert_close(loss.sum, expected)
    assert loss.tokens == sum(rollout.count for rollout in samples)
    assert float(loss.parts["reward"] / loss.tokens) == pytest.approx(sum(means) / len(means))


def mean_score(row: list[int]) -> float:
    """By the judge that counts."""
    scores = [1 / len(phrase) for phrase in split_at_separators(row)]
    return sum(scores) / max(len(scores), 1)


def test_validation_scores_greedy_phrases(batch: Batch) -> None:
    loss_module = objective().eval()
    with torch.no_grad():
        loss = loss_module(batch)
        memory = loss_module.network.encode(batch)
    (greedy,) = generate_rollouts(loss_module.network, memory, steps=STEPS, strategies=("greedy",))
    lists = [
        [split_at_separators(real), split_at_separators(sampled_phrases)]
        for real, sampled_phrases in zip(
            Rollout.from_targets(batch).rows(), greedy.rows(), strict=True
        )
    ]
    output = loss_module.discriminator(batch, lists)
    torch.testing.assert_close(loss.total, -output.means[:, 1].mean())
    torch.testing.assert_close(loss.parts["reward"] / loss.tokens, output.means[:, 1].mean())
    both = output.has_phrases.all(1)
    right = (output.final[both, 0] > output.final[both, 1]).float().mean()
    torch.testing.assert_close(loss.parts["accuracy"] / loss.tokens, right)
