"""Additive attention (Bahdanau et al., 2015): s_i = vᵀ tanh(W_m m_i + W_h h + b).

A query has a vector of its own for every word that it looks at, D numbers each. Those of all
queries are never held together: they are made a few queries at a time, and once more for the
gradient. There tanh x is 2σ(2x) − 1, which a CPU computes six times as fast.

Shapes: C queries (sorted by document), B documents, S source words, D width.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

_CHUNK = {"cpu": 2**17}  # numbers at a time, so that they stay in a CPU's cache
_CHUNK_ELSEWHERE = 2**26


class AdditiveAttention(nn.Module):
    """Looks at the words of a query's own document."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)
        self.query = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(
        self, x: Tensor, counts: Sequence[int], keys: Tensor, states: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Contexts (C, D) and weights (C, S) of queries x (C, D), of which each document has so
        many. keys and states (B, S, D), where a key is `self.key` of a state; mask (B, S)."""
        number = torch.tensor(counts, device=x.device)
        document = torch.arange(len(counts), device=x.device).repeat_interleave(number)  # (C,)
        query = self.query(x)
        vector = self.score.weight[0].to(query.dtype)
        scores = _Scores.apply(query, keys, vector, document)  # type: ignore[no-untyped-call]
        weights = scores.masked_fill(~mask[document], -torch.inf).softmax(1)
        # The queries of a document side by side, padded: one product for each document.
        place = torch.arange(len(x), device=x.device) - (number.cumsum(0) - number)[document]
        table = weights.new_zeros(len(counts), max(counts), weights.shape[1])
        table = table.index_put((document, place), weights)
        return (table.to(states.dtype) @ states)[document, place], weights


class _Scores(torch.autograd.Function):
    """(C, S) from queries (C, D), keys (B, S, D), v (D,) and the document (C,) of each query."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, vector: Tensor, document: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, vector, document)
        scores = query.new_empty(len(query), keys.shape[1])
        for part, inner in _parts(query, keys, document):
            scores[part] = inner @ vector
        return scores.mul_(2.0).sub_(vector.sum())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, keys, vector, document = ctx.saved_tensors
        of_query, of_keys = torch.empty_like(query), torch.zeros_like(keys)
        of_vector = torch.zeros_like(vector)
        for part, inner in _parts(query, keys, document):
            grad = grads[0][part]  # (n, S)
            of_vector += grad.flatten() @ inner.flatten(0, 1)
            # The derivative of tanh is 4σ(1 − σ); 4 and v, factors of all, come at the end.
            change = inner.addcmul_(inner, inner, value=-1.0).mul_(grad[:, :, None])
            of_query[part] = change.sum(1)
            of_keys.index_add_(0, document[part], change)
        of_vector = of_vector.mul_(2.0).sub_(grads[0].sum())
        return of_query.mul_(4.0 * vector), of_keys.mul_(4.0 * vector), of_vector, None


def _parts(query: Tensor, keys: Tensor, document: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Some queries at a time, and σ(2 (key + query)) of each with the words of its document
    (n, S, D)."""
    chunk = _CHUNK.get(query.device.type, _CHUNK_ELSEWHERE)
    size = max(1, chunk // keys[0].numel())
    for start in range(0, len(query), size):
        part = slice(start, start + size)
        own = keys.index_select(0, document[part])
        yield part, own.add_(query[part, None]).mul_(2.0).sigmoid_()
