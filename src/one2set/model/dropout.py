"""Dropout that is cheap on a CPU, where torch's own takes a tenth of a training step.

One 64-bit draw decides four numbers, by 16 bits each, so that the rate is rounded to 1/65536. What
a gradient needs is kept as a mask of bytes or computed again. Other devices have fast kernels for
all this, and use them.
"""

import math
from typing import Any

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


def _draw(shape: torch.Size, rate: float) -> tuple[Tensor, float]:
    """Which numbers are kept, and the factor by which they grow."""
    count, limit = shape.numel(), round(rate * 2**16)
    words = torch.empty(math.ceil(count / 4), dtype=torch.int64).random_(-(2**63), None)
    keep = words.view(torch.int16)[:count].view(shape) >= limit - 2**15
    return keep, 2**16 / (2**16 - limit)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        keep, ctx.scale = _draw(x.shape, rate)
        ctx.save_for_backward(keep)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return (grads[0] * keep).mul_(ctx.scale), None


class _DropRectified(torch.autograd.Function):
    """Needs no mask: what was dropped is as zero as what was rectified."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        keep, ctx.scale = _draw(x.shape, rate)
        x.relu_().mul_(keep).mul_(ctx.scale)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (out,) = ctx.saved_tensors
        return (grads[0] * (out > 0)).mul_(ctx.scale), None


class _DropAttention(torch.autograd.Function):
    """Computes its weights again for the gradient, as fused attention does. Weights are float32,
    products of the precision of q."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, rate: float
    ) -> Tensor:
        weights = attention_weights(q, k, mask).float()
        keep, ctx.scale = _draw(weights.shape, rate)
        ctx.save_for_backward(q, k, v, mask, keep)
        return weights.mul_(keep).mul_(ctx.scale).to(v.dtype) @ v

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, mask, keep = ctx.saved_tensors
        weights = attention_weights(q, k, mask).float()
        factor = keep * ctx.scale
        of_v = (weights * factor).to(v.dtype).transpose(-1, -2) @ grads[0]
        of_weights = (grads[0] @ v.transpose(-1, -2)).float().mul_(factor)
        of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
        of_scores = (of_scores * q.shape[-1] ** -0.5).to(q.dtype)
        return of_scores @ k, of_scores.transpose(-1, -2) @ q, of_v, None, None
