"""BERT's encoder, for weights that others have trained on more text than we have.

Layers normalise after they add, not before, and places are learned. A run takes such weights from
a model folder (`--init`); recipes/default/start.py makes one of them.

Shapes: D width; ΣS is packed, the pieces of all documents without padding.
"""

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.model.dropout import Dropout
from one2set.model.layers import Attention, Linear, Segments

MAX_POSITIONS = 512  # pieces that have a place of their own; all that follow share the last


class BertLayer(nn.Module):
    """norm(x + attention(x)), then norm(x + feed_forward(x))."""

    def __init__(self, *, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads, dropout=dropout)
        self.attention_norm = nn.LayerNorm(width)
        self.inner, self.outer = Linear(width, feed_forward), Linear(feed_forward, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, segments: Segments) -> Tensor:
        seen = self.attention(x, *self.attention.project(x), segments)
        x = self.attention_norm(x + self.dropout(seen))
        out: Tensor = self.feed_forward_norm(x + self.dropout(self.outer(F.gelu(self.inner(x)))))
        return out


class BertEncoder(nn.Module):
    """Reads sources."""

    def __init__(
        self, *, width: int, heads: int, feed_forward: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.places = nn.Embedding(MAX_POSITIONS, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(
            BertLayer(width=width, heads=heads, feed_forward=feed_forward, dropout=dropout)
            for _ in range(layers)
        )
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Tensor:
        """(ΣS, D)"""
        mask = batch.source_mask
        places = (mask.cumsum(1)[mask] - 1).clamp(max=MAX_POSITIONS - 1)
        x = self.dropout(self.norm(embedding(batch.source[mask]) + self.places(places)))
        segments = Segments(batch.lengths, batch.lengths)
        for layer in self.layers:
            x = layer(x, segments)
        out: Tensor = x
        return out

    def first(self, layers: int) -> list[nn.Module]:
        """What stands below all but the first layers, and these."""
        return [self.places, self.norm, *self.layers[:layers]]
