"""The recurrent network of catSeq with copying, as in Chan et al. (2019): a GRU encoder, a GRU
decoder and additive attention. There is no input feeding: the context goes into the output only,
so teacher forcing runs the decoder in one call over all steps.

    h_t = GRU(e(y_{t−1}), h_{t−1}),  h_0 = summary of the document
    c_t = attention of h_t over the source
    P_vocabulary = softmax(W_2 drop(W_1 [c_t; h_t]))
    g = σ(w [c_t; h_t; e(y_{t−1})])

and `Mixture` combines them.

Shapes: B documents, S source words, R rows per document, L cells per row, C real cells of a batch,
E width of embeddings, D width of states, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.specials import PAD
from one2set.model.dropout import Dropout
from one2set.model.gru import run_grus
from one2set.model.network import Memory, Network, State, embed_tokens
from one2set.model.pointer import CopySource, Mixture


class Encoded(NamedTuple):
    """The output of a GRU encoder."""

    states: Tensor  # (B, S, D), undefined beyond the end of a sequence
    summary: Tensor  # (B, D) final states of both directions, the backward one first


class BiGRU(nn.Module):
    """A bidirectional GRU for sequences of different lengths.

    Sequences are padded, and reversed for the second GRU, so that both take their steps together.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.ahead = nn.GRU(inputs, width // 2, batch_first=True)
        self.back = nn.GRU(inputs, width // 2, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        """x (B, S, inputs); lengths (B,)."""
        last = lengths[:, None] - 1
        position = torch.arange(x.shape[1], device=x.device)
        reverse = (last - position).where(position <= last, position)[:, :, None]  # (B, S, 1)
        initial = x.new_zeros(2, len(x), self.ahead.hidden_size)
        inputs = [x, x.take_along_dim(reverse, 1)]
        ahead, back = run_grus([self.ahead, self.back], inputs, initial)
        final = [y.take_along_dim(last[:, :, None], 1).squeeze(1) for y in (back, ahead)]
        states = torch.cat([ahead, back.take_along_dim(reverse, 1)], dim=2)
        return Encoded(states, torch.cat(final, dim=1))


class GRUEncoder(nn.Module):
    """Encodes sources with a stack of bidirectional GRUs."""

    def __init__(self, *, embedding_width: int, width: int, layers: int = 1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            BiGRU(width if layer else embedding_width, width) for layer in range(layers)
        )

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Encoded:
        x = embedding(batch.source)
        lengths = torch.tensor(batch.lengths, device=x.device)
        for layer in self.layers:
            encoded: Encoded = layer(x, lengths)
            x = encoded.states
        return encoded


class TitleGuidedEncoder(nn.Module):
    """The title-guided encoder (Chen et al., 2019): every word attends to the title, and a second
    GRU encodes the words together with their title contexts."""

    def __init__(self, *, embedding_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.source = BiGRU(embedding_width, width)
        self.title = BiGRU(embedding_width, width)
        self.match = nn.Linear(width, width, bias=False)
        self.merge = BiGRU(2 * width, width)
        self.drop = Dropout(dropout)

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Encoded:
        x = embedding(batch.source)
        lengths = torch.tensor(batch.lengths, device=x.device)
        title_lengths = torch.tensor(batch.title_lengths, device=x.device)
        words: Tensor = self.source(x, lengths).states  # u (B, S, D)
        title: Tensor = self.title(x[:, : max(batch.title_lengths)], title_lengths).states  # v
        title_mask = (
            torch.arange(title.shape[1], device=x.device) < title_lengths[:, None]
        )  # (B, T)
        scores = words @ self.match(title).transpose(1, 2)  # (B, S, T)
        weights = scores.masked_fill(~title_mask[:, None], -torch.inf).softmax(2)
        merged: Encoded = self.merge(self.drop(torch.cat([words, weights @ title], 2)), lengths)
        return Encoded(0.5 * words + 0.5 * merged.states, merged.summary)


_CHUNK = {"cpu": 2**17}  # elements at a time, to stay in the cache of a CPU
_CHUNK_OTHER = 2**26


class AdditiveAttention(nn.Module):
    """Additive attention (Bahdanau et al., 2015) to the words of each query's own document:
    s_i = vᵀ tanh(W_m m_i + W_h h + b).

    The D inner values of all pairs of a query and a word never exist at once: they are computed for
    a few queries at a time, and again for the gradient. tanh x is computed as 2σ(2x) − 1, which is
    six times as fast on a CPU.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)
        self.query = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(
        self, x: Tensor, counts: Sequence[int], keys: Tensor, states: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Contexts (C, D) and weights (C, S) of queries x (C, D), sorted by document, `counts` of
        each. keys and states (B, S, D), with keys = self.key(states); mask (B, S)."""
        number = torch.tensor(counts, device=x.device)
        document = torch.arange(len(counts), device=x.device).repeat_interleave(number)  # (C,)
        query = self.query(x)
        vector = self.score.weight[0].to(query.dtype)
        scores = _Scores.apply(query, keys, vector, document)  # type: ignore[no-untyped-call]
        weights = scores.masked_fill(~mask[document], -torch.inf).softmax(1)
        # Pad the queries of each document: one batched product.
        position = torch.arange(len(x), device=x.device) - (number.cumsum(0) - number)[document]
        table = weights.new_zeros(len(counts), max(counts), weights.shape[1])
        table = table.index_put((document, position), weights)
        return (table.to(states.dtype) @ states)[document, position], weights


class _Scores(torch.autograd.Function):
    """(C, S) from queries (C, D), keys (B, S, D), v (D,) and the document (C,) of each query."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, vector: Tensor, document: Tensor) -> Tensor:
        ctx.save_for_backward(query, keys, vector, document)
        scores = query.new_empty(len(query), keys.shape[1])
        for part, inner in _split_queries(query, keys, document):
            scores[part] = inner @ vector
        return scores.mul_(2.0).sub_(vector.sum())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        query, keys, vector, document = ctx.saved_tensors
        of_query, of_keys = torch.empty_like(query), torch.zeros_like(keys)
        of_vector = torch.zeros_like(vector)
        for part, inner in _split_queries(query, keys, document):
            grad = grads[0][part]  # (n, S)
            of_vector += grad.flatten() @ inner.flatten(0, 1)
            # The derivative of tanh is 4σ(1 − σ); the common factors 4 and v follow at the end.
            change = inner.addcmul_(inner, inner, value=-1.0).mul_(grad[:, :, None])
            of_query[part] = change.sum(1)
            of_keys.index_add_(0, document[part], change)
        of_vector = of_vector.mul_(2.0).sub_(grads[0].sum())
        return of_query.mul_(4.0 * vector), of_keys.mul_(4.0 * vector), of_vector, None


def _split_queries(query: Tensor, keys: Tensor, document: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Slices of queries, with σ(2 (key + query)) for the words of their documents (n, S, D)."""
    chunk = _CHUNK.get(query.device.type, _CHUNK_OTHER)
    size = max(1, chunk // keys[0].numel())
    for start in range(0, len(query), size):
        part = slice(start, start + size)
        own = keys.index_select(0, document[part])
        yield part, own.add_(query[part, None]).mul_(2.0).sigmoid_()


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoded documents, with the keys of the attention."""

    states: Tensor  # (B, S, D), undefined where the mask is False
    mask: Tensor  # (B, S)
    keys: Tensor  # (B, S, D)
    summary: Tensor  # (B, D)


@dataclass
class RecurrentState(State):
    """Rows and the hidden states of their GRU."""

    memory: RecurrentMemory
    hidden: Tensor  # (rows, D)

    def select(self, rows: Tensor) -> "RecurrentState":
        return RecurrentState(self.memory, self.documents_of(rows), self.hidden[rows])


class Recurrent(Network):
    """catSeq's network; with `title_guided`, catSeqTG's. It can generate the first `output_size`
    words of the vocabulary, and copy all others."""

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_width: int,
        hidden_width: int,
        dropout: float,
        title_guided: bool = False,
        output_size: int | None = None,
    ) -> None:
        super().__init__()
        self.arguments = {
            "vocabulary_size": vocabulary_size,
            "embedding_width": embedding_width,
            "hidden_width": hidden_width,
            "dropout": dropout,
            "title_guided": title_guided,
            "output_size": output_size or vocabulary_size,
        }
        self.vocabulary_size = vocabulary_size
        self.dropout = dropout
        self.embedding = nn.Embedding(vocabulary_size, embedding_width, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        size = {"embedding_width": embedding_width, "width": hidden_width}
        self.encoder: nn.Module = (
            TitleGuidedEncoder(**size, dropout=dropout) if title_guided else GRUEncoder(**size)
        )
        self.decoder = nn.GRU(embedding_width, hidden_width, batch_first=True)
        self.attention = AdditiveAttention(hidden_width)
        self.features = nn.Linear(2 * hidden_width, hidden_width)
        self.drop = Dropout(dropout)
        # The last column is the bias of W_2: its feature is always 1.
        self.vocabulary = nn.Linear(hidden_width + 1, output_size or vocabulary_size, bias=False)
        self.gate = nn.Linear(2 * hidden_width + embedding_width, 1)

    # torch.compile cannot compile torch's GRUs: each would break the graph.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def encode(self, batch: Batch) -> RecurrentMemory:
        states, summary = self.encoder(batch, self.embedding)
        copy_source = CopySource(batch.source_extended, batch.source_first)
        keys = self.attention.key(states)
        return RecurrentMemory(batch.lengths, copy_source, states, batch.source_mask, keys, summary)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def decode(self, memory: RecurrentMemory, inputs: Tensor, mask: Tensor) -> Mixture:
        lengths = mask.sum(2).flatten()  # (B·R,)
        real = lengths.nonzero().squeeze(1)  # rows that have cells
        x = embed_tokens(inputs.flatten(0, 1)[real], self.embedding)  # (rows, L, E)
        initial = memory.summary.repeat_interleave(mask.shape[1], 0)[real]
        (hidden,) = run_grus([self.decoder], [x], initial[None])  # (rows, L, D)
        cells = mask.flatten(0, 1)[real]  # (rows, L)
        return self._mixture(x[cells], hidden[cells], memory, mask.sum((1, 2)).tolist())

    def start(self, memory: RecurrentMemory, *, steps: int) -> RecurrentState:
        return RecurrentState(memory, list(range(len(memory.lengths))), memory.summary)

    def step(self, state: RecurrentState, tokens: Tensor) -> Mixture:
        x = embed_tokens(tokens, self.embedding)
        _, hidden = self.decoder(x[:, None], state.hidden[None])
        state.hidden = hidden[0]
        return self._mixture(x, state.hidden, state.memory, state.counts)

    def _mixture(
        self, x: Tensor, hidden: Tensor, memory: RecurrentMemory, counts: Sequence[int]
    ) -> Mixture:
        """The mixtures for embedded words x (C, E) and the decoder states (C, D) after them."""
        context, attention = self.attention(hidden, counts, memory.keys, memory.states, memory.mask)
        both = torch.cat([context, hidden], dim=1)
        features = F.pad(self.drop(self.features(both)), (0, 1), value=1.0)
        gate = torch.sigmoid(self.gate(torch.cat([both, x], dim=1))).squeeze(1)
        return Mixture(
            features, self.vocabulary.weight, gate, attention, memory.copy_source, counts
        )
