"""Dropout that is cheap on a CPU, where torch's dropout takes a tenth of a training step.

One 64-bit random integer decides eight elements, one byte each; the bytes are kept for the
gradient. Other devices have fast kernels and use them.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from torch import Tensor, nn


class Dropout(nn.Module):
    """In training, zeroes elements with probability `rate` and scales up the others."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    @property
    def active(self) -> bool:
        """Whether elements are dropped: in training, with a positive rate."""
        return self.training and self.rate > 0

    def forward(self, x: Tensor) -> Tensor:
        if not self.active:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        out: Tensor = _DropoutFunction.apply(x, self.rate)  # type: ignore[no-untyped-call]
        return out

    def relu_dropout(self, x: Tensor) -> Tensor:
        """Dropout of ReLU(x), in place."""
        if not self.active or x.device.type != "cpu":
            return self.forward(x.relu_())
        out: Tensor = _ReluDropout.apply(x, self.rate)  # type: ignore[no-untyped-call]
        return out

    def attention(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """softmax(q kᵀ / √d + mask) v with dropout on the softmax."""
        if self.active and q.device.type == "cpu":
            out: Tensor = self.forward(attention_weights(q, k, mask)) @ v
            return out
        rate = self.rate if self.active else 0.0
        return F.scaled_dot_product_attention(q, k, v, mask, rate)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(q kᵀ / √d + mask) over the keys (…, q, k); the mask is added to the scores."""
    scores: Tensor = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if mask is not None:
        scores += mask  # four times as fast on a CPU as masked_fill
    return torch.softmax(scores, -1)


def softmax_gradient(grad: Tensor, softmax: Tensor) -> Tensor:
    """The gradient of the input of a softmax, given that of its output."""
    arguments = (grad, softmax, -1, softmax.dtype)
    return cast("Tensor", torch.ops.aten._softmax_backward_data(*arguments))


class DropoutMask(NamedTuple):
    """Random bytes that decide which elements are dropped.

    On a CPU, torch converts bytes to floats and compares floats four times as fast as it handles
    bools.
    """

    bytes: Tensor  # −128 … 127, one for each element
    highest: int  # elements with a byte up to this one are dropped
    scale: float  # factor of the elements that are kept

    def split(self, counts: Sequence[int]) -> list["DropoutMask"]:
        """Split the mask into consecutive parts."""
        parts = torch.split(self.bytes, list(counts))
        return [DropoutMask(part, self.highest, self.scale) for part in parts]

    def drop(self, x: Tensor, *, in_place: bool = False) -> Tensor:
        """x with zeros where elements are dropped, not scaled."""
        arguments = (
            x,
            self.bytes.view(x.shape).to(x.dtype),
            self.highest,
        )  # x where bytes > highest, else 0
        if in_place:
            return cast(
                "Tensor", torch.ops.aten.threshold_backward.grad_input(*arguments, grad_input=x)
            )
        return cast("Tensor", torch.ops.aten.threshold_backward(*arguments))


def draw_mask(shape: torch.Size, rate: float) -> DropoutMask:
    """Draw a mask. The rate is rounded to 1/256, up or down at random, so that it is exact on
    average."""
    dropped = min(255, int(256 * rate + torch.rand(()).item()))  # of 256 bytes
    count = shape.numel()
    words = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(-(2**63), None)
    bytes = words.view(torch.int8)[:count].view(shape)
    return DropoutMask(bytes, dropped - 129, 256 / (256 - dropped))


class _DropoutFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        bytes, *ctx.rest = draw = draw_mask(x.shape, rate)
        ctx.save_for_backward(bytes)
        return draw.drop(x).mul_(draw.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        draw = DropoutMask(*ctx.saved_tensors, *ctx.rest)
        return draw.drop(grads[0]).mul_(draw.scale), None


class _ReluDropout(torch.autograd.Function):
    """The gradient needs no mask: dropped elements are zero in the output, like negative ones."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        draw = draw_mask(x.shape, rate)
        ctx.scale = draw.scale
        draw.drop(x.relu_(), in_place=True).mul_(draw.scale)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grads[0], out, 0).mul_(ctx.scale), None
