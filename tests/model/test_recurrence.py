"""A matrix that all steps share against autograd, and the cell against torch's own."""

import pytest
import torch
from torch import Tensor, nn

from one2set.model.recurrence import Steady, gated

ROWS = (4, 4, 3, 1)  # at each step


def matrices(rows: int | None) -> tuple[Tensor, Tensor]:
    """The same matrix twice, (3, 5) or (rows, 3, 5), each with a gradient of its own."""
    matrix = torch.randn(3, 5) if rows is None else torch.randn(rows, 3, 5)
    return matrix.clone().requires_grad_(), matrix.clone().requires_grad_()


def plain(matrix: Tensor, x: Tensor, *, transposed: bool) -> Tensor:
    """One row at a time."""
    each = matrix if matrix.dim() == 3 else matrix.expand(len(x), -1, -1)
    if transposed:
        each = each.transpose(1, 2)
    return torch.stack([row @ own for row, own in zip(x, each[: len(x)], strict=True)])


@pytest.mark.parametrize("rows", [None, 4, 6], ids=["shared", "of a row each", "some unused"])
def test_gradients_are_those_of_a_plain_loop(rows: int | None) -> None:
    torch.manual_seed(0)
    ours, expected = matrices(rows)
    start = torch.randn(4, 3)
    totals, starts = [], []
    for matrix in (ours, expected):
        x = start.clone().requires_grad_()
        starts.append(x)
        steady, state = Steady(matrix), x
        total = torch.zeros(())
        for count in ROWS:
            if matrix is ours:
                there = steady.map(state[:count])
                state = torch.tanh(steady.map_back(torch.sin(there)))
            else:
                there = plain(matrix, state[:count], transposed=False)
                state = torch.tanh(plain(matrix, torch.sin(there), transposed=True))
            total = total + (there**2).sum() + state.sum()
        total.backward()  # type: ignore[no-untyped-call]
        totals.append(total)
    torch.testing.assert_close(*totals)
    assert starts[0].grad is not None
    torch.testing.assert_close(starts[0].grad, starts[1].grad)
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, expected.grad)


def test_steps_that_nothing_depends_on_add_nothing() -> None:
    matrix = torch.eye(2, requires_grad=True)
    steady = Steady(matrix)
    kept = steady.map(torch.tensor([[1.0, 2.0]]))
    steady.map(torch.full((1, 2), 100.0))
    torch.autograd.backward(kept[0, 0])
    assert matrix.grad is not None
    assert matrix.grad.tolist() == [[1.0, 0.0], [2.0, 0.0]]


def test_nothing_is_kept_without_gradients() -> None:
    steady = Steady(torch.eye(2))
    assert not steady.map(torch.ones(1, 2)).requires_grad
    steady = Steady(torch.eye(2, requires_grad=True))
    with torch.no_grad():
        assert not steady.map(torch.ones(1, 2)).requires_grad
    assert not steady.factors


def test_the_cell_is_torch_s() -> None:
    torch.manual_seed(0)
    cell, x, h = nn.GRUCell(3, 4), torch.randn(5, 3), torch.randn(5, 4)
    found = gated(
        nn.functional.linear(x, cell.weight_ih, cell.bias_ih),
        nn.functional.linear(h, cell.weight_hh, cell.bias_hh),
        h,
    )
    torch.testing.assert_close(found, cell(x, h))
