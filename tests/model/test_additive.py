"""Additive attention against its formula written out."""

import pytest
import torch
from torch import Tensor

from one2set.model import additive
from one2set.model.additive import AdditiveAttention

COUNTS, LENGTHS = [2, 0, 3, 1], [4, 2, 1, 3]


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    queries, states = torch.randn(sum(COUNTS), 6), torch.randn(len(COUNTS), max(LENGTHS), 6)
    return queries.double().requires_grad_(), states.double().requires_grad_(), mask


def plainly(attention: AdditiveAttention, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    contexts, weights = [], []
    for query, document in zip(x, [0, 0, 2, 2, 2, 3], strict=True):
        words = states[document, : LENGTHS[document]]
        inner = torch.tanh(attention.key(words) + attention.query(query))
        weight = attention.score(inner).squeeze(1).softmax(0)
        contexts.append(weight @ words)
        weights.append(torch.nn.functional.pad(weight, (0, max(LENGTHS) - len(weight))))
    return torch.stack(contexts), torch.stack(weights)


@pytest.mark.parametrize("chunk", [1, 50, 2**17])
def test_it_is_what_the_formula_says_and_so_are_its_gradients(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(additive._CHUNK, "cpu", chunk)
    attention = AdditiveAttention(6).double()
    x, states, mask = inputs()
    leaves = [x, states, *attention.parameters()]
    results = []
    for found in (
        attention(x, COUNTS, attention.key(states), states, mask),
        plainly(attention, x, states),
    ):
        total = sum((y * torch.arange(y.numel()).view_as(y).sin()).sum() for y in found)
        assert isinstance(total, Tensor)
        results.append([*found, *torch.autograd.grad(total, leaves)])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7)


def test_padding_gets_no_weight_and_the_rest_gets_all() -> None:
    attention = AdditiveAttention(6).double()
    x, states, mask = inputs()
    _, weights = attention(x, COUNTS, attention.key(states), states, mask)
    assert weights[~mask[[0, 0, 2, 2, 2, 3]]].abs().max() == 0
    torch.testing.assert_close(weights.sum(1), torch.ones(6, dtype=weights.dtype))
