"""The layers that the Transformer and SetTrans are built of: attention, feed-forward, positions.

Everything runs on *packed* rows: the words (or target cells) of all documents of a batch, one after
the other without padding. Only attention needs to know where a document begins and ends; that is in
its `Scope`.

Shapes: B documents, Q queries and K keys of all documents, q and k those of one document, D width,
H heads, G documents attended together, R rows, T steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Scope:
    """What queries see: the keys of their own document, and of these where its mask is True."""

    queries: Sequence[int]  # queries of each document, Σ = Q
    keys: Sequence[int]  # keys of each document, Σ = K
    masks: Sequence[Tensor] | None = None  # (q, k) of each document

    def groups(
        self, query: Tensor, key: Tensor, value: Tensor, heads: int
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor | None, list[int]]]:
        """Documents that are attended in one call: (G, H, q, D/H), (G, H, k, D/H) twice, a mask
        that broadcasts to (G, H, q, k), and the number of queries of each document.

        A CPU takes them one by one: nothing is padded, and a document's weights stay in the cache.
        Other devices take all of them, padded.
        """
        size = 1 if query.device.type == "cpu" else len(self.queries)
        parts = [
            query.split(list(self.queries)),
            key.split(list(self.keys)),
            value.split(list(self.keys)),
        ]
        for start in range(0, len(self.queries), size):
            group = slice(start, start + size)
            counts = list(self.queries[group])
            if not any(counts):
                continue
            q, k, v = (_split_heads(_stack(part[group]), heads) for part in parts)
            yield q, k, v, self._mask(group, q, k), counts

    def _mask(self, group: slice, query: Tensor, key: Tensor) -> Tensor | None:
        """(G, 1, q, k), or None where a document is alone and sees everything."""
        if query.shape[0] == 1:
            return None if self.masks is None else self.masks[group][0]
        mask = torch.zeros(
            query.shape[0], 1, query.shape[2], key.shape[2], dtype=torch.bool, device=query.device
        )
        for index, (q, k) in enumerate(zip(self.queries[group], self.keys[group], strict=True)):
            mask[index, 0, :q, :k] = True if self.masks is None else self.masks[group][index]
            mask[index, 0, q:, 0] = True  # padding must see something, or it is not a number
        return mask


def _stack(parts: Sequence[Tensor]) -> Tensor:
    """Packed rows of documents as (G, rows, D)."""
    return parts[0][None] if len(parts) == 1 else pad_sequence(list(parts), batch_first=True)


class Attention(nn.Module):
    """Multi-head attention. Keys and values are projected apart, so that they can be kept."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)
        for linear in (self.query, self.key, self.value, self.out):
            nn.init.xavier_uniform_(linear.weight)
        self.dropout = Dropout(dropout)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values (K, D) of what is attended to."""
        return self.key(x), self.value(x)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, scope: Scope | None) -> Tensor:
        """x (Q, D) over packed keys and values (K, D). Without a scope, each row of x (R, D) sees
        keys and values of its own (R, T, D)."""
        query = self.query(x)
        if scope is None:
            q, k, v = (_split_heads(y, self.heads) for y in (query[:, None], key, value))
            return self.out(self._attend(q, k, v, None).squeeze(1))
        parts: list[Tensor] = []
        for q, k, v, mask, counts in scope.groups(query, key, value, self.heads):
            out = self._attend(q, k, v, mask)
            parts += [out[i, :count] for i, count in enumerate(counts)]
        return self.out(torch.cat(parts))

    def weigh(self, x: Tensor, key: Tensor, value: Tensor, scope: Scope) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights of head 0 (Q, S), zero beyond the end of a document."""
        longest = max(scope.keys)
        parts: list[Tensor] = []
        weights: list[Tensor] = []
        for q, k, v, mask, counts in scope.groups(self.query(x), key, value, self.heads):
            weight = self.dropout(attention_weights(q, k, mask))  # (G, H, q, k)
            out = _join_heads(weight @ v)
            first = F.pad(weight[:, 0], (0, longest - k.shape[2]))  # (G, q, S)
            parts += [out[i, :count] for i, count in enumerate(counts)]
            weights += [first[i, :count] for i, count in enumerate(counts)]
        return self.out(torch.cat(parts)), torch.cat(weights)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return _join_heads(self.dropout.attention(q, k, v, mask))  # (G, q, D)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """(G, rows, D) as (G, H, rows, D/H)."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


def _join_heads(x: Tensor) -> Tensor:
    """(G, H, rows, D/H) as (G, rows, D)."""
    return x.transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    """Two linear maps with a rectifier between."""

    def __init__(self, *, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(self.dropout.rectified(self.inner(x)))
        return self.dropout(out)
