"""Two heads on the states of an encoder: a span scorer and a phrase head.

They are not part of SetTrans, which is the paper's with or without them.

Shapes: B documents, ΣS tokens of all documents, D width, H hidden width, P spans, A known phrases.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from one2set.data.head_targets import MAX_WORDS, HeadTargets
from one2set.data.phrase_list import PhraseList
from one2set.model.dropout import Dropout

FILE = "heads.safetensors"
_SECOND_WIDTH = 32  # of the span scorer
_PRIOR = -5.0  # log-odds that a span is a keyphrase: about 1 in 150


class SpanScorer(nn.Module):
    """The log-odds that an n-gram is a keyphrase, from the states of its first and its last token
    and its number of words. The first layer is a sum of three, so that it is computed once per
    token and not once per span."""

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(width, hidden), nn.Linear(width, hidden, bias=False)
        self.length = nn.Embedding(MAX_WORDS, hidden)
        self.hidden, self.out = nn.Linear(hidden, _SECOND_WIDTH), nn.Linear(_SECOND_WIDTH, 1)
        nn.init.normal_(self.length.weight, std=0.1)
        nn.init.constant_(self.out.bias, _PRIOR)

    def forward(self, states: Tensor, spans: HeadTargets) -> Tensor:
        """(P,) for packed states (ΣS, D)."""
        x = self.first(states)[spans.first] + self.last(states)[spans.last]  # (P, H)
        x = F.silu(x + self.length(spans.length - 1))
        out: Tensor = self.out(F.silu(self.hidden(x))).squeeze(1)
        return out


class PhraseHead(nn.Module):
    """The log-odds that each known phrase is a keyphrase of a document, from the mean of its states
    and the mean over its title. `frequency` (A,) is the share of documents that have each phrase,
    which an untrained head predicts."""

    def __init__(self, *, width: int, hidden: int, frequency: Tensor, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * width, hidden)
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(hidden, len(frequency))
        nn.init.normal_(self.out.weight, std=0.02)
        with torch.no_grad():
            self.out.bias.copy_(frequency.logit())

    def forward(self, states: Tensor, lengths: Sequence[int], titles: Sequence[int]) -> Tensor:
        """(B, A) for packed states (ΣS, D) of documents with these lengths and title lengths."""
        by_document = zip(torch.split(states, list(lengths)), titles, strict=True)
        pooled = [torch.cat([x.mean(0), x[: max(title, 1)].mean(0)]) for x, title in by_document]
        out: Tensor = self.out(self.dropout(F.silu(self.hidden(torch.stack(pooled)))))
        return out


class Heads(nn.Module):
    """Both heads, and the phrases of the classifier."""

    def __init__(
        self,
        phrase_list: PhraseList,
        *,
        documents: int,
        width: int,
        span_width: int,
        phrase_width: int,
        dropout: float,
    ) -> None:
        """`documents` is how many the phrases were counted in."""
        super().__init__()
        self.phrase_list = phrase_list
        counts = [phrase.documents for phrase in phrase_list.phrases.values()]
        self.counts = torch.tensor(counts, dtype=torch.float32)  # (A,)
        frequency = (self.counts / max(documents, 1)).clamp(1e-6, 0.5)
        self.spans = SpanScorer(width=width, hidden=span_width)
        self.phrases = PhraseHead(
            width=width, hidden=phrase_width, frequency=frequency, dropout=dropout
        )

    def save(self, folder: Path) -> None:
        """Save the heads with a model (`folder.load_heads` loads them)."""
        from safetensors.torch import save_file

        save_file({name: x.contiguous() for name, x in self.state_dict().items()}, folder / FILE)
        self.phrase_list.save(folder)
