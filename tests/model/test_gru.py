"""GRUs side by side; `torch.nn.GRU` is the oracle."""

import pytest
import torch
from torch import Tensor, nn

from one2set.model.gru import run_grus


def make(count: int, steps: int, rows: int) -> tuple[list[nn.GRU], list[Tensor], Tensor]:
    torch.manual_seed(count + steps)
    grus = [nn.GRU(3, 4, batch_first=True, dtype=torch.float64) for _ in range(count)]
    inputs = [torch.randn(rows, steps, 3, dtype=torch.float64) for _ in grus]
    initial = torch.randn(count, rows, 4, dtype=torch.float64)
    return grus, inputs, initial


def run_torch(grus: list[nn.GRU], inputs: list[Tensor], initial: Tensor) -> Tensor:
    each = zip(grus, inputs, initial, strict=True)
    return torch.stack([gru(x, h[None].contiguous())[0] for gru, x, h in each])


@pytest.mark.parametrize(("count", "steps", "rows"), [(1, 1, 1), (1, 6, 3), (2, 5, 2)])
def test_states_and_gradients_are_those_of_torch(count: int, steps: int, rows: int) -> None:
    grus, inputs, initial = make(count, steps, rows)
    variables = [*inputs, initial]
    for variable in variables:
        variable.requires_grad_()
    variables += [weight for gru in grus for weight in gru.parameters()]
    states, expected = (run(grus, inputs, initial) for run in (run_grus, run_torch))
    torch.testing.assert_close(states, expected)
    importance = torch.randn_like(expected)
    ours, theirs = (
        torch.autograd.grad((each * importance).sum(), variables) for each in (states, expected)
    )
    torch.testing.assert_close(ours, theirs)


def test_states_before_the_end_of_a_sequence_do_not_depend_on_padding() -> None:
    grus, inputs, initial = make(2, 6, 3)
    changed = [torch.cat([x[:, :4], x[:, 4:] + 1], dim=1) for x in inputs]
    before, after = (run_grus(grus, x, initial) for x in (inputs, changed))
    assert torch.equal(before[:, :, :4], after[:, :, :4])
    assert not torch.equal(before[:, :, 4:], after[:, :, 4:])


def test_states_are_computed_in_float32_under_autocast() -> None:
    grus, inputs, initial = make(1, 30, 2)
    single = [gru.float() for gru in grus], [x.float() for x in inputs], initial.float()
    expected = run_grus(*single)
    with torch.autocast("cpu", torch.bfloat16):
        states = run_grus(*single)
    assert states.dtype == torch.float32
    torch.testing.assert_close(states, expected, atol=0.02, rtol=0.02)
