"""Tiny networks with random weights that behave like trained ones: they generate different
phrases, copy unknown words, generate ∅ and end."""

from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import torch

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.specials import EOS, NULL, SEP, SPECIALS, UNK
from one2set.data.vocabulary import WordVocabulary
from one2set.export.export import export_model
from one2set.model.exhird import ExHiRD
from one2set.model.folder import save_model
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import DecoderLayer, Transformer

VOCABULARY_SIZE = 100
_SIZES = {
    "vocabulary_size": VOCABULARY_SIZE,
    "width": 16,
    "heads": 2,
    "feed_forward": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.1,
}


def small_vocabulary(documents: Sequence[Document]) -> WordVocabulary:
    """It lacks the words of every third document, and its network knows the first hundred."""
    known = [document for i, document in enumerate(documents) if i % 3]
    counts = Counter(word for document in known for word in document.words())
    words = [*SPECIALS, *(word for word, _ in counts.most_common())]
    return WordVocabulary(words, size=VOCABULARY_SIZE)


def varied_settrans() -> SetTrans:
    torch.manual_seed(13)
    network = SetTrans(num_codes=8, **_SIZES)  # type: ignore[arg-type]
    assert network.codes is not None
    torch.nn.init.normal_(network.codes.weight, std=2.0)
    _vary_output(network, {EOS: 0.3, NULL: 0.3, UNK: 0.24})
    return network.eval()


def varied_transformer() -> Transformer:
    torch.manual_seed(9)
    network = Transformer(**_SIZES)  # type: ignore[arg-type]
    _vary_output(network, {EOS: 0.08, SEP: 0.1, UNK: 0.08})
    return network.eval()


def varied_recurrent() -> Recurrent:
    torch.manual_seed(5)
    network = Recurrent(
        vocabulary_size=VOCABULARY_SIZE,
        embedding_width=8,
        hidden_width=16,
        dropout=0.1,
        title_guided=True,
    )
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(4.0)
        network.embedding.weight.mul_(5.0)
        network.attention.score.weight.mul_(8.0)
        network.vocabulary.weight.mul_(2.0)
        network.vocabulary.weight[[EOS, SEP, UNK], -1] += torch.tensor([9.0, 9.0, 4.0])
    return network.eval()


def varied_exhird() -> ExHiRD:
    torch.manual_seed(2)
    network = ExHiRD(vocabulary_size=VOCABULARY_SIZE, embedding_width=12, hidden_width=16)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(8.0)
        network.decoder.query.weight.mul_(3.0)
        network.gate.weight.mul_(3.0)
        network.vocabulary.weight.mul_(1.2)
        network.vocabulary.weight[[UNK, EOS, SEP], -1] += torch.tensor([1.0, 1.0, 2.0])
    return network.eval()


def _vary_output(network: Transformer, favoured: dict[int, float]) -> None:
    """Sharpen attention, gates and words, and make favoured tokens more frequent. The factors and
    the seeds above were found by trial."""
    pointer, last = network.pointer, network.decoder.layers[-1]
    assert isinstance(last, DecoderLayer)
    with torch.no_grad():
        network.embedding.weight.mul_(5.0)
        last.source_attention.query.weight.mul_(30.0)
        pointer.vocabulary.weight.mul_(3.0)
        pointer.gate.weight.mul_(10.0)
        torch.nn.init.normal_(pointer.features.bias)
        for token, bonus in favoured.items():
            pointer.vocabulary.weight[token] += bonus * pointer.features.bias


def word_model(folder: Path) -> Path:
    """An exported SetTrans that generates words of the bundled sample, in a folder."""
    sample = str(files("one2set.data") / "sample" / "documents.jsonl")
    words = dict.fromkeys(w for d in read(sample) for w in d.words() if w.isalpha())
    vocabulary = WordVocabulary([*SPECIALS, *words], size=VOCABULARY_SIZE)
    save_model(folder / "trained", varied_settrans(), vocabulary)
    export_model(folder / "trained", folder / "exported")
    return folder / "exported"
