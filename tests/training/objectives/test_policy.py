"""Policy gradients equal their definition."""

import itertools
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from one2set.data.batch import Batch, collate, sequence, sequence_peos, shift_right
from one2set.data.document import Document
from one2set.data.specials import BOS, EOS, PEOS, SEP, SPECIALS, UNK
from one2set.data.text import stem_all
from one2set.data.vocabulary import WordVocabulary
from one2set.model.dropout import Dropout
from one2set.model.network import Network
from one2set.model.pointer import Mixture
from one2set.prediction.greedy import greedy_sequence
from one2set.training.objectives.policy import (
    AdaptiveReward,
    Rollout,
    SelfCritical,
    adaptive_f1,
    compute_returns,
    generate_rollouts,
    policy_loss,
    split_present_absent_tokens,
)
from tests.model import padded, tiny

STEPS = 12


def assert_ends_where_it_says(rollout: Rollout) -> None:
    for row, real in zip(rollout.tokens.tolist(), rollout.mask.tolist(), strict=True):
        length = row.index(EOS) + 1 if EOS in row else STEPS
        assert real == [step < length for step in range(STEPS)]
        assert set(row[length:]) <= {0}


def test_greedy_rows_are_those_of_greedy_decoding_whatever_is_written_beside_them() -> None:
    network, batch = tiny.transformer(), tiny.batch(6)
    memory = network.encode(batch)
    expected = greedy_sequence(network, memory, steps=STEPS)
    (alone,) = generate_rollouts(network, memory, steps=STEPS, strategies=("greedy",))
    for rollout in (
        alone,
        *generate_rollouts(network, memory, steps=STEPS, strategies=("greedy", "greedy")),
    ):
        assert torch.equal(rollout.tokens, expected.tokens[:, 0])
        assert torch.equal(rollout.mask.sum(1), expected.length[:, 0])
    torch.manual_seed(0)
    sampled, beside = generate_rollouts(
        network, memory, steps=STEPS, strategies=("sampled", "greedy")
    )
    assert torch.equal(beside.tokens, alone.tokens)
    assert not torch.equal(sampled.tokens, alone.tokens)


def test_the_mask_ends_with_eos() -> None:
    torch.manual_seed(0)
    network, batch = tiny.transformer(), tiny.batch(20)
    with torch.no_grad():
        network.pointer.vocabulary.weight[EOS] = network.pointer.vocabulary.weight.max(0).values
    rollouts = generate_rollouts(
        network, network.encode(batch), steps=STEPS, strategies=("sampled", "greedy")
    )
    assert EOS in rollouts[0].tokens
    for rollout in rollouts:
        assert_ends_where_it_says(rollout)
        assert rollout.count == sum(map(len, rollout.rows()))
        assert rollout.rows() == [
            row[real].tolist() for row, real in zip(rollout.tokens, rollout.mask, strict=True)
        ]


