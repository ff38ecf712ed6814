"""The runtime equals the engine, and a null bias silences the right codes."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from one2set.export.export import export_model
from one2set.model.folder import save_model
from one2set.model.settrans import SetTrans
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import NO_NULL, NullBias
from one2set.prediction.runtime import Runtime
from tests.networks import varied_settrans
from tests.prediction.same import assert_same

BIASES = [NullBias(), NullBias(-1.5, 0.7), NullBias(2.0, -math.inf), NO_NULL]


def export(
    network: SetTrans, vocabulary: WordVocabulary, folder: Path, *, int8: bool = False
) -> Path:
    save_model(folder / "trained", network, vocabulary)
    export_model(folder / "trained", folder / "exported", int8=int8)
    return folder / "exported"


@pytest.fixture(scope="module")
def exported(
    settrans: SetTrans, vocabulary: WordVocabulary, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return export(settrans, vocabulary, tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def whole_numbers(
    settrans: SetTrans, vocabulary: WordVocabulary, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return export(settrans, vocabulary, tmp_path_factory.mktemp("int8"), int8=True)


@pytest.fixture(scope="module")
def many(documents: list[Document]) -> list[Document]:
    """Three hundred documents: the sample, and its words in other orders and other numbers."""
    result = list(documents)
    generator = np.random.default_rng(5)
    while len(result) < 300:
        document = documents[len(result) % len(documents)]
        words = generator.permutation(document.words())
        words = words[: generator.integers(1, len(words))]
        odd = [f"zzq{number}" for number in generator.integers(0, 9, generator.integers(0, 4))]
        text = " ".join([*words, *odd])
        result.append(Document(f"made-{len(result)}", "", text, tokenised=True))
    return result


def test_it_predicts_what_the_engine_predicts(
    exported: Path, settrans: SetTrans, vocabulary: WordVocabulary, many: list[Document]
) -> None:
    expected = list(Engine(settrans, vocabulary).predict(many))
    assert_same(list(Runtime(exported, threads=1).predict(many)), expected)
    slots = [slot for expected_one in expected for slot in expected_one.slots]
    assert len({slot.text for slot in slots}) > 300
    assert sum(slot.is_null for slot in slots) > 300


@pytest.mark.parametrize("bias", BIASES, ids=str)
def test_a_null_bias_does_the_same_in_both(
    exported: Path,
    settrans: SetTrans,
    vocabulary: WordVocabulary,
    documents: list[Document],
    bias: NullBias,
) -> None:
    predictions = Runtime(exported, threads=1).predict(documents, null_bias=bias)
    assert_same(
        list(predictions), list(Engine(settrans, vocabulary).predict(documents, null_bias=bias))
    )


@pytest.mark.parametrize("bias", BIASES, ids=str)
def test_a_bias_silences_exactly_the_codes_whose_odds_are_below_it(
    exported: Path, documents: list[Document], bias: NullBias
) -> None:
    runtime = Runtime(exported, threads=1)
    everything = list(runtime.predict(documents, null_bias=NO_NULL))
    some = list(runtime.predict(documents, null_bias=bias))
    for full, biased in zip(everything, some, strict=True):
        for spoken, slot in zip(full.slots, biased.slots, strict=True):
            half = bias.present if slot.code < len(biased.slots) // 2 else bias.absent
            if spoken.log_odds >= half:
                assert slot.tokens == spoken.tokens
            else:
                assert slot.tokens == ("<null>",)
                assert slot.probabilities == (slot.null,)
            assert slot.null == pytest.approx(spoken.null, abs=1e-6)


@pytest.mark.parametrize("kind", ["exported", "whole_numbers"])
def test_predictions_do_not_depend_on_the_batch(
    kind: str, documents: list[Document], request: pytest.FixtureRequest
) -> None:
    """In int8 too: every row has a scale of its own."""
    folder = request.getfixturevalue(kind)
    together = Runtime(folder, threads=1, batch_tokens=4096).predict(documents)
    alone = Runtime(folder, threads=1, batch_tokens=1).predict(documents)
    assert_same(list(together), list(alone))


def test_int8_predicts_nearly_the_same(
    exported: Path, whole_numbers: Path, documents: list[Document]
) -> None:
    exact, rounded = (
        [
            slot.null
            for prediction in Runtime(folder, threads=1).predict(documents)
            for slot in prediction.slots
        ]
        for folder in (exported, whole_numbers)
    )
    difference = np.abs(np.array(exact) - np.array(rounded))
    assert 0 < difference.mean() < 0.02


def test_networks_without_codes_or_with_fewer_output_words_agree(
    vocabulary: WordVocabulary, documents: list[Document], tmp_path: Path
) -> None:
    """Without codes, and with words that can be read but not generated."""
    arguments = varied_settrans().arguments | {
        "control_codes": False,
        "output_size": 40,
        "num_codes": 3,
        "encoder_layers": 2,
        "decoder_layers": 1,
    }
    network = SetTrans(**arguments).eval()
    folder = export(network, vocabulary, tmp_path)
    predictions = list(Runtime(folder, threads=1).predict(documents[:20]))
    assert_same(predictions, list(Engine(network, vocabulary).predict(documents[:20])))


def test_unusual_documents_have_predictions(exported: Path, documents: list[Document]) -> None:
    empty = Document("empty", "", " \n ")
    unknown = Document("unknown", "", " ".join(f"zzq{i}x" for i in range(1500)))
    predictions = list(Runtime(exported, threads=1).predict([empty, unknown, documents[0], empty]))
    assert [bool(prediction.slots) for prediction in predictions] == [False, True, True, False]
    assert_same(predictions[2:3], list(Runtime(exported, threads=1).predict(documents[:1])))


def test_a_long_document_is_truncated_and_marked(exported: Path) -> None:
    long = Document("long", "", "set " * 5000)
    (prediction,) = Runtime(exported, threads=1).predict([long])
    assert (prediction.source_length, prediction.read_length) == (5000, 2048)
    with pytest.raises(ConfigError, match="max source length is 0; expected 1 or more"):
        Runtime(exported, threads=1, max_source_length=0)
    (short,) = Runtime(exported, threads=1, max_source_length=100).predict([long])
    assert short.read_length == 100


def test_gold_keyphrases_do_not_change_predictions(
    exported: Path, documents: list[Document]
) -> None:
    runtime = Runtime(exported, threads=1)
    blind = [replace(document, keyphrases=None) for document in documents]
    assert list(runtime.predict(documents)) == list(runtime.predict(blind))


def damaged(folder: Path, tmp_path: Path, name: str, content: bytes | None) -> Path:
    other = tmp_path / "damaged"
    other.mkdir()
    for path in folder.iterdir():
        if path.name != name:
            (other / path.name).write_bytes(path.read_bytes())
        elif content is not None:
            (other / name).write_bytes(content)
    return other


@pytest.mark.parametrize("name", ["runtime.json", "encoder.onnx", "step.onnx"])
@pytest.mark.parametrize("content", [None, b"", b"[]", b"\0\xff"])
def test_a_damaged_folder_is_reported(
    exported: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    with pytest.raises(DataError, match=name.replace(".", r"\.")):
        Runtime(damaged(exported, tmp_path, name, content))


def test_another_format_is_reported(exported: Path, tmp_path: Path) -> None:
    values = json.loads((exported / "runtime.json").read_text()) | {"format": 7}
    folder = damaged(exported, tmp_path, "runtime.json", json.dumps(values).encode())
    with pytest.raises(DataError, match="not of format 1"):
        Runtime(folder)
