"""Models for the tests of commands."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from one2set.data.reading.readers import read
from one2set.model.folder import save_model
from tests.networks import small_vocabulary, varied_settrans, word_model


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """The folder of a tiny SetTrans with random weights."""
    documents = list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))
    folder = tmp_path / "tiny"
    save_model(folder, varied_settrans(), small_vocabulary(documents))
    return folder


@pytest.fixture(scope="session")
def exported_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported model that generates words."""
    return word_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def damaged_light(tmp_path: Path) -> Path:
    """A copy of the model light, whose shared knowledge is damaged."""
    shutil.copytree(str(files("one2set") / "models"), tmp_path / "models")
    with (tmp_path / "models" / "default" / "lexicon.safetensors").open("r+b") as file:
        file.seek(-9, 2)
        file.write(b"damage")
    return tmp_path / "models" / "light"