def test_samples_follow_from_the_seed_and_differ_among_copies() -> None:
    network = tiny.transformer()
    memory = network.encode(tiny.batch(4))

    def draw(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        rollouts = generate_rollouts(
            network, memory, steps=STEPS, strategies=("sampled", "sampled")
        )
        return [rollout.tokens for rollout in rollouts]

    first, second = draw(1)
    assert torch.equal(draw(1)[0], first)
    assert not torch.equal(draw(2)[0], first)
    assert not torch.equal(first, second)


def test_a_sample_is_as_frequent_as_it_is_probable() -> None:
    """By the second step too, where rows have gone different strategies."""
    torch.manual_seed(0)
    network = tiny.transformer()
    examples = tiny.examples(1) * 3000
    batch = collate(examples, vocabulary_size=tiny.V, layout=sequence)
    with torch.no_grad():
        (sampled,) = generate_rollouts(
            network, network.encode(batch), steps=2, strategies=("sampled",)
        )
        one = tiny.batch(1)
        memory = network.encode(one)
        state = network.start(memory, steps=2)
        first = network.step(state, torch.tensor([BOS]))
        size = tiny.V + 10
        begun = first.distribution(size)[0]
        # P(second) = Σ P(first) P(second | first) over those that do not end the row
        expected = torch.zeros(size)
        for token in begun.nonzero().flatten().tolist():
            if token != EOS:
                again = network.start(memory, steps=2)
                network.step(again, torch.tensor([BOS]))
                after = network.step(again, torch.tensor([token])).distribution(size)[0]
                expected += begun[token] * after
    for step, wanted in ((0, begun), (1, expected)):
        words = sampled.tokens[sampled.mask[:, step], step]
        actual = words.bincount(minlength=size) / len(examples)
        deviation = (wanted * (1 - wanted) / len(examples)).sqrt()
        assert ((actual - wanted).abs() <= 5 * deviation + 1e-6).all()


def test_a_rollout_of_targets_is_the_gold_sequence() -> None:
    batch = tiny.batch(layout=sequence)
    rows = Rollout.from_targets(batch).rows()
    assert [token for row in rows for token in row] == batch.targets[batch.target_mask].tolist()
    assert [row[-1] for row in rows] == [EOS] * 4


GOLD = ("neural network", "graph theory", "clustering")


def stems(phrases: Sequence[str]) -> list[tuple[str, ...]]:
    return [stem_all(phrase.split()) for phrase in phrases]


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (("neural networks", "clustering"), 0.6667),
        (("neural network", "neural networks", "foo", "clustering"), 0.5714),
        (("clustering", "clustering"), 0.3333),
        ((), 0.0),
        (GOLD, 1.0),
        ((*GOLD, "a", "b", "c"), 0.6667),
    ],
)
def test_recall_until_there_are_enough_then_f1(predicted: tuple[str, ...], expected: float) -> None:
    assert adaptive_f1(stems(predicted), stems(GOLD)) == pytest.approx(expected, abs=1e-4)
    assert adaptive_f1(stems(predicted), []) == 0.0


@given(st.lists(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_one_formula_is_both_branches(predicted: list[int], gold: set[int]) -> None:
    right, recall = len(gold & {*predicted}), 0.0
    expected = 0.0
    if right:
        precision, recall = right / len(predicted), right / len(gold)
        f1 = 2 * precision * recall / (precision + recall)
        expected = recall if len(predicted) < len(gold) else f1
    assert adaptive_f1(predicted, list(gold)) == pytest.approx(expected)


A, B, C = 10, 11, 12


@pytest.mark.parametrize(
    ("row", "present", "absent"),
    [
        ([A, SEP, B, C, PEOS, A, EOS], [(A,), (B, C)], [(A,)]),
        ([PEOS, A, EOS], [], [(A,)]),
        ([A, PEOS, EOS], [(A,)], []),
        ([A, SEP, B, EOS], [(A,), (B,)], []),  # without <peos> all are present
        ([A, SEP, SEP, B, PEOS, SEP, C], [(A,), (B,)], [(C,)]),  # nor is there an <eos>
        ([A, PEOS, B, PEOS, C, EOS], [(A,)], [(B,), (PEOS,), (C,)]),
        ([EOS], [], []),
    ],
)
def test_the_first_peos_parts_present_from_absent(
    row: list[int], present: list[tuple[int, ...]], absent: list[tuple[int, ...]]
) -> None:
    assert split_present_absent_tokens(row) == (present, absent)


WORDS = [
    "neural",
    "networks",
    "network",
    "clustering",
    "deep",
    "learning",
    "robotics",
    "x1",
    "theory",
]
UNSEEN = "zeugma"  # beyond the network's vocabulary


@pytest.fixture
def vocabulary() -> WordVocabulary:
    return WordVocabulary([*SPECIALS, *WORDS, UNSEEN], size=len(SPECIALS) + len(WORDS))


def batch_of(vocabulary: WordVocabulary, keyphrases: tuple[str, ...], body: str) -> Batch:
    document = Document("1", "", body, keyphrases, tokenised=True)
    example = vocabulary.encode(document)
    return collate([example], vocabulary_size=vocabulary.size, layout=sequence_peos)


def rollout_of(tokens: list[int]) -> Rollout:
    """One row, with room behind its end."""
    length = tokens.index(EOS) + 1 if EOS in tokens else len(tokens)
    row = torch.tensor([[*tokens, 0]])
    return Rollout(row, torch.arange(row.shape[1])[None] < length)


def row_of(text: str) -> list[int]:
    marks = {";": SEP, "|": PEOS, ".": EOS, "?": UNK}
    names = [*SPECIALS, *WORDS, UNSEEN]
    return [marks[word] if word in marks else names.index(word) for word in text.split()]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("neural networks ; clustering | deep learning .", (0.6667, 0.5)),
        ("neural network | x1 ; | deep learning .", (0.3333, 0.4)),  # a second <peos> is wrong
        ("neural network ; clustering .", (0.6667, 0.0)),
        ("clustering ; zeugma | .", (0.6667, 0.0)),  # copied from the document
        ("? | ? .", (0.0, 0.0)),
    ],
)
def test_generated_phrases_are_compared_by_stems(
    row: str, expected: tuple[float, float], vocabulary: WordVocabulary
) -> None:
    gold = ("neural network", "zeugma", "clustering", "deep learning", "robotics")
    batch = batch_of(vocabulary, gold, "neural network theory zeugma clustering")
    actual = AdaptiveReward(vocabulary)(rollout_of(row_of(row)), batch)
    torch.testing.assert_close(actual, torch.tensor([expected]), atol=1e-4, rtol=0)


