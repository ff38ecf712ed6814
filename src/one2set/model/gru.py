"""Encoders of gated recurrent units: catSeq's, and catSeqTG's, which a title guides.

Shapes: B documents, S source words, T title words, E width of embeddings, D width of states.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.model.dropout import Dropout


class Read(NamedTuple):
    """What a GRU made of sequences."""

    states: Tensor  # (B, S, D), of no meaning beyond the end of a sequence
    summary: Tensor  # (B, D) the last states of both directions, the backward one first


class BiGRU(nn.Module):
    """A GRU in either direction, for sequences of different lengths.

    They are padded, and turned round for the second GRU: with torch's packed sequences a CPU takes
    three times as long to train on two hundred words, since every step's gradient fills a table of
    the whole batch.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.ahead = nn.GRU(inputs, width // 2, batch_first=True)
        self.back = nn.GRU(inputs, width // 2, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Read:
        """x (B, S, inputs); lengths (B,)."""
        last = lengths[:, None] - 1
        place = torch.arange(x.shape[1], device=x.device)
        turned = (last - place).where(place <= last, place)[:, :, None]  # (B, S, 1)
        ahead, _ = self.ahead(x)
        back, _ = self.back(x.take_along_dim(turned, 1))
        final = [y.take_along_dim(last[:, :, None], 1).squeeze(1) for y in (back, ahead)]
        states = torch.cat([ahead, back.take_along_dim(turned, 1)], dim=2)
        return Read(states, torch.cat(final, dim=1))


class GRUEncoder(nn.Module):
    """Reads sources in so many layers."""

    def __init__(self, *, embedding_width: int, width: int, layers: int = 1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            BiGRU(width if layer else embedding_width, width) for layer in range(layers)
        )

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Read:
        x = embedding(batch.source)
        lengths = torch.tensor(batch.lengths, device=x.device)
        for layer in self.layers:
            read: Read = layer(x, lengths)
            x = read.states
        return read


class TitleGuidedEncoder(nn.Module):
    """Reads sources by the light of their titles (Chen et al., 2019): every word gathers what the
    title says about it, and is read once more together with that."""

    def __init__(self, *, embedding_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.source = BiGRU(embedding_width, width)
        self.title = BiGRU(embedding_width, width)
        self.match = nn.Linear(width, width, bias=False)
        self.merge = BiGRU(2 * width, width)
        self.drop = Dropout(dropout)

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Read:
        x = embedding(batch.source)
        lengths = torch.tensor(batch.lengths, device=x.device)
        title_lengths = torch.tensor(batch.title_lengths, device=x.device)
        words: Tensor = self.source(x, lengths).states  # u (B, S, D)
        title: Tensor = self.title(x[:, : max(batch.title_lengths)], title_lengths).states  # v
        seen = torch.arange(title.shape[1], device=x.device) < title_lengths[:, None]  # (B, T)
        scores = words @ self.match(title).transpose(1, 2)  # (B, S, T)
        weights = scores.masked_fill(~seen[:, None], -torch.inf).softmax(2)
        merged: Read = self.merge(self.drop(torch.cat([words, weights @ title], 2)), lengths)
        return Read(0.5 * words + 0.5 * merged.states, merged.summary)
