"""Exported folders: contents, refusals, and loading them with torch."""

from pathlib import Path

import numpy as np
import pytest
import torch

from one2set.data.batch import collate
from one2set.data.document import Document
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.export.export import export_model
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.model.folder import load_model, save_model
from one2set.model.heads import FILE as HEADS
from one2set.model.heads import Heads
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.engine import Engine
from one2set.prediction.runtime import Runtime
from tests.prediction.same import assert_same


@pytest.fixture
def trained(settrans: SetTrans, vocabulary: WordVocabulary, tmp_path: Path) -> Path:
    folder = tmp_path / "trained"
    save_model(folder, settrans, vocabulary, {"model": {"phrase_length": 4}})
    return folder


def test_all_files_of_the_model_are_copied(
    trained: Path, vocabulary: WordVocabulary, tmp_path: Path
) -> None:
    calibration = Calibration(SideCalibration(0.5, 0.25), SideCalibration(-2.0))
    calibration.save(trained)
    export_model(trained, tmp_path / "out")
    runtime = Runtime(tmp_path / "out", threads=1)
    assert Calibration.load(tmp_path / "out") == calibration
    assert runtime.description[:3] == (vocabulary.size, 8, 4)
    assert isinstance(runtime.vocabulary, WordVocabulary)
    assert runtime.vocabulary.words == vocabulary.words[: vocabulary.size]
    assert {path.stat().st_mode & 0o444 for path in (tmp_path / "out").iterdir()} == {0o444}


def test_an_exported_model_can_be_loaded_with_torch(
    trained: Path, settrans: SetTrans, documents: list[Document], tmp_path: Path
) -> None:
    """Its network can be read back: exactly from float32, nearly from int8."""
    for int8, most in ((False, 0.0), (True, 1 / 63 + 1e-6)):
        export_model(trained, tmp_path / "out", int8=int8, overwrite=True)
        weights = load_model(tmp_path / "out").network.state_dict()
        for name, weight in settrans.state_dict().items():
            difference = (weights[name] - weight).abs().max()
            assert difference <= most * weight.abs().max(), name
    export_model(trained, tmp_path / "out", int8=False, overwrite=True)
    engine, runtime = Engine.load(tmp_path / "out", device="cpu"), Runtime(tmp_path / "out")
    assert_same(list(runtime.predict(documents[:9])), list(engine.predict(documents[:9])))
    assert torch.is_tensor(weights["codes.weight"])


def test_further_training_changes_the_exported_model(
    trained: Path, vocabulary: WordVocabulary, tmp_path: Path
) -> None:
    """Weights that were whole numbers and have changed by less than half a step do not all become
    the same whole numbers again."""
    export_model(trained, tmp_path / "first")
    network = load_model(tmp_path / "first").network
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    generator = torch.Generator().manual_seed(0)
    change = {
        name: 0.1 / 63 * weight.abs().max() * torch.randn(weight.shape, generator=generator)
        for name, weight in before.items()
        if weight.ndim == 2 and name != "codes.weight"  # which stay as they are
    }
    network.load_state_dict(before | {name: before[name] + each for name, each in change.items()})
    save_model(tmp_path / "further", network, vocabulary)
    export_model(tmp_path / "further", tmp_path / "second")
    after = load_model(tmp_path / "second").network.state_dict()
    kept = [
        (((after[name] - before[name]) * each).sum() / (each**2).sum()).item()
        for name, each in change.items()
    ]
    assert sum(kept) / len(kept) == pytest.approx(1, abs=0.25)


def test_an_existing_folder_is_kept(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        export_model(trained, tmp_path / "out")
    export_model(trained, tmp_path / "out", overwrite=True)


def test_only_a_settrans_can_be_exported(
    transformer: Transformer, vocabulary: WordVocabulary, tmp_path: Path
) -> None:
    save_model(tmp_path / "trained", transformer, vocabulary)
    with pytest.raises(ConfigError, match="is a Transformer"):
        export_model(tmp_path / "trained", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@torch.no_grad()
@pytest.mark.parametrize("int8", [False, True])
def test_a_span_scorer_gives_the_states_of_tokens(
    settrans: SetTrans,
    vocabulary: WordVocabulary,
    documents: list[Document],
    tmp_path: Path,
    int8: bool,
) -> None:
    torch.manual_seed(0)
    heads = Heads(
        PhraseList({("graph",): KnownPhrase("graph", 20)}),
        documents=90,
        width=settrans.embedding.embedding_dim,
        span_width=5,
        phrase_width=3,
        dropout=0.0,
    )
    save_model(tmp_path / "trained", settrans, vocabulary, heads=heads)
    export_model(tmp_path / "trained", tmp_path / "exported", int8=int8)
    assert not (tmp_path / "exported" / HEADS).exists()  # only the first layer is exported
    load_model(tmp_path / "exported")  # the network alone, without that layer

    document = documents[0]
    batch = collate([vocabulary.encode(document)], vocabulary_size=vocabulary.size)
    states = settrans.encode(batch).states
    expected = torch.cat([heads.spans.first(states), heads.spans.last(states)], 1)
    # A model that is exported once more keeps the layer.
    export_model(tmp_path / "exported", tmp_path / "again", int8=int8)
    for name in ("exported", "again"):
        actual = next(Runtime(tmp_path / name, threads=1).encode_words([document]))[1]
        np.testing.assert_allclose(actual.values, expected, atol=0.1 if int8 else 1e-4)
