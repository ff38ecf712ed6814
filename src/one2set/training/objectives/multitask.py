"""Multi-task training: the set loss, a span loss and a phrase loss on one shared encoder.

The encoder takes nine tenths of the time of a step, so the two extra losses are cheap. The set loss
is the paper's. The other two are sums of binary cross entropies: one over the n-grams (spans) of
the document, one over a fixed list of phrases.

Shapes: B documents, P spans, A phrases of the list.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.head_targets import HeadTargets
from one2set.model.heads import Heads
from one2set.training.objectives.likelihood import Loss
from one2set.training.objectives.set_loss import SetLoss

_HALF_WEIGHT_COUNT = 20  # a phrase of this many documents has half the weight of a frequent one


class MultiTaskLoss(nn.Module):
    """L = L_set + w_span · L_span + w_phrase · L_phrase, per token of the set's targets."""

    phrase_weights: Tensor  # (A,)

    def __init__(
        self, set_loss: SetLoss, heads: Heads, *, span_weight: float, phrase_weight: float
    ) -> None:
        super().__init__()
        # First, so that its parameters have the same names as in a SetLoss.
        self.network = set_loss.network
        self.set_loss, self.heads = set_loss, heads
        self.span_weight, self.phrase_weight = span_weight, phrase_weight
        weights = heads.counts / (heads.counts + _HALF_WEIGHT_COUNT)
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
        """() The cross entropy of whether each n-gram is a keyphrase."""
        logits = self.heads.spans(states, targets)  # (P,)
        labels = targets.is_keyphrase.to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, labels, reduction="sum")

    def _phrase_loss(self, states: Tensor, batch: Batch) -> Tensor:
        """() The cross entropy of the listed phrases that the document has. Rare phrases, from
        which less can be learnt, have lower weights."""
        assert batch.heads is not None
        logits = self.heads.phrases(states, batch.lengths, batch.title_lengths)  # (B, A)
        labels = torch.zeros_like(logits)
        labels[batch.heads.document, batch.heads.phrase] = 1
        return F.binary_cross_entropy_with_logits(
            logits, labels, self.phrase_weights, reduction="sum"
        )
