"""SetTrans (§3.2): the Transformer with N learned control codes, one for each row it writes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor, nn

from one2set.model.layers import Scope
from one2set.model.memory import Opening, TransformerState
from one2set.model.transformer import EncoderKind, Own, Transformer


class SetTrans(Transformer):
    """A row writes one phrase or ∅. Without control codes, an ablation, all rows are the same.

    With code attention, which the paper has not, the first cells of a document's rows see one
    another, so that codes can agree on who says what before any has said a word.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        width: int,
        heads: int,
        feed_forward: int,
        encoder_layers: int,
        decoder_layers: int,
        dropout: float,
        num_codes: int,
        control_codes: bool = True,
        code_attention: bool = False,
        output_size: int | None = None,
        encoder: EncoderKind = "transformer",
    ) -> None:
        super().__init__(
            vocabulary_size=vocabulary_size,
            width=width,
            heads=heads,
            feed_forward=feed_forward,
            encoder_layers=encoder_layers,
            decoder_layers=decoder_layers,
            dropout=dropout,
            output_size=output_size,
            encoder=encoder,
        )
        self.arguments |= {
            "num_codes": num_codes,
            "control_codes": control_codes,
            "code_attention": code_attention,
        }
        self.code_attention = code_attention
        self.rows = num_codes
        self.codes = new_codes(num_codes, width) if control_codes else None

    @contextmanager
    def speaking_by(self, codes: nn.Embedding | None) -> Iterator[None]:
        """Within the block these are the codes of its rows, in place of its own."""
        own, self.codes = self.codes, codes
        try:
            yield
        finally:
            self.codes = own

    def embed(self, tokens: Tensor, position: Tensor, row: Tensor) -> Tensor:
        """d = e_word + e_position + c (Eq. 1)."""
        x = super().embed(tokens, position, row)
        return x if self.codes is None else x + self.codes(row)

    def seen(self, row: Tensor, step: Tensor) -> Tensor:
        own = super().seen(row, step)
        return own | ((step[:, None] == 0) & (step == 0)) if self.code_attention else own

    def opening(self, state: TransformerState) -> Sequence[Own]:
        if not self.code_attention:
            return super().opening(state)
        scope = Scope(state.counts, state.counts)
        return [Opening(cache, scope) for cache in state.caches]


def new_codes(count: int, width: int) -> nn.Embedding:
    """Control codes that have learnt nothing yet."""
    codes = nn.Embedding(count, width)
    nn.init.uniform_(codes.weight, -0.1, 0.1)
    return codes
