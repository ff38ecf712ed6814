"""Networks of width 16, and random documents to run them on."""

import numpy as np
import torch
from torch import nn

from one2set.data.batch import Batch, Layout, SetLayout, collate
from one2set.data.example import Example, Ids
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.model.exhird import ExHiRD
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import EncoderKind, Transformer

V = 40
CODES = 6


def transformer(*, seed: int = 0, dropout: float = 0.0) -> Transformer:
    torch.manual_seed(seed)
    network = Transformer(
        vocabulary_size=V,
        width=16,
        heads=2,
        feed_forward=24,
        encoder_layers=2,
        decoder_layers=3,
        dropout=dropout,
    )
    randomise_weights(network)
    return network


def settrans(
    *,
    seed: int = 0,
    dropout: float = 0.0,
    num_codes: int = CODES,
    control_codes: bool = True,
    encoder: EncoderKind = "transformer",
) -> SetTrans:
    torch.manual_seed(seed)
    network = SetTrans(
        vocabulary_size=V,
        width=16,
        heads=2,
        feed_forward=24,
        encoder_layers=2,
        decoder_layers=3,
        dropout=dropout,
        num_codes=num_codes,
        control_codes=control_codes,
        encoder=encoder,
    )
    randomise_weights(network)
    return network


def recurrent(
    *, seed: int = 0, dropout: float = 0.0, title_guided: bool = False, output_size: int = V
) -> Recurrent:
    torch.manual_seed(seed)
    network = Recurrent(
        vocabulary_size=V,
        embedding_width=6,
        hidden_width=10,
        dropout=dropout,
        title_guided=title_guided,
        output_size=output_size,
    )
    randomise_weights(network)
    return network


def exhird(*, seed: int = 0, output_size: int = V) -> ExHiRD:
    torch.manual_seed(seed)
    network = ExHiRD(vocabulary_size=V, embedding_width=6, hidden_width=10, output_size=output_size)
    randomise_weights(network)
    return network


def randomise_weights(network: nn.Module) -> None:
    """So that every weight matters: a fresh network is nearly uniform, its norms are ones."""
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2)


def vocabulary(size: int = V) -> WordVocabulary:
    """Made-up words, and ten more that can only be copied."""
    make_documents = [f"w{id}" for id in range(len(SPECIALS), size + 10)]
    return WordVocabulary([*SPECIALS, *make_documents], size=size)


def examples(count: int = 4, *, seed: int = 0) -> list[Example]:
    """Documents of different lengths with repeated and unknown words, and up to three phrases of
    either kind, some of whose words are copyable, known, or neither."""
    rng = np.random.default_rng(seed)

    def ids(length: int) -> Ids:
        return rng.integers(7, V + 10, size=length).astype(np.int32)

    def document(index: int) -> Example:
        source = ids(int(rng.integers(1, 14)))
        source = np.concatenate([source, source[: len(source) // 2]])

        def copied() -> Ids:
            start = int(rng.integers(len(source)))
            return source[start : start + int(rng.integers(1, 4))]

        present = tuple(copied() for _ in range(index % 4))
        absent = tuple(ids(int(rng.integers(1, 6))) for _ in range((index + 2) % 4))
        title_length = len(source) if index == 0 else index % 4  # one is all title, some have none
        return Example(str(index), source, min(title_length, len(source)), present, absent)

    return [document(index) for index in range(count)]


def batch(count: int = 4, *, seed: int = 0, layout: Layout | None = None) -> Batch:
    return collate(examples(count, seed=seed), vocabulary_size=V, layout=layout or SetLayout(CODES))
