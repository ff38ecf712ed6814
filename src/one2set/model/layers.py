"""The layers that the Transformer and SetTrans are built of: attention, feed-forward, positions.

Everything runs on *packed* rows: the words (or target cells) of all documents of a batch, one after
the other without padding. Only attention needs to know where a document begins and ends; that is in
its `Segments`.

Shapes: B documents, Q queries and K keys of all documents, q and k those of one document, D width,
H heads, G documents attended together, R rows, T steps.
"""

from collections.abc import Sequence
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
    """Sinusoids for any number of places. They are not learned, hence no module and never saved."""

    def __init__(self, width: int) -> None:
        self._table = torch.empty(0, width, device="cpu")

    def __call__(self, positions: Tensor, last: int) -> Tensor:
        """(…, D) for places (…), of which none is beyond `last`."""
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
    """The queries, or the keys, of some documents that follow one another."""

    rows: slice  # where they stand among all packed rows
    documents: int  # G
    longest: int  # n, of one document
    positions: (
        Tensor | None
    )  # (rows,) where they stand among G·n padded ones; None if nothing is padded

    def heads(self, x: Tensor, heads: int) -> Tensor:
        """(G, H, n, D/H) of packed x, padded with zeros."""
        x = x[self.rows]
        if self.positions is not None:
            padded = x.new_zeros(self.documents * self.longest, x.shape[1])
            x = padded.index_copy_(0, self.positions.to(x.device), x)
        return x.view(self.documents, self.longest, heads, -1).transpose(1, 2)

    def batches(self, x: Tensor, heads: int) -> Tensor:
        """(G·H, n, D/H) of packed x, padded with zeros: what `torch.bmm` takes."""
        if self.documents == 1:  # nothing is copied
            return x[self.rows].view(self.longest, heads, -1).transpose(0, 1)
        return self.heads(x, heads).flatten(0, 1)

    def write(self, x: Tensor, out: Tensor, heads: int, scale: float) -> None:
        """Set the rows of packed `out` to those of x (G·H, n, D/H), scaled."""
        if self.documents == 1:
            rows = out[self.rows].view(self.longest, heads, -1)
            torch.mul(x.transpose(0, 1), scale, out=rows)
            return
        x = x.view(self.documents, heads, self.longest, -1).transpose(1, 2)
        out[self.rows] = self.packed(x.flatten(2)).mul_(scale)

    def packed(self, x: Tensor) -> Tensor:
        """(rows, …) of x (G, n, …)."""
        x = x.flatten(0, 1)
        return x if self.positions is None else x.index_select(0, self.positions.to(x.device))


class Group(NamedTuple):
    """Documents that are attended in one call, padded to the longest of them."""

    queries: PackedRows
    keys: PackedRows
    mask: Tensor | None  # broadcasts to (G, H, q, k), 0 = seen and −∞ = not; added to scores

    @property
    def weights(self) -> int:
        """Of one head, padding included."""
        return self.queries.documents * self.queries.longest * self.keys.longest


