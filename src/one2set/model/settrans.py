"""SetTrans (§3.2): the Transformer with N learned control codes, one for each row it writes."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from one2set.model.transformer import EncoderKind, Transformer


class SetTrans(Transformer):
    """A row writes one phrase or ∅. Without control codes, an ablation, all rows are the same."""

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
        self.arguments |= {"num_codes": num_codes, "control_codes": control_codes}
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


def new_codes(count: int, width: int) -> nn.Embedding:
    """Control codes that have learnt nothing yet."""
    codes = nn.Embedding(count, width)
    nn.init.uniform_(codes.weight, -0.1, 0.1)
    return codes
