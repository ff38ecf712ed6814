"""ExHiRD's network: a hierarchical decoder (phrases, then words) with copying.

It decodes one row, `<p> p1 <sep> <a> a1 <sep> <eos>` (`batch.nested`). At the start of a phrase the
phrase decoder takes a step: its input is z, the output state at the last separator, and its state q
initialises the word decoder. The word decoder reads words and its own last output state h̃:

    q = GRU(z, q)     h = GRU([word; h̃], h)     h̃ = tanh(W [Σ α' m; h])

A word's attention to the source m, α = softmax(mᵀ W_w h), is rescaled by that of its phrase,
β = softmax(mᵀ W_p q). Both are softmaxes, so α' = α β / Σ α β is the softmax of the
sum of the scores, mᵀ (W_w h + W_p q): one attention with one query.

Shapes: B documents, S source words, C real cells, R rows at a step, T steps, D width, E width of
embeddings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from one2set.data.batch import Batch
from one2set.data.specials import BOS, PAD, SEP
from one2set.model.network import Memory, Network, State, embed_tokens
from one2set.model.pointer import CopySource, Mixture
from one2set.model.recurrent import GRUEncoder


class SharedMatmul:
    """Multiplication by a matrix (I, O) that all decoding steps share, or by one (R, I, O) per row.

    Autograd would compute a gradient as large as the matrix at every step, and add them up. Here a
    step only stores the two factors of its gradient; a single product sums them at the end.

    A step may have fewer rows than the one before it: the first ones.
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix.detach()
        self.factors: list[tuple[Tensor, Tensor]] = []  # (R, I) and (R, O) of each step
        # All steps depend on this zero, so its backward runs last, when each has added its factors.
        self._zero: Tensor = _GatherGradient.apply(matrix, self)  # type: ignore[no-untyped-call]

    def apply(self, x: Tensor) -> Tensor:
        """(R, O) for x (R, I)."""
        out: Tensor = _SharedProduct.apply(x, self._zero, self, False)  # type: ignore[no-untyped-call]
        return out

    def apply_transposed(self, x: Tensor) -> Tensor:
        """(R, I) for x (R, O), by the transposed matrix."""
        out: Tensor = _SharedProduct.apply(x, self._zero, self, True)  # type: ignore[no-untyped-call]
        return out

    def _multiply(self, x: Tensor, *, transposed: bool) -> Tensor:
        matrix = self.matrix.to(x.dtype)
        if transposed:
            matrix = matrix.transpose(-1, -2)
        if matrix.dim() == 2:
            return x @ matrix
        return torch.bmm(x[:, None], matrix[: len(x)]).squeeze(1)

    def sum_gradient(self) -> Tensor:
        """The gradient of the matrix, from the factors of all steps."""
        ins, outs = ([factors[side] for factors in self.factors] for side in (0, 1))
        self.factors.clear()
        if self.matrix.dim() == 2:
            return (torch.cat(ins).T @ torch.cat(outs)).to(self.matrix.dtype)
        of_rows = torch.bmm(pad_sequence(ins).transpose(1, 2), pad_sequence(outs))
        gradient = torch.zeros_like(self.matrix)
        gradient[: len(of_rows)] = of_rows
        return gradient


class _GatherGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, matmul: SharedMatmul) -> Tensor:
        ctx.matmul = matmul
        return matrix.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.matmul.sum_gradient(), None


class _SharedProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, zero: Tensor, matmul: SharedMatmul, transposed: bool
    ) -> Tensor:
        ctx.matmul, ctx.transposed = matmul, transposed
        ctx.save_for_backward(x, zero)
        return matmul._multiply(x, transposed=transposed)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (grad,) = grads
        x, zero = ctx.saved_tensors
        x = x.to(grad.dtype)
        ctx.matmul.factors.append((grad, x) if ctx.transposed else (x, grad))
        return ctx.matmul._multiply(grad, transposed=not ctx.transposed), zero, None, None