@dataclass(frozen=True)
class Segments:
    """What queries see: the keys of their own document, and of these where its mask is True."""

    queries: Sequence[int]  # queries of each document, Σ = Q
    keys: Sequence[int]  # keys of each document, Σ = K
    masks: Sequence[Tensor] | None = None  # (q, k) of each document

    def groups(self, device: torch.device) -> list[Group]:
        """The documents, group by group. Those without queries are in none.

        A CPU takes documents together as long as their weights are few: a single large document is
        faster without padding, and its weights stay in the cache. Other devices take all together.
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
        queries, keys = (_packed_rows(counts, documents) for counts in (self.queries, self.keys))
        if self.masks is None and keys.positions is None:
            return Group(queries, keys, None)
        mask = torch.full((len(documents), 1, queries.longest, keys.longest), -torch.inf)
        for at, index in enumerate(documents):
            q, k = self.queries[index], self.keys[index]
            seen = self.masks[index] if self.masks else torch.ones(q, k, dtype=torch.bool)
            mask[at, 0, :q, :k].masked_fill_(seen.cpu(), 0.0)
            mask[at, 0, q:, 0] = 0.0  # a query that saw nothing would not be a number
        return Group(queries, keys, mask)


# (Queries × keys) of documents that a CPU attends to together, by its measured speed.
_MAX_GROUP_WEIGHTS = 2**12


def _packed_rows(counts: Sequence[int], documents: range) -> PackedRows:
    ours = [counts[index] for index in documents]
    start, longest = sum(counts[: documents.start]), max(ours)
    positions = None
    if min(ours) < longest:
        ends = enumerate(ours)
        positions = torch.cat([torch.arange(n) + at * longest for at, n in ends])
    return PackedRows(slice(start, start + sum(ours)), len(ours), longest, positions)


class Linear(nn.Linear):
    """A linear map that is also fast for a few rows, as they are when phrases are written."""

    def forward(self, x: Tensor) -> Tensor:
        """(…, out) for x (…, in)."""
        if x.dim() == 2 and is_small_batch(x):
            return torch.addmm(self.bias[:, None], self.weight, x.T).T.contiguous()
        return super().forward(x)


def is_small_batch(x: Tensor) -> bool:
    """Whether x has so few rows that a CPU multiplies up to four times as fast when the weights
    stand on the left. (One row is a matter of its own: a product with a vector.)"""
    return 1 < len(x) <= 8 and x.device.type == "cpu"


class Attention(nn.Module):
    """Multi-head attention. Keys and values are projected apart, so that they can be kept."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = Linear(width, width), Linear(width, width)
        self.value, self.out = Linear(width, width), Linear(width, width)
        for linear in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(linear.weight)
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values (K, D) of what is attended to."""
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
        for group in groups:
            q, k, v = _heads_of(group, query, key, value, self.heads)
            mask = None if group.mask is None else group.mask.to(x.device, x.dtype)
            out = self.dropout.attention(q, k, v, mask)
            parts.append(group.queries.packed(_join_heads(out)))
        return self._out(torch.cat(parts))

    def forward_with_weights(
        self, x: Tensor, key: Tensor, value: Tensor, segments: Segments
    ) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights of head 0 (Q, S), zero beyond the end of a document."""
        longest = max(segments.keys)
        query = self.query(x)
        parts: list[Tensor] = []
        weights: list[Tensor] = []
        for group in segments.groups(x.device):
            q, k, v = _heads_of(group, query, key, value, self.heads)
            mask = None if group.mask is None else group.mask.to(x.device)
            weight = self.dropout(attention_weights(q, k, mask))  # (G, H, q, k)
            parts.append(group.queries.packed(_join_heads(weight @ v)))
            padded = F.pad(weight[:, 0], (0, longest - weight.shape[3]))
            weights.append(group.queries.packed(padded))
        return self._out(torch.cat(parts)), torch.cat(weights)

    def step(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """(R, D) for x (R, D), where each row has keys and values of its own (R, T, D)."""
        rows = (self.query(x)[:, None], key, value)
        q, k, v = (y.view(*y.shape[:2], self.heads, -1).transpose(1, 2) for y in rows)
        return self._out(_join_heads(self.dropout.attention(q, k, v, None)).squeeze(1))

    def _out(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(x)
        return out


def _heads_of(
    group: Group, query: Tensor, key: Tensor, value: Tensor, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(G, H, q, D/H) of the queries, (G, H, k, D/H) of the keys and of the values."""
    keys = group.keys
    return group.queries.heads(query, heads), keys.heads(key, heads), keys.heads(value, heads)


def _join_heads(x: Tensor) -> Tensor:
    """(G, H, rows, D/H) as (G, rows, D)."""
    return x.transpose(1, 2).flatten(2)


class _PackedAttention(torch.autograd.Function):
    """Attention with dropout over all groups of packed queries, keys and values, for CPUs.

    Autograd sees one operation: slices and copies of the groups have no gradients of their own.
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
            q, k, v = _batches_of(group, query, key, value, heads)
            weights = _scaled_product(q, k)  # (G·H, q, k)
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
            q, k, v = _batches_of(group, query, key, value, heads)
            grad = group.queries.batches(grads[0], heads)
            of_v = torch.bmm(part.drop(weights).transpose(1, 2), grad)
            of_weights = part.drop(torch.bmm(grad, v.transpose(1, 2)), in_place=True)
            of_scores = softmax_gradient(of_weights, weights)
            of_k = torch.bmm(of_scores.transpose(1, 2), q)
            # The scale of dropout is that of all gradients here.
            group.queries.write(torch.bmm(of_scores, k), of_query, heads, scale * draw.scale)
            group.keys.write(of_k, of_key, heads, scale * draw.scale)
            group.keys.write(of_v, of_value, heads, draw.scale)
        return of_query, of_key, of_value, None, None, None


def _batches_of(
    group: Group, query: Tensor, key: Tensor, value: Tensor, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """(G·H, q, D/H) of the queries, (G·H, k, D/H) of the keys and of the values."""
    keys = group.keys
    return group.queries.batches(query, heads), keys.batches(key, heads), keys.batches(value, heads)


def _scaled_product(q: Tensor, k: Tensor) -> Tensor:
    """q kᵀ / √d of batches."""
    out = q.new_empty(len(q), q.shape[1], k.shape[1])
    return torch.baddbmm(out, q, k.transpose(1, 2), beta=0, alpha=q.shape[2] ** -0.5, out=out)


class FeedForward(nn.Module):
    """Two linear maps with a rectifier between."""

    def __init__(self, *, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.outer = Linear(width, inner), Linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.outer(self.dropout.relu_dropout(self.inner(x))))
        return out
