"""Steps that follow one another, where a decoder reads what it has just computed and so cannot take
them all at once: a matrix that all steps multiply by, and the cell of a gated recurrent unit.

Shapes: R rows at a step, I and O what a matrix maps from and to, D width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


class Steady:
    """A matrix (I, O) that every step multiplies its rows by, or a matrix (R, I, O) for each row.

    Left to itself, autograd would add up as many gradients of the matrix as there are steps, each
    as large as the matrix. Here a step only keeps the two factors of its gradient, and when all
    steps have been walked back a single product takes their sum.

    A step may have fewer rows than the one before it. They are the first ones.
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix.detach()
        self.factors: list[tuple[Tensor, Tensor]] = []  # (R, I) and (R, O) of each step
        # Every step depends on this nothing, so the way back comes to it when it is done with them.
        self._nothing: Tensor = _Gathered.apply(matrix, self)  # type: ignore[no-untyped-call]

    def map(self, x: Tensor) -> Tensor:
        """(R, O) for x (R, I)."""
        out: Tensor = _Product.apply(x, self._nothing, self, False)  # type: ignore[no-untyped-call]
        return out

    def map_back(self, x: Tensor) -> Tensor:
        """(R, I) for x (R, O), by the transposed matrix."""
        out: Tensor = _Product.apply(x, self._nothing, self, True)  # type: ignore[no-untyped-call]
        return out

    def multiply(self, x: Tensor, *, transposed: bool) -> Tensor:
        matrix = self.matrix.to(x.dtype)
        if transposed:
            matrix = matrix.transpose(-1, -2)
        if matrix.dim() == 2:
            return x @ matrix
        return torch.bmm(x[:, None], matrix[: len(x)]).squeeze(1)

    def gradient(self) -> Tensor:
        """Of the matrix, as large as it is."""
        ins, outs = ([factors[side] for factors in self.factors] for side in (0, 1))
        self.factors.clear()
        if self.matrix.dim() == 2:
            return (torch.cat(ins).T @ torch.cat(outs)).to(self.matrix.dtype)
        of_rows = torch.bmm(pad_sequence(ins).transpose(1, 2), pad_sequence(outs))
        gradient = torch.zeros_like(self.matrix)
        gradient[: len(of_rows)] = of_rows
        return gradient


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, steady: Steady) -> Tensor:
        ctx.steady = steady
        return matrix.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.steady.gradient(), None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, nothing: Tensor, steady: Steady, transposed: bool) -> Tensor:
        ctx.steady, ctx.transposed = steady, transposed
        ctx.save_for_backward(x, nothing)
        return steady.multiply(x, transposed=transposed)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (grad,) = grads
        x, nothing = ctx.saved_tensors
        x = x.to(grad.dtype)
        ctx.steady.factors.append((grad, x) if ctx.transposed else (x, grad))
        return ctx.steady.multiply(grad, transposed=not ctx.transposed), nothing, None, None


def gated(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    """The next state (R, D) of a gated recurrent unit, from its input and its state h, both mapped
    to the three gates: x and y (R, 3 D)."""
    width = h.shape[1]
    x_gates, x_new = torch.split(x, [2 * width, width], dim=1)
    y_gates, y_new = torch.split(y, [2 * width, width], dim=1)
    reset, update = torch.sigmoid(x_gates + y_gates).chunk(2, dim=1)
    return torch.lerp(torch.tanh(x_new + reset * y_new), h, update)