def gru_cell(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    """The next state (R, D) of a GRU with state h, from the gate pre-activations of its input and
    of its state: x and y (R, 3 D)."""
    width = h.shape[1]
    x_gates, x_new = torch.split(x, [2 * width, width], dim=1)
    y_gates, y_new = torch.split(y, [2 * width, width], dim=1)
    reset, update = torch.sigmoid(x_gates + y_gates).chunk(2, dim=1)
    return torch.lerp(torch.tanh(x_new + reset * y_new), h, update)


class Levels(NamedTuple):
    """The recurrent states of rows, (R, D) each."""

    phrase: Tensor  # q
    word: Tensor  # h
    feed: Tensor  # h̃

    def first(self, rows: int) -> "Levels":
        return self if len(self.word) == rows else Levels(*(x[:rows] for x in self))


class SourceAttention:
    """Attention of each row to the encoder states of its document."""

    def __init__(self, states: Tensor, mask: Tensor) -> None:
        """states (R, S, D); mask (R, S), True = a word."""
        self._states, self._mask = states, mask
        self._matmul = SharedMatmul(states)
        self._mask_scores = torch.zeros_like(states[:, :, 0]).masked_fill_(~mask, -torch.inf)

    def attend(self, query: Tensor) -> tuple[Tensor, Tensor]:
        """The weights (R, S) of a query (R, D), and the context (R, D)."""
        scores = self._matmul.apply_transposed(query) + self._mask_scores[: len(query)]
        weights = torch.softmax(scores, dim=1)
        return weights, self._matmul.apply(weights)

    def select(self, rows: Tensor) -> "SourceAttention":
        return SourceAttention(self._states[rows], self._mask[rows])


class SharedWeights:
    """The matrices of the decoder, shared by all steps."""

    def __init__(self, decoder: "Decoder") -> None:
        self.phrase_input = SharedMatmul(decoder.phrase.weight_ih.T)
        self.phrase_state = SharedMatmul(decoder.phrase.weight_hh.T)
        self.word_feed = SharedMatmul(decoder.word.weight_ih[:, decoder.embedding_width :].T)
        self.word_state = SharedMatmul(decoder.word.weight_hh.T)
        self.query = SharedMatmul(decoder.query.weight.T)
        self.out = SharedMatmul(decoder.out.weight.T)


class Decoder(nn.Module):
    """The phrase decoder and the word decoder, one word at a time."""

    def __init__(self, *, embedding_width: int, width: int) -> None:
        super().__init__()
        self.embedding_width = embedding_width
        self.phrase = nn.GRUCell(width, width)
        self.word = nn.GRUCell(embedding_width + width, width)
        self.query = nn.Linear(2 * width, width, bias=False)  # W_w and W_p, side by side
        self.out = nn.Linear(2 * width, width, bias=False)

    def gates(self, words: Tensor) -> Tensor:
        """(…, 3 D) the part of the word decoder's gates that depends on embedded words (…, E)."""
        weight = self.word.weight_ih[:, : self.embedding_width]
        return F.linear(words, weight, self.word.bias_ih)

    def forward(
        self,
        shared: SharedWeights,
        source: SourceAttention,
        levels: Levels,
        gates: Tensor,
        begins: Tensor,
    ) -> tuple[Levels, Tensor]:
        """The next states and α' (R, S), given the words' `gates` (R, 3 D) and the indices (r,) of
        rows that begin a phrase."""
        q, h, feed = levels
        if len(begins):
            before = q[begins]
            q_new = gru_cell(
                shared.phrase_input.apply(feed[begins]) + self.phrase.bias_ih,
                shared.phrase_state.apply(before) + self.phrase.bias_hh,
                before,
            )
            q, h = q.index_copy(0, begins, q_new), h.index_copy(0, begins, q_new)
            feed = feed.index_fill(0, begins, 0.0)
        state = shared.word_state.apply(h) + self.word.bias_hh
        h = gru_cell(gates + shared.word_feed.apply(feed), state, h)
        attention, context = source.attend(shared.query.apply(torch.cat([h, q], dim=1)))
        feed = torch.tanh(shared.out.apply(torch.cat([context, h], dim=1)))
        return Levels(q, h, feed), attention


@dataclass(frozen=True)
class ExHiRDMemory(Memory):
    """The encoded documents, padded."""

    states: Tensor  # (B, S, D), undefined where the mask is False
    mask: Tensor  # (B, S)
    summary: Tensor  # (B, D)


@dataclass
class ExHiRDState(State):
    """Rows and their recurrent states."""

    memory: ExHiRDMemory
    levels: Levels
    source: SourceAttention
    shared: SharedWeights

    def select(self, rows: Tensor) -> "ExHiRDState":
        return ExHiRDState(
            self.memory,
            self.documents_of(rows),
            Levels(*(x[rows] for x in self.levels)),
            self.source.select(rows),
            self.shared,
        )


class ExHiRD(Network):
    """ExHiRD. The output bias is the last column of the vocabulary weights; its feature is 1."""

    dropout = 0.0

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_width: int,
        hidden_width: int,
        output_size: int | None = None,
    ) -> None:
        super().__init__()
        self.arguments = {
            "vocabulary_size": vocabulary_size,
            "embedding_width": embedding_width,
            "hidden_width": hidden_width,
            "output_size": output_size or vocabulary_size,
        }
        self.vocabulary_size = vocabulary_size
        self.embedding = nn.Embedding(vocabulary_size, embedding_width, padding_idx=PAD)
        size = {"embedding_width": embedding_width, "width": hidden_width}
        self.encoder = GRUEncoder(**size, layers=2)
        self.decoder = Decoder(**size)
        self.vocabulary = nn.Linear(hidden_width + 1, output_size or vocabulary_size, bias=False)
        self.gate = nn.Linear(hidden_width, 1)  # σ of it is 1 − p_copy
        for weight in self.parameters():
            nn.init.uniform_(weight, -0.1, 0.1)
        with torch.no_grad():
            # In effect −∞: `<pad>` has probability exactly 0, hence no gradient, and keeps it.
            self.vocabulary.weight[PAD, -1] = -1e4

    def encode(self, batch: Batch) -> ExHiRDMemory:
        states, summary = self.encoder(batch, self.embedding)
        copy_source = CopySource(batch.source_extended, batch.source_first)
        return ExHiRDMemory(batch.lengths, copy_source, states, batch.source_mask, summary)

    # torch.compile would compile it again for every number of rows.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def decode(self, memory: ExHiRDMemory, inputs: Tensor, mask: Tensor) -> Mixture:
        inputs, mask = inputs[:, 0], mask[:, 0]  # (B, L), as a document has one row
        lengths = mask.sum(1)
        order = lengths.argsort(descending=True, stable=True)  # so that the last rows end first
        real, tokens = mask[order].T, inputs[order].T  # (L, B)
        counts = [count for count in real.sum(1).tolist() if count]
        begins = _begins_phrase(tokens) & real
        starting_rows = torch.split(begins.nonzero()[:, 1], begins.sum(1).tolist())
        words = self._embed(tokens[real], begins[real])
        gates = torch.split(self.decoder.gates(words), counts)
        shared, source = (
            SharedWeights(self.decoder),
            SourceAttention(memory.states[order], memory.mask[order]),
        )
        levels = self._start(memory.summary[order])
        feeds: list[Tensor] = []
        attentions: list[Tensor] = []
        for count, gate, rows in zip(counts, gates, starting_rows, strict=False):
            levels, attention = self.decoder(shared, source, levels.first(count), gate, rows)
            feeds.append(levels.feed)
            attentions.append(attention)
        # Outputs are ordered by time; cells, by document.
        document, time = mask.nonzero(as_tuple=True)  # (C,)
        before = torch.tensor([0, *counts[:-1]], device=mask.device).cumsum(0)
        cell = before[time] + order.argsort()[document]
        states, attention = (torch.cat(x).index_select(0, cell) for x in (feeds, attentions))
        return self._mixture(states, attention, memory, lengths.tolist())

    def start(self, memory: ExHiRDMemory, *, steps: int) -> ExHiRDState:
        documents = list(range(len(memory.lengths)))
        source = SourceAttention(memory.states, memory.mask)
        levels = self._start(memory.summary)
        return ExHiRDState(memory, documents, levels, source, SharedWeights(self.decoder))

    def step(self, state: ExHiRDState, tokens: Tensor) -> Mixture:
        begins = _begins_phrase(tokens)
        gates = self.decoder.gates(self._embed(tokens, begins))
        rows = begins.nonzero().squeeze(1)
        levels, attention = self.decoder(state.shared, state.source, state.levels, gates, rows)
        state.levels = levels
        return self._mixture(state.levels.feed, attention, state.memory, state.counts)

    def _start(self, summary: Tensor) -> Levels:
        """The states before the first phrase, where z is 0."""
        zero = torch.zeros_like(summary)
        return Levels(summary, zero, zero)

    def _embed(self, tokens: Tensor, begins: Tensor) -> Tensor:
        """(…, E) decoder inputs: unknown words as `<unk>`, the start of a phrase as `<bos>`."""
        return embed_tokens(tokens.masked_fill(begins, BOS), self.embedding)

    def _mixture(
        self, states: Tensor, attention: Tensor, memory: ExHiRDMemory, counts: Sequence[int]
    ) -> Mixture:
        features = F.pad(states, (0, 1), value=1.0)
        gate = torch.sigmoid(self.gate(states)).squeeze(1)
        return Mixture(
            features, self.vocabulary.weight, gate, attention, memory.copy_source, counts
        )


def _begins_phrase(tokens: Tensor) -> Tensor:
    """Whether a phrase begins after each token."""
    return (tokens == BOS) | (tokens == SEP)
