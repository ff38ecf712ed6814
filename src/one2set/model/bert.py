"""BERT's encoder, for pretrained weights.

Its layers are post-norm and its positions are learned. A run loads pretrained weights from a model
folder (`--init`), which recipes/default/start.py creates.

Shapes: D width; ΣS is packed, the pieces of all documents without padding.
"""

import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.model.dropout import Dropout
from one2set.model.layers import Attention, Linear, Segments

MAX_POSITIONS = 512  # later tokens share the last position


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
        attended = self.attention(x, *self.attention.project(x), segments)
        x = self.attention_norm(x + self.dropout(attended))
        out: Tensor = self.feed_forward_norm(x + self.dropout(self.outer(F.gelu(self.inner(x)))))
        return out


class BertEncoder(nn.Module):
    """Encodes sources."""

    def __init__(
        self, *, width: int, heads: int, feed_forward: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        # Named `places`, as in saved weights.
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
        positions = (mask.cumsum(1)[mask] - 1).clamp(max=MAX_POSITIONS - 1)
        x = self.dropout(self.norm(embedding(batch.source[mask]) + self.places(positions)))
        segments = Segments(batch.lengths, batch.lengths)
        for layer in self.layers:
            x = layer(x, segments)
        out: Tensor = x
        return out

    def lower_modules(self, layers: int) -> list[nn.Module]:
        """The embedding modules and the first `layers` layers, which `freeze` freezes."""
        return [self.places, self.norm, *self.layers[:layers]]
