"""Writing in several strategies at once."""

import torch

from one2set.data.batch import collate, sequence
from one2set.data.specials import BOS, EOS
from one2set.search.greedy import greedy_sequence
from one2set.training.objectives.rollout import Rollout, generate_rollouts
from tests.model import tiny

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


def test_a_row_is_real_until_its_eos_and_there() -> None:
    torch.manual_seed(0)
    network, batch = tiny.transformer(), tiny.batch(20)
    with torch.no_grad():
        network.pointer.vocabulary.weight[EOS] = network.pointer.vocabulary.weight.max(0).values
    rollout = generate_rollouts(
        network, network.encode(batch), steps=STEPS, strategies=("sampled", "greedy")
    )
    assert EOS in rollout[0].tokens
    for one in rollout:
        assert_ends_where_it_says(one)
        assert one.count == sum(map(len, one.rows()))
        assert one.rows() == [
            row[real].tolist() for row, real in zip(one.tokens, one.mask, strict=True)
        ]


def test_samples_follow_from_the_seed_and_differ_among_copies() -> None:
    network = tiny.transformer()
    memory = network.encode(tiny.batch(4))

    def draw(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        found = generate_rollouts(network, memory, steps=STEPS, strategies=("sampled", "sampled"))
        return [rollout.tokens for rollout in found]

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
        found = words.bincount(minlength=size) / len(examples)
        deviation = (wanted * (1 - wanted) / len(examples)).sqrt()
        assert ((found - wanted).abs() <= 5 * deviation + 1e-6).all()


def test_targets_are_what_authors_wrote() -> None:
    batch = tiny.batch(layout=sequence)
    rows = Rollout.from_targets(batch).rows()
    assert [token for row in rows for token in row] == batch.targets[batch.target_mask].tolist()
    assert [row[-1] for row in rows] == [EOS] * 4
