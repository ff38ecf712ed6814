"""One encoder, three losses: the set, spans, known phrases.

The encoder is nine tenths of the work of a step, so a document that was encoded once teaches three
things. The set loss is the paper's, unchanged; the other two are sums of binary cross entropies
over the spans of the document and over the known phrases.

Shapes: B documents, P spans, A known phrases.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.head_targets import HeadTargets
from one2set.model.heads import Heads
from one2set.training.objectives.likelihood import Loss
from one2set.training.objectives.set_loss import SetLoss

_TRUSTED = 20  # documents: a phrase that so many have weighs half as much as a frequent one


class MultiTaskLoss(nn.Module):
    """L = L_set + w_span · L_span + w_phrase · L_phrase, per token of the set's targets."""

    phrase_weights: Tensor  # (A,)

    def __init__(
        self, set_loss: SetLoss, heads: Heads, *, span_weight: float, phrase_weight: float
    ) -> None:
        super().__init__()
        self.network = set_loss.network  # first, so that parameters have the names of a SetLoss's
        self.set_loss, self.heads = set_loss, heads
        self.span_weight, self.phrase_weight = span_weight, phrase_weight
        weights = heads.counts / (heads.counts + _TRUSTED)
        self.register_buffer("phrase_weights", weights, persistent=False)

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch with head targets."""
        assert batch.heads is not None
        memory = self.network.encode(batch)
        loss = self.set_loss.compute(batch, memory)
        spans = self._span_loss(memory.states, batch.heads)
        phrases = self._phrase_loss(memory.states, batch)
        return Loss(
            loss.sum + self.span_weight * spans + self.phrase_weight * phrases,
            loss.tokens,
            loss.parts | {"spans": spans.detach(), "phrases": phrases.detach()},
        )

    def _span_loss(self, states: Tensor, targets: HeadTargets) -> Tensor:
        """Is each n-gram a keyphrase?"""
        logits = self.heads.spans(states, targets)  # (P,)
        labels = targets.is_keyphrase.to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, labels, reduction="sum")

    def _phrase_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """Which known phrases does the document have? Rare ones, of which less can be learnt, weigh
        less."""
        assert batch.heads is not None
        logits = self.heads.phrases(states, batch.lengths, batch.title_lengths)  # (B, A)
        labels = torch.zeros_like(logits)
        labels[batch.heads.document, batch.heads.phrase] = 1
        return F.binary_cross_entropy_with_logits(
            logits, labels, self.phrase_weights, reduction="sum"
        )
