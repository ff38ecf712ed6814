"""Dropout that is cheap on a CPU, where torch's own takes a tenth of a training step.

One 64-bit draw decides eight numbers, by a byte each. The gradient keeps these bytes. Other devices
have fast kernels for all this, and use them.
"""

import math
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zeroes a share `rate` of the numbers in training, and scales up the others."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    @property
    def active(self) -> bool:
        """Whether anything is dropped."""
        return self.training and self.rate > 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.active:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        out: Tensor = _Drop.apply(x, self.rate)  # type: ignore[no-untyped-call]
        return out

    def rectified(self, x: Tensor) -> Tensor:
        """Dropout of max(x, 0), in the place of x."""
        if not self.active or x.device.type != "cpu":
            return self.forward(x.relu_())
        out: Tensor = _DropRectified.apply(x, self.rate)  # type: ignore[no-untyped-call]
        return out

    def attention(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """softmax(q kᵀ / √d) v with dropout on the softmax; the mask is True where q sees k."""
        if self.active and q.device.type == "cpu":
            out: Tensor = _DropAttention.apply(q, k, v, mask, self.rate)  # type: ignore[no-untyped-call]
            return out
        rate = self.rate if self.active else 0.0
        return F.scaled_dot_product_attention(q, k, v, mask, rate)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d) over the keys (…, q, k) that a mask lets see."""
    scores: Tensor = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    return torch.softmax(scores, -1)


class _Draw(NamedTuple):
    """Random bytes, by which numbers are kept or dropped.

    Bytes and not bools: on a CPU, torch converts bytes to floats, and compares floats, four times
    as fast as it does anything with bools.
    """

    bytes: Tensor  # −128 … 127, of the shape of what is dropped
    highest: int  # the highest byte that drops a number
    scale: float  # by which the numbers that are kept grow

    def drop(self, x: Tensor, *, in_place: bool = False) -> Tensor:
        """x with zeros for the numbers that are dropped, not scaled."""
        arguments = (x, self.bytes.to(x.dtype), self.highest)  # x where bytes > highest, else 0
        if in_place:
            return cast(
                "Tensor", torch.ops.aten.threshold_backward.grad_input(*arguments, grad_input=x)
            )
        return cast("Tensor", torch.ops.aten.threshold_backward(*arguments))


def _draw(shape: torch.Size, rate: float) -> _Draw:
    """The rate is rounded to 1/256, up or down at random, so that it is exact on average."""
    dropped = min(255, int(256 * rate + torch.rand(()).item()))  # of 256 bytes
    count = shape.numel()
    words = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(-(2**63), None)
    bytes = words.view(torch.int8)[:count].view(shape)
    return _Draw(bytes, dropped - 129, 256 / (256 - dropped))


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        bytes, *ctx.rest = draw = _draw(x.shape, rate)
        ctx.save_for_backward(bytes)
        return draw.drop(x).mul_(draw.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        draw = _Draw(*ctx.saved_tensors, *ctx.rest)
        return draw.drop(grads[0]).mul_(draw.scale), None


class _DropRectified(torch.autograd.Function):
    """Needs no bytes for the gradient: what was dropped is as zero as what was rectified."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        draw = _draw(x.shape, rate)
        ctx.scale = draw.scale
        draw.drop(x.relu_(), in_place=True).mul_(draw.scale)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], out, 0).mul_(ctx.scale), None


class _DropAttention(torch.autograd.Function):
    """Keeps the weights before dropout and the random bytes, and drops again for the gradient."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float
    ) -> Tensor:
        weights = attention_weights(q, k, mask)
        bytes, *ctx.rest = draw = _draw(weights.shape, rate)
        ctx.save_for_backward(q, k, v, weights, bytes)
        return (draw.drop(weights) @ v).mul_(draw.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, weights, bytes = ctx.saved_tensors
        draw = _Draw(bytes, *ctx.rest)
        grad = grads[0] * draw.scale
        of_v = draw.drop(weights).transpose(-1, -2) @ grad
        of_weights = draw.drop(grad @ v.transpose(-1, -2), in_place=True)
        of_scores = torch.ops.aten._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        scale = q.shape[-1] ** -0.5
        of_q = (of_scores @ k).mul_(scale)
        return of_q, of_scores.transpose(-1, -2) @ (q * scale), of_v, None, None
