"""GAN_MR's discriminator (Swaminathan et al., 2020): are the phrases of a document real?

    h_1 … h_S   a bi-GRU over the document           k_j   a bi-GRU over phrase j
    c_j = Σ_i softmax_i(h_i W k_j) h_i               e_j = W_c [c_j; k_j]
    s_0 … s_P   a GRU over (mean h, e_1, …, e_P)     d_j = σ(w s_j + b)

d_j scores the first j phrases of the list; the last d_j is the score of the list. Every d_j is
trained, since every d_j rewards the generator: the beginning of a real list is real. With a loss on
the last one alone, training is too slow (docs/systems.md).

Shapes: B documents, S source words, K lists of phrases for each document, P phrases per list, L
words per phrase, C real phrases, E embedding, D = 2 × hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from one2set.data.batch import Batch
from one2set.data.specials import PAD, UNK
from one2set.model.dropout import Dropout
from one2set.model.recurrent import BiGRU, Encoded

REAL = 0.9  # the smoothed label of real phrases; that of generated ones is 0

Phrases = Sequence[Sequence[int]]  # a list of phrases, as extended ids


@dataclass(frozen=True)
class DiscriminatorOutput:
    """The scores of K lists of phrases for each document."""

    logits: Tensor  # (B, K, P) of the phrases up to each one
    mask: Tensor  # (B, K, P), True = a phrase

    @property
    def scores(self) -> Tensor:
        """(B, K, P) d_j; 0 for padding."""
        return torch.sigmoid(self.logits) * self.mask

    @property
    def has_phrases(self) -> Tensor:
        """(B, K) whether a list has any phrase."""
        return self.mask.any(2)

    @property
    def final(self) -> Tensor:
        """(B, K) the logits of whole lists; undefined for empty lists."""
        last = self.mask.sum(2, keepdim=True) - 1
        return self.logits.gather(2, last.clamp(min=0)).squeeze(2)

    @property
    def means(self) -> Tensor:
        """(B, K) the mean score of a list's phrases; 0 for an empty list."""
        return self._mean(self.scores)

    @property
    def pairs(self) -> Tensor:
        """(B, K − 1) whether both the first list and the other one have phrases."""
        return self.has_phrases[:, :1] & self.has_phrases[:, 1:]

    @property
    def recognition_loss(self) -> Tensor:
        """() the cross entropy of each list (a mean over its phrases), summed over all pairs of the
        real list, which is the first, and a generated one."""
        label = torch.zeros_like(self.logits)
        label[:, 0] = REAL
        entropy = F.binary_cross_entropy_with_logits(self.logits, label, reduction="none")
        by_list = self._mean(entropy * self.mask)  # (B, K)
        return ((by_list[:, :1] + by_list[:, 1:]) * self.pairs).sum()

    @property
    def accuracy(self) -> Tensor:
        """() the fraction of pairs in which the real list has the higher score. A threshold of 0.5
        would be useless, since smoothed labels can pull all scores below it."""
        return (self.final[:, :1] > self.final[:, 1:])[self.pairs].sum() / max(self.pair_count, 1)

    @property
    def pair_count(self) -> int:
        return int(self.pairs.sum())

    def _mean(self, values: Tensor) -> Tensor:
        """(B, K) the mean over phrases of values (B, K, P), which are 0 for padding."""
        return values.sum(2) / self.mask.sum(2).clamp(min=1)


class StackedBiGRU(nn.Module):
    """Two bi-GRU layers with dropout between them."""

    def __init__(self, inputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = BiGRU(inputs, width), BiGRU(width, width)
        self.drop = Dropout(dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> Encoded:
        """x (B, S, inputs), lengths (B,)"""
        encoded: Encoded = self.second(self.drop(self.first(x, lengths).states), lengths)
        return encoded


class Discriminator(nn.Module):
    """Scores lists of phrases. It has its own embeddings; words out of vocabulary are `<unk>`."""

    def __init__(
        self, *, vocabulary_size: int, embedding: int, hidden: int, dropout: float
    ) -> None:
        super().__init__()
        width = 2 * hidden
        self.vocabulary_size = vocabulary_size
        self.embedding = nn.Embedding(vocabulary_size, embedding, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.document = StackedBiGRU(embedding, width, dropout)
        self.phrase = StackedBiGRU(embedding, width, dropout)
        self.attention = nn.Linear(width, width, bias=False)
        self.compress = nn.Linear(2 * width, width)
        self.list = nn.GRU(width, width, num_layers=2, batch_first=True, dropout=dropout)
        self.score = nn.Linear(width, 1)

    def forward(self, batch: Batch, lists: Sequence[Sequence[Phrases]]) -> DiscriminatorOutput:
        """Score `lists[b][k]`, the k-th list of document b."""
        lengths = torch.tensor(batch.lengths, device=batch.source.device)
        document = self.document(self._embed(batch.source), lengths).states  # (B, S, D)
        counts = torch.tensor([[len(phrases) for phrases in row] for row in lists])  # (B, K)
        mask = torch.arange(max(int(counts.max()), 1)) < counts[:, :, None]  # (B, K, P)
        mask = mask.to(document.device)
        phrase = document.new_zeros(*mask.shape, document.shape[2])  # (B, K, P, D)
        real = [phrase for row in lists for phrases in row for phrase in phrases]
        if real:
            phrase = phrase.masked_scatter(mask[..., None], self._encode_phrases(real))

        query = self.attention(phrase).flatten(1, 2)  # (B, K·P, D)
        scores = (query @ document.transpose(1, 2)).masked_fill(
            ~batch.source_mask[:, None], -torch.inf
        )
        context = (torch.softmax(scores, dim=2) @ document).view_as(phrase)
        evidence = self.compress(torch.cat([context, phrase], dim=3))
        mean = (document * batch.source_mask[:, :, None]).sum(1) / lengths[:, None]
        first = mean[:, None, None].expand(-1, mask.shape[1], 1, -1)
        states, _ = self.list(torch.cat([first, evidence], dim=2).flatten(0, 1))  # (B·K, 1+P, D)
        logits = self.score(states[:, 1:]).view(mask.shape)
        return DiscriminatorOutput(logits, mask)

    def _encode_phrases(self, phrases: Sequence[Sequence[int]]) -> Tensor:
        """(C, D) the final states of both directions."""
        lengths = torch.tensor([*map(len, phrases)])
        words = pad_sequence([*map(torch.tensor, phrases)], batch_first=True)  # (C, L)
        device = self.embedding.weight.device
        encoded: Encoded = self.phrase(self._embed(words.to(device)), lengths.to(device))
        return encoded.summary

    def _embed(self, words: Tensor) -> Tensor:
        known = words.where(words < self.vocabulary_size, UNK)
        embedded: Tensor = self.embedding(known)
        return embedded
