"""Scores equal their definition, and assignments a search over all permutations."""

from itertools import permutations
from typing import cast
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from one2set.data.batch import SetLayout
from one2set.data.specials import EOS, NULL, PAD
from one2set.model.pointer import ChosenTokens, CopySource, Mixture
from one2set.model.transformer import Transformer, TransformerMemory, TransformerState
from one2set.training.objectives.assignment import fixed, hungarian, match_scores, random
from tests.model import padded, tiny

HALVES = [slice(0, 3), slice(3, 6)]
WHOLE = [slice(0, 4)]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_scores_agree_with_the_definition(steps: int) -> None:
    network, batch = tiny.settrans().eval(), tiny.batch(6)
    expected = padded.match_scores(network, batch, padded.encode(network, batch), steps)
    scores = match_scores(network, network.encode(batch), batch.targets, steps=steps)
    torch.testing.assert_close(scores, expected)
    assert not scores.requires_grad


def test_null_scores_nothing_and_eos_counts() -> None:
    network, batch = tiny.settrans().eval(), tiny.batch(6)
    memory = network.encode(batch)
    null = (batch.targets == NULL)[:, :, 0]
    scores = match_scores(network, memory, batch.targets, steps=2)
    assert (scores.transpose(1, 2)[null] == 0).all()
    assert (scores.transpose(1, 2)[~null] > 0).all()
    words = (batch.targets[:, :, 1] == EOS) & ~null
    first = match_scores(network, memory, batch.targets, steps=1)
    assert words.any()
    assert (scores > first).transpose(1, 2)[words].all()


@given(st.integers(0, 500), st.sampled_from([HALVES, WHOLE, [slice(0, 1), slice(1, 6)]]))
def test_no_permutation_scores_higher(seed: int, parts: list[slice]) -> None:
    size = parts[-1].stop
    # Coarse scores, so that there are ties.
    scores = torch.randint(0, 4, (3, size, size), generator=torch.Generator().manual_seed(seed))
    order = hungarian(scores.float(), parts)
    for matrix, chosen in zip(scores, order, strict=True):
        for part in parts:
            inside = range(part.start, part.stop)
            assert sorted(chosen[part].tolist()) == list(inside)
            best = max(
                sum(int(matrix[n, m]) for n, m in zip(inside, targets, strict=True))
                for targets in permutations(inside)
            )
            assert sum(int(matrix[n, chosen[n]]) for n in inside) == best


class Scripted:
    """A network of two codes whose probabilities are given: {(step, code, word): probability}."""

    rows = 2

    def __init__(self, probabilities: dict[tuple[int, int, int], float]) -> None:
        self.table = torch.zeros(2, 2, tiny.V)
        for place, probability in probabilities.items():
            self.table[place] = probability

    def start(self, memory: TransformerMemory, *, steps: int) -> TransformerState:
        return TransformerState(memory, [0, 0], torch.arange(2), [])

    def step(self, state: TransformerState, tokens: Tensor) -> Mixture:
        probabilities = self.table[state.step]
        state.step += 1
        mixture = Mock(Mixture)
        mixture.probability_by_document.side_effect = lambda words: probabilities.gather(
            1, words.expand(len(probabilities), -1)
        )
        mixture.greedy.return_value = ChosenTokens(*probabilities.max(1)[::-1])
        return cast(Mixture, mixture)

    def order(self, *targets: list[int]) -> list[int]:
        memory = TransformerMemory(
            (1,), CopySource(torch.zeros(1, 1), torch.zeros(1, 1)), torch.zeros(1, 1), []
        )
        network = cast(Transformer, self)
        scores = match_scores(network, memory, torch.tensor([targets]), steps=2)
        return hungarian(scores, [slice(0, 2)])[0].tolist()


def test_the_code_that_prefers_a_target_gets_it_and_the_other_null() -> None:
    network = Scripted({(0, 1, 7): 0.7, (1, 1, 8): 0.6, (0, 0, 9): 0.8, (0, 0, NULL): 0.1})
    assert network.order([7, 8, EOS], [NULL, PAD, PAD]) == [1, 0]


def test_null_is_assigned_by_total_score_not_by_preference() -> None:
    network = Scripted({(0, 0, 7): 0.3, (0, 0, NULL): 0.6, (0, 1, 7): 0.2, (0, 1, NULL): 0.1})
    assert network.order([7, EOS], [NULL, PAD]) == [0, 1]


def test_probabilities_are_added_not_multiplied() -> None:
    """Sure of one word beats half sure of two; with logarithms it would lose."""
    network = Scripted({(0, 0, 7): 0.4, (1, 0, 8): 0.4, (0, 1, 7): 0.9})
    assert network.order([7, 8, EOS], [NULL, PAD, PAD]) == [1, 0]


def test_present_targets_stay_in_the_first_half() -> None:
    parts = list(SetLayout(20).parts.values())
    scores = torch.zeros(1, 20, 20)
    scores[0, 10:, :10] = 1.0  # absent codes would love the present targets
    for order in (hungarian(scores, parts), fixed(1, parts), random(1, parts)):
        assert sorted(order[0, :10].tolist()) == list(range(10))
        assert sorted(order[0, 10:].tolist()) == list(range(10, 20))


def test_fixed_and_random_orders() -> None:
    assert fixed(2, HALVES).tolist() == [[0, 1, 2, 3, 4, 5]] * 2
    assert fixed(1, WHOLE).tolist() == [[0, 1, 2, 3]]
    torch.manual_seed(0)
    orders = random(200, HALVES)
    assert len(set(map(tuple, orders[:, :3].tolist()))) == 6
    assert len(set(map(tuple, orders.tolist()))) > 30  # the halves are drawn apart from one another


def test_scores_depend_only_on_the_first_steps() -> None:
    network, batch = tiny.settrans().eval(), tiny.batch(6)
    memory = network.encode(batch)

    def scores(targets: Tensor) -> Tensor:
        return match_scores(network, memory, targets, steps=2)

    changed = batch.targets.clone()
    changed[..., 2:] = PAD
    assert torch.equal(scores(batch.targets), scores(changed))


def test_nan_scores_still_give_a_permutation() -> None:
    order = hungarian(torch.full((1, 4, 4), torch.nan), WHOLE)
    assert sorted(order[0].tolist()) == [0, 1, 2, 3]