def test_unknown_words_are_never_correct(vocabulary: WordVocabulary) -> None:
    """Even if the target is `<unk>` too, where neither vocabulary nor source have the word."""
    batch = batch_of(vocabulary, ("zeugma", "clustering"), "neural networks")
    assert batch.targets.tolist() == [[[PEOS, UNK, SEP, len(SPECIALS) + 3, EOS]]]
    result = AdaptiveReward(vocabulary)(rollout_of(row_of("| ? ; clustering .")), batch)
    assert result.tolist() == [[0.0, 0.5]]


def place_rewards(tokens: list[int], present: float, absent: float, length: int) -> list[float]:
    """Returns by their definition: rewards at steps, then sums from each step on."""
    last = length - 1
    rewards = [0.0] * len(tokens)
    real = tokens[:length]
    rewards[real.index(PEOS) if PEOS in real else last] += present
    rewards[last] += absent
    sums = list(itertools.accumulate(reversed(rewards)))[::-1]
    return [value if step < length else 0.0 for step, value in enumerate(sums)]


def returns_of(tokens: list[int], present: float, absent: float) -> Tensor:
    return compute_returns(torch.tensor([[present, absent]]), rollout_of(tokens))[0, : len(tokens)]


def test_advantages_reach_the_steps_before_them() -> None:
    tokens = [A, SEP, B, C, PEOS, A, EOS]
    expected = torch.tensor([0.1333] * 5 + [-0.2] * 2)
    actual = returns_of(tokens, 0.3333, -0.2)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(
    "tokens",
    [
        [A, PEOS, EOS, PEOS, A],  # what follows the end does not count
        [A, SEP, B, A, A],  # neither <peos> nor <eos>
        [PEOS, A, PEOS, B, EOS],  # two <peos>: the first, where the row is parted
        [EOS, 0, 0, 0, 0],
    ],
)
def test_returns_are_sums_of_placed_advantages(tokens: list[int]) -> None:
    length = tokens.index(EOS) + 1 if EOS in tokens else len(tokens)
    expected = torch.tensor(place_rewards(tokens, 0.5, -0.25, length))
    assert returns_of(tokens, 0.5, -0.25).tolist() == expected.tolist()


STEPS = 8


