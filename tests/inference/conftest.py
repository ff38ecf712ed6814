"""Tiny networks with random weights, and the bundled sample to run them on."""

from collections import Counter
from importlib.resources import files

import pytest
import torch

from one2set.data.document import Document
from one2set.data.readers import read
from one2set.data.specials import EOS, NULL, SEP, SPECIALS, UNK
from one2set.data.vocabulary import WordVocabulary
from one2set.model.settrans import SetTrans
from one2set.model.transformer import DecoderLayer, Transformer

SIZES = {
    "width": 16,
    "heads": 2,
    "feed_forward": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.1,
}


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))


@pytest.fixture(scope="session")
def vocabulary(documents: list[Document]) -> WordVocabulary:
    """It lacks the words of every third document, and its network knows the first hundred."""
    known = [document for i, document in enumerate(documents) if i % 3]
    counts = Counter(word for document in known for word in document.words())
    return WordVocabulary([*SPECIALS, *(word for word, _ in counts.most_common())], size=100)


def lively(network: Transformer, favoured: dict[int, float]) -> Transformer:
    """Random weights that write different things, copy, and say the favoured tokens more often."""
    pointer = network.pointer
    with torch.no_grad():
        network.embedding.weight.mul_(5.0)
        last = network.decoder.layers[-1]
        assert isinstance(last, DecoderLayer)
        last.source_attention.query.weight.mul_(30.0)
        pointer.vocabulary.weight.mul_(3.0)
        pointer.gate.weight.mul_(10.0)
        torch.nn.init.normal_(pointer.features.bias)
        for token, bonus in favoured.items():
            pointer.vocabulary.weight[token] += bonus * pointer.features.bias
    return network.eval()


@pytest.fixture(scope="session")
def settrans() -> SetTrans:
    torch.manual_seed(13)
    network = SetTrans(vocabulary_size=100, num_codes=8, **SIZES)  # type: ignore[arg-type]
    assert network.codes is not None
    torch.nn.init.normal_(network.codes.weight, std=2.0)
    lively(network, {EOS: 0.3, NULL: 0.3, UNK: 0.24})
    return network


@pytest.fixture(scope="session")
def transformer() -> Transformer:
    torch.manual_seed(9)
    network = Transformer(vocabulary_size=100, **SIZES)  # type: ignore[arg-type]
    return lively(network, {EOS: 0.08, SEP: 0.1, UNK: 0.08})
