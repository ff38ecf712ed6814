"""The Transformer encoder-decoder with copying, as in the authors' release: pre-norm layers, a
linear layer on embedded words, √D on word embeddings only, positions from 1 in the encoder and from
0 in the decoder, untied input and output embeddings.

It decodes one row per document; `SetTrans`, one per control code. Rows never attend to one another.

Shapes: B documents, S source words, R rows per document, L cells per row, C real cells of a batch,
D width, V vocabulary. ΣS is packed: the words of all documents without padding.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.specials import PAD
from one2set.errors import ConfigError
from one2set.model.bert import BertEncoder
from one2set.model.dropout import Dropout
from one2set.model.layers import Attention, FeedForward, Linear, Positions, Segments
from one2set.model.network import Memory, Network, State, embed_tokens
from one2set.model.pointer import CopySource, Mixture, Pointer

KeysValues = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoded documents, with the keys and values of the decoder."""

    states: Tensor  # (ΣS, D)
    keys_values: list[KeysValues]  # (ΣS, D) for the source attention of each decoder layer


@dataclass
class Cache:
    """The key-value cache of one decoder layer."""

    key: Tensor  # (rows, steps, D), of which `length` steps are filled
    value: Tensor
    length: int = 0

    def append(self, key: Tensor, value: Tensor) -> KeysValues:
        """Add a step (rows, D); return all steps so far (rows, length, D)."""
        self.key[:, self.length], self.value[:, self.length] = key, value
        self.length += 1
        return self.key[:, : self.length], self.value[:, : self.length]

    def select(self, rows: Tensor) -> "Cache":
        return Cache(self._select(self.key, rows), self._select(self.value, rows), self.length)

    def _select(self, x: Tensor, rows: Tensor) -> Tensor:
        new = x.new_empty(len(rows), *x.shape[1:])
        new[:, : self.length] = x[rows, : self.length]
        return new


