"""GAN_MR's discriminator (Swaminathan et al., 2020): how real are the phrases of a document?

    h_1 … h_S   a bi-GRU over the document           k_j   a bi-GRU over phrase j
    c_j = Σ_i softmax_i(h_i W k_j) h_i               e_j = W_c [c_j; k_j]
    s_0 … s_P   a GRU over (mean h, e_1, …, e_P)     d_j = σ(w s_j + b)

d_j is the score of the phrases up to the j-th, whatever follows; the last one's is the list's.

Shapes: B documents, S source words, K lists of phrases for each document, P phrases per list, L
words per phrase, C real phrases, E embedding, D = 2 × hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from one2set.data.batch import Batch
from one2set.data.specials import PAD, UNK

REAL = 0.9  # the label of real phrases, smoothed; that of generated ones is 0

Phrases = Sequence[Sequence[int]]  # of one list, as extended ids


@dataclass(frozen=True)
class Verdict:
    """What the discriminator thinks of K lists for each document."""

    logits: Tensor  # (B, K, P) of each phrase after those before it
    mask: Tensor  # (B, K, P), True = a phrase

    @property
    def scores(self) -> Tensor:
        """(B, K, P) d_j; 0 where there is no phrase."""
        return torch.sigmoid(self.logits) * self.mask

    @property
    def judged(self) -> Tensor:
        """(B, K) whether there is anything to judge."""
        return self.mask.any(2)

    @property
    def final(self) -> Tensor:
        """(B, K) the logits of whole lists; only those of judged ones mean anything."""
        last = self.mask.sum(2, keepdim=True) - 1
        return self.logits.gather(2, last.clamp(min=0)).squeeze(2)

    @property
    def means(self) -> Tensor:
        """(B, K) the mean score of a list's phrases; 0 for an empty list."""
        return self.scores.sum(2) / self.mask.sum(2).clamp(min=1)


class Discriminator(nn.Module):
    """Reads documents and phrases with words of its own; unknown ones are all `<unk>`."""

    def __init__(
        self, *, vocabulary_size: int, embedding: int, hidden: int, dropout: float
    ) -> None:
        super().__init__()
        width = 2 * hidden
        self.vocabulary_size = vocabulary_size
        self.embedding = nn.Embedding(vocabulary_size, embedding, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        two = {"num_layers": 2, "batch_first": True, "dropout": dropout}
        self.document = nn.GRU(embedding, hidden, bidirectional=True, **two)
        self.phrase = nn.GRU(embedding, hidden, bidirectional=True, **two)
        self.attention = nn.Linear(width, width, bias=False)
        self.compress = nn.Linear(2 * width, width)
        self.list = nn.GRU(width, width, **two)
        self.score = nn.Linear(width, 1)

    def forward(self, batch: Batch, lists: Sequence[Sequence[Phrases]]) -> Verdict:
        """Judge `lists[b][k]`, the k-th list of document b."""
        document = self._read_documents(batch)  # (B, S, D)
        counts = torch.tensor([[len(phrases) for phrases in row] for row in lists])  # (B, K)
        mask = torch.arange(max(int(counts.max()), 1)) < counts[:, :, None]  # (B, K, P)
        mask = mask.to(document.device)
        phrase = document.new_zeros(*mask.shape, document.shape[2])  # (B, K, P, D)
        words = [torch.tensor(p) for row in lists for phrases in row for p in phrases]
        if words:
            phrase = phrase.masked_scatter(mask[..., None], self._read_phrases(words))

        asked = self.attention(phrase).flatten(1, 2)  # (B, K·P, D)
        scores = (asked @ document.transpose(1, 2)).masked_fill(
            ~batch.source_mask[:, None], -torch.inf
        )
        context = (torch.softmax(scores, dim=2) @ document).view_as(phrase)
        evidence = self.compress(torch.cat([context, phrase], dim=3))
        mean = document.sum(1) / batch.source_mask.sum(1)[:, None]  # padding has zeros
        first = mean[:, None, None].expand(-1, mask.shape[1], 1, -1)
        seen, _ = self.list(torch.cat([first, evidence], dim=2).flatten(0, 1))  # (B·K, 1+P, D)
        logits = self.score(seen[:, 1:]).view(mask.shape)
        return Verdict(logits, mask)

    def _read_documents(self, batch: Batch) -> Tensor:
        """(B, S, D)"""
        packed = pack_padded_sequence(
            self._embed(batch.source), [*batch.lengths], batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.document(packed)[0], batch_first=True)
        return states

    def _read_phrases(self, words: Sequence[Tensor]) -> Tensor:
        """(C, D) the final states of both directions."""
        padded = pad_sequence(list(words), batch_first=True).to(self.embedding.weight.device)
        packed = pack_padded_sequence(
            self._embed(padded), [*map(len, words)], batch_first=True, enforce_sorted=False
        )
        last: Tensor = self.phrase(packed)[1]  # (2 layers × 2 directions, C, hidden)
        return torch.cat([last[-2], last[-1]], dim=1)

    def _embed(self, words: Tensor) -> Tensor:
        known = words.where(words < self.vocabulary_size, UNK)
        embedded: Tensor = self.embedding(known)
        return embedded


def recognition_loss(logits: Tensor, *, real: bool) -> Tensor:
    """The cross entropy of each logit with the label of real or of generated phrases."""
    label = torch.full_like(logits, REAL if real else 0.0)
    return F.binary_cross_entropy_with_logits(logits, label, reduction="none")
