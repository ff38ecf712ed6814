"""SetTrans (§3.2): the Transformer with N learned control codes, one for each row."""

from torch import Tensor, nn

from one2set.model.transformer import EncoderKind, Transformer


class SetTrans(Transformer):
    """Each row generates a phrase or ∅. Without control codes (an ablation), all rows are equal."""

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
        self.codes = nn.Embedding(num_codes, width) if control_codes else None
        if self.codes is not None:
            nn.init.uniform_(self.codes.weight, -0.1, 0.1)

    def embed(self, tokens: Tensor, position: Tensor, row: Tensor) -> Tensor:
        """d = e_word + e_position + c (Eq. 1)."""
        x = super().embed(tokens, position, row)
        return x if self.codes is None else x + self.codes(row)
