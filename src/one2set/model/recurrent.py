"""The recurrent network of catSeq, with copying, as Chan et al. (2019) made it: a GRU that reads, a
GRU that writes, additive attention. What is attended to goes into the next word only, never into
the writing GRU (no input feeding), so that known rows are written in one call over all steps.

    h_t = GRU(e(y_{t−1}), h_{t−1}),  h_0 = summary of the document
    c_t = attention of h_t over the source
    P_vocabulary = softmax(W_2 drop(W_1 [c_t; h_t]))
    g = σ(w [c_t; h_t; e(y_{t−1})])

and `Mixture` is the rest.

Shapes: B documents, S source words, R rows per document, L cells per row, C real cells of a batch,
E width of embeddings, D width of states, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from one2set.data.batch import Batch
from one2set.data.specials import PAD, UNK
from one2set.model.additive import AdditiveAttention
from one2set.model.dropout import Dropout
from one2set.model.gru import GRUEncoder, TitleGuidedEncoder
from one2set.model.network import Memory, Network, State
from one2set.model.pointer import Mixture, Words


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The documents, ready to be attended to."""

    states: Tensor  # (B, S, D), of no meaning where the mask is False
    mask: Tensor  # (B, S)
    keys: Tensor  # (B, S, D)
    summary: Tensor  # (B, D)


@dataclass
class RecurrentState(State):
    """Rows, and where their GRU is."""

    memory: RecurrentMemory
    hidden: Tensor  # (rows, D)

    def select(self, rows: Tensor) -> "RecurrentState":
        documents = [self.documents[row] for row in rows.tolist()]
        return RecurrentState(self.memory, documents, self.hidden[rows])


class Recurrent(Network):
    """catSeq's network; `title_guided`, catSeqTG's. It generates the first `output_size` words of
    its vocabulary, and can only copy the others."""

    def __init__(
        self,
        *,
        vocabulary_size: int,
        embedding_width: int,
        hidden_width: int,
        dropout: float,
        title_guided: bool = False,
        output_size: int | None = None,
    ) -> None:
        super().__init__()
        self.arguments = {
            "vocabulary_size": vocabulary_size,
            "embedding_width": embedding_width,
            "hidden_width": hidden_width,
            "dropout": dropout,
            "title_guided": title_guided,
            "output_size": output_size or vocabulary_size,
        }
        self.vocabulary_size = vocabulary_size
        self.dropout = dropout
        self.embedding = nn.Embedding(vocabulary_size, embedding_width, padding_idx=PAD)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        size = {"embedding_width": embedding_width, "width": hidden_width}
        self.encoder: nn.Module = (
            TitleGuidedEncoder(**size, dropout=dropout) if title_guided else GRUEncoder(**size)
        )
        self.decoder = nn.GRU(embedding_width, hidden_width, batch_first=True)
        self.attention = AdditiveAttention(hidden_width)
        self.features = nn.Linear(2 * hidden_width, hidden_width)
        self.drop = Dropout(dropout)
        # The last column is W_2's bias: its feature is always 1, and `Mixture` need not know.
        self.vocabulary = nn.Linear(hidden_width + 1, output_size or vocabulary_size, bias=False)
        self.gate = nn.Linear(2 * hidden_width + embedding_width, 1)

    # A compiler can do nothing for torch's GRUs, and would stop at each of them.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def encode(self, batch: Batch) -> RecurrentMemory:
        states, summary = self.encoder(batch, self.embedding)
        words = Words(batch.source_extended, batch.source_first)
        keys = self.attention.key(states)
        return RecurrentMemory(batch.lengths, words, states, batch.source_mask, keys, summary)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def decode(self, memory: RecurrentMemory, inputs: Tensor, mask: Tensor) -> Mixture:
        lengths = mask.sum(2).flatten()  # (B·R,)
        real = lengths.nonzero().squeeze(1)  # rows that have cells
        x = self._embed(inputs.flatten(0, 1)[real])  # (rows, L, E)
        packed = pack_padded_sequence(
            x, lengths[real].cpu(), batch_first=True, enforce_sorted=False
        )
        begin = memory.summary.repeat_interleave(mask.shape[1], 0)[real]
        written, _ = self.decoder(packed, begin[None])
        hidden, _ = pad_packed_sequence(written, batch_first=True, total_length=x.shape[1])
        cells = mask.flatten(0, 1)[real]  # (rows, L)
        return self._mixture(x[cells], hidden[cells], memory, mask.sum((1, 2)).tolist())

    def start(self, memory: RecurrentMemory, *, steps: int) -> RecurrentState:
        return RecurrentState(memory, list(range(len(memory.lengths))), memory.summary)

    def step(self, state: RecurrentState, tokens: Tensor) -> Mixture:
        x = self._embed(tokens)
        _, hidden = self.decoder(x[:, None], state.hidden[None])
        state.hidden = hidden[0]
        return self._mixture(x, state.hidden, state.memory, state.counts)

    def _embed(self, tokens: Tensor) -> Tensor:
        """(…, E); unknown words as `<unk>`."""
        known = tokens.where(tokens < self.vocabulary_size, UNK)
        # A sparse gradient is added to the encoder's dense one without a second table of V × E.
        return F.embedding(known, self.embedding.weight, PAD, sparse=True)

    def _mixture(
        self, x: Tensor, hidden: Tensor, memory: RecurrentMemory, counts: Sequence[int]
    ) -> Mixture:
        """For words x (C, E) and the states (C, D) that follow from them."""
        context, attention = self.attention(hidden, counts, memory.keys, memory.states, memory.mask)
        both = torch.cat([context, hidden], dim=1)
        features = F.pad(self.drop(self.features(both)), (0, 1), value=1.0)
        gate = torch.sigmoid(self.gate(torch.cat([both, x], dim=1))).squeeze(1)
        return Mixture(features, self.vocabulary.weight, gate, attention, memory.words, counts)
