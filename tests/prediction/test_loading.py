"""The predictor of each kind of model."""

import subprocess
import sys
from pathlib import Path

import pytest

from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from one2set.export.export import export_model
from one2set.model.folder import save_model
from one2set.model.settrans import SetTrans
from one2set.prediction.engine import Engine
from one2set.prediction.loading import load_model_vocabulary, load_predictor
from one2set.prediction.runtime import Runtime


@pytest.fixture
def trained(settrans: SetTrans, vocabulary: WordVocabulary, tmp_path: Path) -> Path:
    save_model(tmp_path / "run" / "model", settrans, vocabulary)
    return tmp_path / "run"


def test_an_exported_model_runs_without_torch_others_with_it(trained: Path, tmp_path: Path) -> None:
    export_model(trained, tmp_path / "exported")
    assert isinstance(load_predictor(tmp_path / "exported", threads=1), Runtime)
    assert isinstance(load_predictor(trained, threads=1), Engine)
    assert isinstance(load_predictor(trained / "model", threads=1), Engine)


def test_a_model_that_is_not_exported_needs_torch(trained: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from one2set.prediction.loading import load_predictor\n"
        f"load_predictor(Path({str(trained)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "is not exported" in done.stderr
    assert 'pip install "one2set[train]"' in done.stderr


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no model"):
        load_predictor(tmp_path / "nothing")


def test_the_vocabulary_of_a_model_is_loaded(
    vocabulary: WordVocabulary, trained: Path, tmp_path: Path
) -> None:
    export_model(trained, tmp_path / "exported")
    for folder in (trained / "model", tmp_path / "exported"):
        result = load_model_vocabulary(folder)
        assert isinstance(result, WordVocabulary)
        assert result.size == vocabulary.size
        assert result.words[: result.size] == vocabulary.words[: vocabulary.size]
    with pytest.raises(DataError, match=r"config\.json: cannot be read"):
        load_model_vocabulary(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match="not the configuration of a model"):
        load_model_vocabulary(tmp_path)
