"""The networks and the set loss once more, as plainly as they can be written.

Everything is padded, every distribution is written out over the extended vocabulary, nothing is
kept from one step to the next, and rows are kept apart by one large mask. The tests compare ours
with it, and the benchmarks measure ours against it. It knows no dropout.

Shapes: B documents, S source words, R rows, L cells, D width, X extended vocabulary, K steps.
"""

import math
from typing import cast

import torch
from torch import Tensor

from one2set.data.batch import Batch, shift_right
from one2set.data.specials import BOS, NULL, PAD, UNK
from one2set.model.layers import Attention, FeedForward, sinusoids
from one2set.model.network import Network
from one2set.model.settrans import SetTrans
from one2set.model.transformer import DecoderLayer, Encoder, EncoderLayer, Transformer


def attend(layer: Attention, x: Tensor, context: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(B, Q, D) and the weights (B, H, Q, K); mask (B, Q, K), True = seen."""

    def heads(y: Tensor) -> Tensor:
        return y.reshape(*y.shape[:2], layer.heads, -1).transpose(1, 2)

    q, k, v = heads(layer.query(x)), heads(layer.key(context)), heads(layer.value(context))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    return layer.out((weights @ v).transpose(1, 2).flatten(2)), weights


def feed(layer: FeedForward, x: Tensor) -> Tensor:
    out: Tensor = layer.outer(torch.relu(layer.inner(x)))
    return out


def extended_size(batch: Batch, network: Network) -> int:
    return network.vocabulary_size + max(map(len, batch.oov))


def encode(network: Transformer, batch: Batch) -> Tensor:
    """(B, S, D)"""
    length, width = batch.source.shape[1], network.embedding.embedding_dim
    words = network.embedding(batch.source) * math.sqrt(width)
    encoder = cast(Encoder, network.encoder)
    x: Tensor = encoder.input(words + sinusoids(length + 1, width)[1:])
    mask = batch.source_mask[:, None].expand(-1, length, -1)
    for layer in cast(list[EncoderLayer], encoder.layers):
        h = layer.attention_norm(x)
        x = x + attend(layer.attention, h, h, mask)[0]
        x = x + feed(layer.feed_forward, layer.feed_forward_norm(x))
    out: Tensor = encoder.norm(x)
    return out


def decode(network: Transformer, batch: Batch, memory: Tensor, inputs: Tensor) -> Tensor:
    """(B, R, L, X) what follows each of the inputs (B, R, L)."""
    documents, rows, cells = inputs.shape
    width = network.embedding.embedding_dim
    known = inputs.where(inputs < network.vocabulary_size, UNK)
    x: Tensor = network.decoder.input(network.embedding(known) * math.sqrt(width))
    x = x + sinusoids(max(cells, 2), width)[:cells]
    if isinstance(network, SetTrans) and network.codes is not None:
        x = x + network.codes.weight[:, None]
    x = x.flatten(1, 2)  # (B, R·L, D)

    own = torch.kron(torch.eye(rows), torch.ones(cells, cells).tril()).bool()
    own = own.expand(documents, -1, -1)
    source = batch.source_mask[:, None].expand(-1, rows * cells, -1)
    for layer in cast(list[DecoderLayer], network.decoder.layers):
        h = layer.self_norm(x)
        x = x + attend(layer.self_attention, h, h, own)[0]
        seen, weights = attend(layer.source_attention, layer.source_norm(x), memory, source)
        x = x + seen
        x = x + feed(layer.feed_forward, layer.feed_forward_norm(x))

    features = network.pointer.features(network.decoder.norm(x))
    gate = torch.sigmoid(network.pointer.gate(features))
    generated = gate * network.pointer.vocabulary(features).softmax(-1)
    unknown = extended_size(batch, network) - network.vocabulary_size
    full = torch.cat([generated, torch.zeros(*generated.shape[:2], unknown)], -1)
    places = batch.source_extended[:, None].expand_as(weights[:, 0])
    full = full.scatter_add(2, places, (1 - gate) * weights[:, 0])
    return full.view(documents, rows, cells, -1)


def roll_out(
    network: Transformer, batch: Batch, memory: Tensor, steps: int
) -> tuple[Tensor, Tensor]:
    """Greedy tokens (B, R, K) and the distributions (B, R, K, X) they were taken from."""
    tokens = torch.full((len(batch.ids), network.rows, 1), BOS)
    for _ in range(steps):
        distributions = decode(network, batch, memory, tokens)
        tokens = torch.cat([tokens[..., :1], distributions.argmax(-1)], -1)
    return tokens[..., 1:], distributions


def match_scores(network: Transformer, batch: Batch, memory: Tensor, steps: int) -> Tensor:
    """(B, N, N) rows are codes, columns targets; by the definition, one number at a time."""
    _, distributions = roll_out(network, batch, memory, steps)
    documents, codes, _ = batch.targets.shape
    scores = torch.zeros(documents, codes, codes)
    for b in range(documents):
        for n in range(codes):
            for m in range(codes):
                for t, word in enumerate(batch.targets[b, m, :steps].tolist()):
                    if word not in (NULL, PAD):
                        scores[b, n, m] += distributions[b, n, t, word]
    return scores


def set_loss(network: Transformer, batch: Batch, order: Tensor, null_weight: Tensor) -> Tensor:
    """The mean over real cells, for a given order (B, N) and λ of each code (N,)."""
    targets = torch.stack([rows[at] for rows, at in zip(batch.targets, order, strict=True)])
    mask = targets != PAD
    memory = encode(network, batch)
    distributions = decode(network, batch, memory, shift_right(targets))
    losses = -(distributions + 1e-8).log().gather(3, targets[..., None]).squeeze(3)
    losses = torch.where(targets == NULL, losses * null_weight[:, None], losses)
    return (losses * mask).sum() / mask.sum()
