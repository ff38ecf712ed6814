"""A model for the adapters, and texts that it has something to say about."""

from importlib.resources import files
from pathlib import Path

import pytest

from one2set.data.readers import read
from one2set.inference.generator import KeyphraseGenerator
from tests.networks import word_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return word_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def texts() -> list[str]:
    sample = read(str(files("one2set.data") / "sample" / "documents.jsonl"))
    return [document.text for document, _ in zip(sample, range(6), strict=False)]


@pytest.fixture(scope="session")
def generator(model: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(model, threads=1)
