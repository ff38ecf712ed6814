"""The layers that the Transformer and SetTrans are built of: attention, feed-forward, positions.

Everything runs on *packed* rows: the words (or target cells) of all documents of a batch, one after
the other without padding. Only attention needs to know where a document begins and ends; that is in
its `Scope`.

Shapes: B documents, Q queries and K keys of all documents, q and k those of one document, D width,
H heads, G documents attended together, R rows, T steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from one2set.model.dropout import Dropout, attention_weights


class Positions:
    """Sinusoids for any number of places. They are not learned, hence no module and never saved."""

    def __init__(self, width: int) -> None:
        self._table = torch.empty(0, width, device="cpu")

    def __call__(self, places: Tensor, last: int) -> Tensor:
        """(…, D) for places (…), of which none is beyond `last`."""
        if last >= len(self._table) or self._table.device != places.device:
            self._table = sinusoids(max(512, 2 * last), self._table.shape[1]).to(places.device)
        return self._table[places]


def sinusoids(count: int, width: int) -> Tensor:
    """(count, D): sine and cosine interleaved. Row 0 is zero, as in the authors' release."""
    column = torch.arange(width)
    period = 10000.0 ** (2 * (column // 2) / width).double()
    angle = torch.arange(count)[:, None] / period
    table = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    table[0] = 0.0
    return table.float()


class Group(NamedTuple):
    """Documents that are attended in one call, padded to the longest of them."""

    q: Tensor  # (G, H, q, D/H)
    k: Tensor  # (G, H, k, D/H)
    v: Tensor
    mask: Tensor | None  # broadcasts to (G, H, q, k), True = seen
    counts: Sequence[int]  # queries of each document

    def unpadded(self, x: Tensor) -> list[Tensor]:
        """The real queries of x (G, q, …), by document."""
        return [rows[:count] for rows, count in zip(x, self.counts, strict=True)]


@dataclass(frozen=True)
class Scope:
    """What queries see: the keys of their own document, and of these where its mask is True."""

    queries: Sequence[int]  # queries of each document, Σ = Q
    keys: Sequence[int]  # keys of each document, Σ = K
    masks: Sequence[Tensor] | None = None  # (q, k) of each document

    def groups(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Iterator[Group]:
        """The documents of packed queries (Q, D), keys and values (K, D).

        A CPU takes them one by one: nothing is padded, and a document's weights stay in the cache.
        Other devices take all in one call.
        """
        qs = torch.split(query, list(self.queries))
        ks, vs = (torch.split(x, list(self.keys)) for x in (key, value))
        if not self._one_by_one(query):
            q, k, v = (
                _split_heads(pad_sequence(list(x), batch_first=True), heads) for x in (qs, ks, vs)
            )
            yield Group(q, k, v, self._padded_mask.to(query.device), self.queries)
            return
        for index, count in enumerate(self.queries):
            if count:
                q, k, v = (_split_heads(x[index][None], heads) for x in (qs, ks, vs))
                yield Group(q, k, v, self.masks[index] if self.masks else None, [count])

    @staticmethod
    def _one_by_one(x: Tensor) -> bool:
        return x.device.type == "cpu"

    @cached_property
    def _padded_mask(self) -> Tensor:
        """(B, 1, q, k)"""
        mask = torch.zeros(len(self.queries), 1, max(self.queries), max(self.keys)).bool()
        for index, (q, k) in enumerate(zip(self.queries, self.keys, strict=True)):
            mask[index, 0, :q, :k] = self.masks[index] if self.masks else True
            mask[index, 0, q:, 0] = True  # a query that saw nothing would not be a number
        return mask


class Linear(nn.Linear):
    """A linear map that is also fast for a few rows, as they are when phrases are written."""

    def forward(self, x: Tensor) -> Tensor:
        """(…, out) for x (…, in)."""
        if x.dim() == 2 and few(x):
            return torch.addmm(self.bias[:, None], self.weight, x.T).T.contiguous()
        return super().forward(x)


def few(x: Tensor) -> bool:
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

    def forward(self, x: Tensor, key: Tensor, value: Tensor, scope: Scope) -> Tensor:
        """(Q, D) for x (Q, D) over packed keys and values (K, D)."""
        parts: list[Tensor] = []
        for group in scope.groups(self.query(x), key, value, self.heads):
            out = self.dropout.attention(group.q, group.k, group.v, group.mask)
            parts += group.unpadded(_join_heads(out))
        return self._out(torch.cat(parts))

    def weigh(self, x: Tensor, key: Tensor, value: Tensor, scope: Scope) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights of head 0 (Q, S), zero beyond the end of a document."""
        longest = max(scope.keys)
        parts: list[Tensor] = []
        weights: list[Tensor] = []
        for group in scope.groups(self.query(x), key, value, self.heads):
            weight = self.dropout(attention_weights(group.q, group.k, group.mask))  # (G, H, q, k)
            parts += group.unpadded(_join_heads(weight @ group.v))
            weights += group.unpadded(F.pad(weight[:, 0], (0, longest - weight.shape[3])))
        return self._out(torch.cat(parts)), torch.cat(weights)

    def rows(self, x: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """(R, D) for x (R, D), where each row has keys and values of its own (R, T, D)."""
        q, k, v = (_split_heads(y, self.heads) for y in (self.query(x)[:, None], key, value))
        return self._out(_join_heads(self.dropout.attention(q, k, v, None)).squeeze(1))

    def _out(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(x)
        return out


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(G, rows, D) as (G, H, rows, D/H)."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def _join_heads(x: Tensor) -> Tensor:
    """(G, H, rows, D/H) as (G, rows, D)."""
    return x.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    """Two linear maps with a rectifier between."""

    def __init__(self, *, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.outer = Linear(width, inner), Linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.outer(self.dropout.rectified(self.inner(x))))
        return out