@dataclass
class TransformerState(State):
    """Rows and their key-value caches."""

    memory: TransformerMemory
    row: Tensor  # (rows,) index of the row within its document
    caches: list[Cache]  # of each decoder layer
    step: int = 0

    def select(self, rows: Tensor) -> "TransformerState":
        return TransformerState(
            self.memory,
            self.documents_of(rows),
            self.row[rows],
            [cache.select(rows) for cache in self.caches],
            self.step,
        )


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x))."""

    def __init__(self, *, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width=width, heads=heads, dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width=width, inner=feed_forward, dropout=dropout)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, segments: Segments) -> Tensor:
        h = self.attention_norm(x)
        x = x + self.dropout(self.attention(h, *self.attention.project(h), segments))
        out: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return out


class Encoder(nn.Module):
    """Encodes sources. Another encoder needs the same methods, and states of `width`."""

    def __init__(
        self, *, width: int, heads: int, feed_forward: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.positions = Positions(width)
        self.input = Linear(width, width)
        self.layers = nn.ModuleList(
            EncoderLayer(width=width, heads=heads, feed_forward=feed_forward, dropout=dropout)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Tensor:
        """(ΣS, D)"""
        mask = batch.source_mask
        words = embedding(batch.source[mask]) * math.sqrt(embedding.embedding_dim)
        positions = mask.cumsum(1)[mask]  # from 1
        x = self.dropout(self.input(words + self.positions(positions, max(batch.lengths))))
        segments = Segments(batch.lengths, batch.lengths)
        for layer in self.layers:
            x = layer(x, segments)
        out: Tensor = self.norm(x)
        return out

    def lower_modules(self, layers: int) -> list[nn.Module]:
        """The input layer and the first `layers` layers, which `freeze` freezes."""
        return [self.input, *self.layers[:layers]]


EncoderKind = Literal["transformer", "bert"]
_ENCODERS: dict[EncoderKind, type[Encoder] | type[BertEncoder]] = {
    "transformer": Encoder,
    "bert": BertEncoder,
}


class DecoderLayer(nn.Module):
    """Attention within rows, attention to the source, feed-forward, each on normalised input."""

    def __init__(self, *, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = Attention(width=width, heads=heads, dropout=dropout)
        self.source_norm = nn.LayerNorm(width)
        self.source_attention = Attention(width=width, heads=heads, dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width=width, inner=feed_forward, dropout=dropout)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        self_context: Segments | Cache,
        source: KeysValues,
        segments: Segments,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """x (C, D); `self_context` is the part of its row that a cell attends to. With
        `need_weights`, also return the source attention weights (C, S) of head 0."""
        h = self.self_norm(x)
        key, value = self.self_attention.project(h)
        if isinstance(self_context, Cache):
            attended = self.self_attention.step(h, *self_context.append(key, value))
        else:
            attended = self.self_attention(h, key, value, self_context)
        x = x + self.dropout(attended)
        h = self.source_norm(x)
        weights = None
        if need_weights:
            attended, weights = self.source_attention.forward_with_weights(h, *source, segments)
        else:
            attended = self.source_attention(h, *source, segments)
        x = x + self.dropout(attended)
        return x + self.feed_forward(self.feed_forward_norm(x)), weights


class Decoder(nn.Module):
    """From embedded words to states and copy attention."""

    def __init__(
        self, *, width: int, heads: int, feed_forward: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.positions = Positions(width)
        self.input = Linear(width, width)
        self.layers = nn.ModuleList(
            DecoderLayer(width=width, heads=heads, feed_forward=feed_forward, dropout=dropout)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def project(self, states: Tensor) -> list[KeysValues]:
        """The source keys and values of each layer."""
        layers = cast("Iterable[DecoderLayer]", self.layers)
        return [layer.source_attention.project(states) for layer in layers]

    def forward(
        self,
        x: Tensor,
        self_context: Sequence[Segments | Cache],
        memory: TransformerMemory,
        counts: Sequence[int],
    ) -> tuple[Tensor, Tensor]:
        """States (C, D) and copy attention (C, S): head 0 of the last layer."""
        x = self.dropout(x)
        segments = Segments(counts, memory.lengths)
        *layers, last = zip(self.layers, self_context, memory.keys_values, strict=True)
        for layer, context, source in layers:
            x, _ = layer(x, context, source, segments, need_weights=False)
        layer, context, source = last
        x, weights = layer(x, context, source, segments, need_weights=True)
        return self.norm(x), weights


class Transformer(Network):
    """The network of the one-to-sequence paradigm: a document has one row.

    It can generate the first `output_size` words of the vocabulary, and copy all others. An encoder
    maps a batch and the embedding to packed states (ΣS, D).
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        width: int,
        heads: int,
        feed_forward: int,
        encoder_layers: int,
        decoder_layers: int,
        dropout: float,
        output_size: int | None = None,
        encoder: EncoderKind = "transformer",
    ) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ConfigError(f"width is {width} and heads is {heads}; heads must divide the width")
        self.arguments = {
            "vocabulary_size": vocabulary_size,
            "width": width,
            "heads": heads,
            "feed_forward": feed_forward,
            "encoder_layers": encoder_layers,
            "decoder_layers": decoder_layers,
            "dropout": dropout,
            "output_size": output_size or vocabulary_size,
            "encoder": encoder,
        }
        stack = {"width": width, "heads": heads, "feed_forward": feed_forward}
        self.vocabulary_size = vocabulary_size
        self.dropout = dropout
        self.embedding = nn.Embedding(vocabulary_size, width, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.encoder: Encoder | BertEncoder = _ENCODERS[encoder](
            **stack, layers=encoder_layers, dropout=dropout
        )
        self.decoder = Decoder(**stack, layers=decoder_layers, dropout=dropout)
        self.pointer = Pointer(width=width, output_size=output_size or vocabulary_size)

    def freeze(self, layers: int) -> None:
        """Freeze the embeddings and the first layers of the encoder, for a pretrained encoder."""
        for part in (self.embedding, *self.encoder.lower_modules(layers)):
            part.requires_grad_(False)

    def encode(self, batch: Batch) -> TransformerMemory:
        states = self.encoder(batch, self.embedding)
        copy_source = CopySource(batch.source_extended, batch.source_first)
        return TransformerMemory(batch.lengths, copy_source, states, self.decoder.project(states))

    def decode(self, memory: TransformerMemory, inputs: Tensor, mask: Tensor) -> Mixture:
        counts = mask.sum((1, 2)).tolist()
        rows, cells = mask.shape[1:]
        row = torch.arange(rows, device=mask.device)[:, None].expand_as(mask)[mask]  # (C,)
        step = torch.arange(cells, device=mask.device).expand_as(mask)[mask]
        # (c, c) for each document: causal attention within a row.
        attention_masks = [
            (r[:, None] == r) & (s[:, None] >= s)
            for r, s in zip(torch.split(row, counts), torch.split(step, counts), strict=True)
        ]
        self_context = [Segments(counts, counts, attention_masks)] * len(self.decoder.layers)
        x = self.embed(inputs[mask], self.decoder.positions(step, cells), row)
        return self._mixture(x, self_context, memory, counts)

    def start(self, memory: TransformerMemory, *, steps: int) -> TransformerState:
        documents = [document for document in range(len(memory.lengths)) for _ in range(self.rows)]
        row = torch.arange(self.rows, device=memory.states.device).repeat(len(memory.lengths))
        shape = (len(documents), steps, memory.states.shape[1])
        caches = [Cache(k.new_empty(shape), v.new_empty(shape)) for k, v in memory.keys_values]
        return TransformerState(memory, documents, row, caches)

    def step(self, state: TransformerState, tokens: Tensor) -> Mixture:
        position = torch.tensor(state.step, device=tokens.device)
        x = self.embed(tokens, self.decoder.positions(position, state.step), state.row)
        state.step += 1
        return self._mixture(x, state.caches, state.memory, state.counts)

    def embed(self, tokens: Tensor, position: Tensor, row: Tensor) -> Tensor:
        """(C, D) decoder inputs; unknown words as `<unk>`."""
        words = embed_tokens(tokens, self.embedding) * math.sqrt(self.embedding.embedding_dim)
        x: Tensor = self.decoder.input(words) + position
        return x

    def _mixture(
        self,
        x: Tensor,
        self_context: Sequence[Segments | Cache],
        memory: TransformerMemory,
        counts: Sequence[int],
    ) -> Mixture:
        states, attention = self.decoder(x, self_context, memory, counts)
        mixture: Mixture = self.pointer(states, attention, memory.copy_source, counts)
        return mixture
