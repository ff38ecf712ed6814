"""The layers of the Transformer and SetTrans: attention, feed-forward, positions.

All layers run on *packed* rows: the words (or target cells) of all documents of a batch,
concatenated without padding. Only attention needs the document boundaries; `Segments` has them.

Shapes: B documents, Q queries and K keys of all documents, q and k those of one document, D width,
H heads, G documents attended together, R rows, T steps.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.model.dropout import (
    Dropout,
    DropoutMask,
    attention_weights,
    draw_mask,
    softmax_gradient,
)


class Positions:
    """Sinusoidal position embeddings of any length. They are not learned, hence not a module."""

    def __init__(self, width: int) -> None:
        self._table = torch.empty(0, width, device="cpu")

    def __call__(self, positions: Tensor, last: int) -> Tensor:
        """(…, D) for positions (…), none of which exceeds `last`."""
        if last >= len(self._table) or self._table.device != positions.device:
            self._table = sinusoids(max(512, 2 * last), self._table.shape[1]).to(positions.device)
        return self._table[positions]


def sinusoids(count: int, width: int) -> Tensor:
    """(count, D): sine and cosine interleaved. Row 0 is zero, as in the authors' release."""
    column = torch.arange(width)
    period = 10000.0 ** (2 * (column // 2) / width).double()
    angle = torch.arange(count)[:, None] / period
    table = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    table[0] = 0.0
    return table.float()


@dataclass(frozen=True)
class PackedRows:
    """The packed queries, or keys, of consecutive documents, and how to pad them."""

    rows: slice  # of all packed rows
    documents: int  # G
    longest: int  # n, rows of the longest document
    positions: Tensor | None  # (rows,) indices into the G·n padded rows; None without padding

    def split_heads(self, x: Tensor, heads: int) -> Tensor:
        """The packed rows x of these documents as (G, H, n, D/H), padded with zeros."""
        if self.positions is not None:
            padded = x.new_zeros(self.documents * self.longest, x.shape[1])
            x = padded.index_copy_(0, self.positions.to(x.device), x)
        return x.view(self.documents, self.longest, heads, -1).transpose(1, 2)

    def batches(self, x: Tensor, heads: int) -> Tensor:
        """Packed x as (G·H, n, D/H), padded with zeros, for `torch.bmm`."""
        if self.documents == 1:  # nothing is copied
            return x[self.rows].view(self.longest, heads, -1).transpose(0, 1)
        return self.split_heads(x[self.rows], heads).flatten(0, 1)

    def write(self, x: Tensor, out: Tensor, heads: int, scale: float) -> None:
        """Set the rows of packed `out` to those of x (G·H, n, D/H), scaled."""
        if self.documents == 1:
            rows = out[self.rows].view(self.longest, heads, -1)
            torch.mul(x.transpose(0, 1), scale, out=rows)
            return
        x = x.view(self.documents, heads, self.longest, -1).transpose(1, 2)
        out[self.rows] = self.pack(x.flatten(2)).mul_(scale)

    def pack(self, x: Tensor) -> Tensor:
        """x (G, n, …) without padding: (rows, …)."""
        x = x.flatten(0, 1)
        return x if self.positions is None else x.index_select(0, self.positions.to(x.device))


class Group(NamedTuple):
    """Documents that attention processes in one call, padded to the longest."""

    queries: PackedRows
    keys: PackedRows
    mask: Tensor | None  # broadcasts to (G, H, q, k), added to scores: 0 or −∞

    @property
    def weights(self) -> int:
        """The number of attention weights of one head, including padding."""
        return self.queries.documents * self.queries.longest * self.keys.longest


@dataclass(frozen=True)
class Segments:
    """Document boundaries: queries attend to keys of their own document, where a mask is True."""

    queries: Sequence[int]  # queries of each document, Σ = Q
    keys: Sequence[int]  # keys of each document, Σ = K
    masks: Sequence[Tensor] | None = None  # (q, k) of each document

    def groups(self, device: torch.device) -> list[Group]:
        """The documents in groups; documents without queries are in none.

        On a CPU, small documents are grouped; a large one is faster alone, without padding and with
        its weights in the cache. Other devices take all documents in one group.
        """
        return self._small_groups if device.type == "cpu" else self._one_group

    @cached_property
    def _small_groups(self) -> list[Group]:
        parts: list[range] = []
        for index, count in enumerate(self.queries):
            if not count:
                continue
            if parts and parts[-1].stop == index:
                part = range(parts[-1].start, index + 1)
                q, k = (max(x[part.start : part.stop]) for x in (self.queries, self.keys))
                if len(part) * q * k <= _MAX_GROUP_WEIGHTS:
                    parts[-1] = part
                    continue
            parts.append(range(index, index + 1))
        return [self._group(part) for part in parts]

    @cached_property
    def _one_group(self) -> list[Group]:
        return [self._group(range(len(self.queries)))]

    def _group(self, documents: range) -> Group:
        queries, keys = (_pack_rows(counts, documents) for counts in (self.queries, self.keys))
        if self.masks is None and keys.positions is None:
            return Group(queries, keys, None)
        mask = torch.full((len(documents), 1, queries.longest, keys.longest), -torch.inf)
        for at, index in enumerate(documents):
            q, k = self.queries[index], self.keys[index]
            attention_mask = self.masks[index] if self.masks else torch.ones(q, k).bool()
            mask[at, 0, :q, :k].masked_fill_(attention_mask.cpu(), 0.0)
            mask[at, 0, q:, 0] = 0.0  # the softmax of a fully masked row would be NaN
        return Group(queries, keys, mask)


# Maximum weights (queries × keys) of a group on a CPU, chosen by measured speed.
_MAX_GROUP_WEIGHTS = 2**12


def _pack_rows(counts: Sequence[int], documents: range) -> PackedRows:
    group = [counts[index] for index in documents]
    start, longest = sum(counts[: documents.start]), max(group)
    positions = None
    if min(group) < longest:
        positions = torch.cat([torch.arange(n) + at * longest for at, n in enumerate(group)])
    return PackedRows(slice(start, start + sum(group)), len(group), longest, positions)


class Linear(nn.Linear):
    """A linear layer that is also fast for the few rows of a decoding step, and can multiply in
    bfloat16 (see `bfloat16_products`)."""

    bfloat16_weight: Tensor | None = None  # the weight in bfloat16
    bfloat16_bias: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(…, out) for x (…, in)."""
        if x.dim() == 2 and is_small_batch(x):
            return torch.addmm(self.bias[:, None], self.weight, x.T).T.contiguous()
        if self.bfloat16_weight is not None:
            return F.linear(x.to(torch.bfloat16), self.bfloat16_weight, self.bfloat16_bias).to(
                x.dtype
            )
        return super().forward(x)


_WIDE = 256  # for narrower products, casting takes longer than bfloat16 saves


def find_wide_linears(module: nn.Module) -> list[Linear]:
    """The linear layers of a module that `bfloat16_products` converts."""
    return [
        linear
        for linear in module.modules()
        if isinstance(linear, Linear) and min(linear.in_features, linear.out_features) >= _WIDE
    ]


@contextmanager
def bfloat16_products(module: nn.Module) -> Iterator[None]:
    """Within the block, the wide linear layers of a module multiply in bfloat16; everything else is
    float32.

    Weights are cast once, here, and not at each product as by `torch.autocast`. The casts have
    gradients, so those of a loss reach the float32 weights, which the optimizer updates and a
    checkpoint contains. A block has one forward and one backward pass.
    """
    linears = find_wide_linears(module)
    for linear in linears:
        linear.bfloat16_weight = linear.weight.to(torch.bfloat16)
        linear.bfloat16_bias = None if linear.bias is None else linear.bias.to(torch.bfloat16)
    try:
        yield
    finally:
        for linear in linears:
            linear.bfloat16_weight = linear.bfloat16_bias = None


def is_small_batch(x: Tensor) -> bool:
    """Whether x has so few rows that a CPU is up to four times as fast with the weights on the
    left of the product. A single row is already fast: it is a matrix-vector product."""
    return 1 < len(x) <= 8 and x.device.type == "cpu"


class Attention(nn.Module):
    """Multi-head attention. Keys and values are projected separately, so they can be cached."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = Linear(width, width), Linear(width, width)
        self.value, self.out = Linear(width, width), Linear(width, width)
        for linear in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(linear.weight)
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (K, D)."""
        return self.key(x), self.value(x)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, segments: Segments) -> Tensor:
        """(Q, D) for x (Q, D) over packed keys and values (K, D)."""
        groups = segments.groups(x.device)
        query = self.query(x)
        if self.dropout.active and x.device.type == "cpu":
            rate = self.dropout.rate
            out: Tensor = _PackedAttention.apply(query, key, value, groups, self.heads, rate)  # type: ignore[no-untyped-call]
            return self._out(out)
        parts: list[Tensor] = []
        for group, q, k, v in _split_groups(groups, query, key, value, self.heads):
            mask = None if group.mask is None else group.mask.to(x.device, x.dtype)
            out = self.dropout.attention(q, k, v, mask)
            parts.append(group.queries.pack(_join_heads(out)))
        return self._out(torch.cat(parts))

    def forward_with_weights(
        self, x: Tensor, key: Tensor, value: Tensor, segments: Segments
    ) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights (Q, S) of head 0, zero beyond the end of a document."""
        longest = max(segments.keys)
        groups, query = segments.groups(x.device), self.query(x)
        parts: list[Tensor] = []
        weights: list[Tensor] = []
        for group, q, k, v in _split_groups(groups, query, key, value, self.heads):
            mask = None if group.mask is None else group.mask.to(x.device)
            weight = self.dropout(attention_weights(q, k, mask))  # (G, H, q, k)
            parts.append(group.queries.pack(_join_heads(weight @ v)))
            padded = F.pad(weight[:, 0], (0, longest - weight.shape[3]))
            weights.append(group.queries.pack(padded))
        return self._out(torch.cat(parts)), torch.cat(weights)

    def step(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """One decoding step: (R, D) for x (R, D), where each row has its own cache (R, T, D)."""
        rows = (self.query(x)[:, None], key, value)
        q, k, v = (y.view(*y.shape[:2], self.heads, -1).transpose(1, 2) for y in rows)
        return self._out(_join_heads(self.dropout.attention(q, k, v, None)).squeeze(1))

    def _out(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(x)
        return out


def _split_groups(
    groups: Sequence[Group], query: Tensor, key: Tensor, value: Tensor, heads: int
) -> Iterator[tuple[Group, Tensor, Tensor, Tensor]]:
    """Each group with its queries (G, H, q, D/H), its keys and its values (G, H, k, D/H)."""
    queries = _split_rows(query, [group.queries for group in groups])
    keys, values = (_split_rows(x, [group.keys for group in groups]) for x in (key, value))
    for group, q, k, v in zip(groups, queries, keys, values, strict=True):
        split_keys = group.keys.split_heads
        yield group, group.queries.split_heads(q, heads), split_keys(k, heads), split_keys(v, heads)


def _split_rows(x: Tensor, parts: Sequence[PackedRows]) -> list[Tensor]:
    """The rows of x of each part. The gradient of `torch.split` is one concatenation, while that
    of a slice is as large as x for every part."""
    bounds = [0, *(at for part in parts for at in (part.rows.start, part.rows.stop)), len(x)]
    sizes = [stop - start for start, stop in itertools.pairwise(bounds)]
    return list(torch.split(x, sizes)[1::2])


def _join_heads(x: Tensor) -> Tensor:
    """(G, H, rows, D/H) as (G, rows, D)."""
    return x.transpose(1, 2).flatten(2)


class _PackedAttention(torch.autograd.Function):
    """Attention with dropout over all groups of packed queries, keys and values, for CPUs.

    To autograd it is one operation: slices and copies of the groups need no gradients.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        groups: Sequence[Group],
        heads: int,
        rate: float,
    ) -> Tensor:
        out = torch.empty_like(query)
        draw = draw_mask(torch.Size([heads * sum(group.weights for group in groups)]), rate)
        draws = draw.split([heads * group.weights for group in groups])
        kept: list[Tensor] = []
        for group, part in zip(groups, draws, strict=True):
            q, k, v = _split_batches(group, query, key, value, heads)
            weights = _multiply_scaled(q, k)  # (G·H, q, k)
            if group.mask is not None:
                weights.view(len(group.mask), heads, *weights.shape[1:]).add_(group.mask)
            weights = torch.softmax(weights, -1)
            kept.append(weights)
            group.queries.write(torch.bmm(part.drop(weights), v), out, heads, draw.scale)
        ctx.groups, ctx.heads = groups, heads
        ctx.highest, ctx.scale = draw.highest, draw.scale
        ctx.save_for_backward(query, key, value, draw.bytes, *kept)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, bytes, *kept = ctx.saved_tensors
        groups, heads = ctx.groups, ctx.heads
        draw = DropoutMask(bytes, ctx.highest, ctx.scale)
        draws = draw.split([heads * group.weights for group in groups])
        of_query = torch.empty_like(query)
        of_key, of_value = torch.zeros_like(key), torch.zeros_like(value)
        scale = (query.shape[1] // heads) ** -0.5
        for group, part, weights in zip(groups, draws, kept, strict=True):
            q, k, v = _split_batches(group, query, key, value, heads)
            grad = group.queries.batches(grads[0], heads)
            of_v = torch.bmm(part.drop(weights).transpose(1, 2), grad)
            of_weights = part.drop(torch.bmm(grad, v.transpose(1, 2)), in_place=True)
            of_scores = softmax_gradient(of_weights, weights)
            of_k = torch.bmm(of_scores.transpose(1, 2), q)
            # All gradients have the scale of dropout.
            group.queries.write(torch.bmm(of_scores, k), of_query, heads, scale * draw.scale)
            group.keys.write(of_k, of_key, heads, scale * draw.scale)
            group.keys.write(of_v, of_value, heads, draw.scale)
        return of_query, of_key, of_value, None, None, None


def _split_batches(
    group: Group, query: Tensor, key: Tensor, value: Tensor, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(G·H, q, D/H) of the queries, (G·H, k, D/H) of the keys and of the values."""
    keys = group.keys
    return group.queries.batches(query, heads), keys.batches(key, heads), keys.batches(value, heads)


def _multiply_scaled(q: Tensor, k: Tensor) -> Tensor:
    """q kᵀ / √d of batches."""
    out = q.new_empty(len(q), q.shape[1], k.shape[1])
    return torch.baddbmm(out, q, k.transpose(1, 2), beta=0, alpha=q.shape[2] ** -0.5, out=out)


class FeedForward(nn.Module):
    """linear → ReLU → dropout → linear → dropout."""

    def __init__(self, *, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.outer = Linear(width, inner), Linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.outer(self.dropout.relu_dropout(self.inner(x))))
        return out