def rewards_of(score: Callable[[list[int]], tuple[float, float]]) -> Callable[..., Tensor]:
    """A reward of a row's tokens alone."""

    def reward(rollout: Rollout, batch: Batch) -> Tensor:
        return torch.tensor([score(row) for row in rollout.rows()])

    return reward


def count_even_tokens(row: list[int]) -> tuple[float, float]:
    return (sum(token % 2 == 0 for token in row) / len(row), len(row) / STEPS)


@pytest.fixture
def batch() -> Batch:
    return tiny.batch(6, layout=sequence_peos)


def objective(*, dropout: float = 0.0, steps: int = STEPS, samples: int = 1) -> SelfCritical:
    network = tiny.transformer(dropout=dropout)
    return SelfCritical(network, reward=rewards_of(count_even_tokens), steps=steps, samples=samples)


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
    loss_module = objective(samples=3)
    torch.manual_seed(2)
    loss = loss_module(batch)
    torch.manual_seed(2)
    memory = loss_module.network.encode(batch)
    *samples, greedy = generate_rollouts(
        loss_module.network,
        memory,
        steps=STEPS,
        strategies=("sampled", "sampled", "sampled", "greedy"),
    )
    rewards = torch.stack([loss_module.reward(rollout, batch) for rollout in samples])  # (3, B, 2)
    advantages = rewards - loss_module.reward(greedy, batch)
    values = [compute_returns(a, rollout) for a, rollout in zip(advantages, samples, strict=True)]
    torch.testing.assert_close(loss.sum, policy_loss(loss_module.network, memory, samples, values))
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
    loss_module = objective()
    loss = loss_module(batch)
    loss.sum.backward()
    assert loss.sum == 0
    gradients = [weight.grad for weight in loss_module.parameters() if weight.grad is not None]
    assert gradients
    assert all((gradient == 0).all() for gradient in gradients)


def measure_even_share(network: Network, batch: Batch) -> float:
    """The probability that the first token is even."""
    with torch.no_grad():
        state = network.start(network.encode(batch), steps=1)
        first = network.step(state, torch.tensor([BOS] * len(batch.ids)))
        return first.distribution(tiny.V + 10)[:, ::2].sum(1).mean().item()


def test_rewarded_tokens_become_more_probable() -> None:
    """One token, two kinds: a bandit. The released code of GAN_MR would fail here."""
    torch.manual_seed(0)
    batch = collate(tiny.examples(2) * 50, vocabulary_size=tiny.V, layout=sequence_peos)
    loss_module = objective(steps=1)
    before = measure_even_share(loss_module.network, batch)
    loss = loss_module(batch)
    loss.total.backward()
    torch.optim.SGD(loss_module.parameters(), lr=0.05).step()
    assert measure_even_share(loss_module.network, batch) > before + 0.01


def test_validation_is_minus_the_reward_of_greedy_rows(batch: Batch) -> None:
    loss_module = objective().eval()
    with torch.no_grad():
        loss = loss_module(batch)
        memory = loss_module.network.encode(batch)
        (greedy,) = generate_rollouts(
            loss_module.network, memory, steps=STEPS, strategies=("greedy",)
        )
    rewards = loss_module.reward(greedy, batch)
    torch.testing.assert_close(loss.total, -rewards.sum(1).mean())
    torch.testing.assert_close(loss.parts["reward"] / loss.tokens, rewards.sum(1).mean())
    assert loss.tokens == len(batch.ids)


def test_dropout_is_off_in_training_mode(batch: Batch) -> None:
    loss_module = objective(dropout=0.5)

    def active() -> set[bool]:
        modules = loss_module.network.modules()
        return {module.active for module in modules if isinstance(module, Dropout)}

    assert loss_module.network.training
    assert active() == {False}
    assert loss_module.eval().train() is loss_module
    assert loss_module.network.training
    assert active() == {False}
    losses = []
    for loss in (loss_module, objective()):  # of the same weights
        torch.manual_seed(4)
        losses.append(loss(batch).sum)
    torch.testing.assert_close(*losses)
