"""The moving average of the weights, against its definition."""

import torch
from torch import nn

from one2set.training.optimizer import MovingAverage


def test_it_is_the_exponential_average_with_a_quick_start() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    average = MovingAverage(layer, decay=0.9)
    expected = layer.weight.detach().clone()
    for step in range(1, 200):
        with torch.no_grad():
            layer.weight.copy_(torch.randn(2, 3))
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * layer.weight.detach()
    torch.testing.assert_close(average.tensors["weight"], expected)


def test_within_its_block_the_module_has_the_average_and_then_its_own_weights_again() -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(3, 2), torch.randn(4, 3)
    average = MovingAverage(layer, decay=0.5)
    start = layer(x)
    with torch.no_grad():
        layer.weight.add_(1)
    moved = layer(x)
    with average.applied():
        assert torch.equal(layer(x), start)
    assert torch.equal(layer(x), moved)
    average.update(1000)
    with average.applied():
        torch.testing.assert_close(layer(x), (start + moved) / 2)


def test_without_decay_it_is_the_weights_themselves() -> None:
    layer = nn.Linear(3, 2)
    average = MovingAverage(layer, decay=0)
    before = layer.weight.detach().clone()
    average.update(1)
    with average.applied():
        assert torch.equal(layer.weight, before)
    assert average.tensors == {}
