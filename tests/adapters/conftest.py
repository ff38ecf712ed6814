"""A model for the adapters, and texts that it has something to say about."""

from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from one2set.data.readers import read
from one2set.inference.calibration import Calibration, Curve, Half
from one2set.inference.generator import KeyphraseGenerator
from one2set.inference.known import KnownPhrases
from tests.networks import word_model

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It knows the sample's keyphrases: some of what it says stands in the texts."""
    folder = word_model(tmp_path_factory.mktemp("model"))
    KnownPhrases.of(list(read(SAMPLE)) * 3).save(folder)
    known = Curve(0.0, {"occurrences": 0.5})
    Calibration(Half(known=known), Half(known=Curve(-3.0, {}))).save(folder)
    return folder


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [document.text for document in islice(read(SAMPLE), 6)]


@pytest.fixture(scope="session")
def generator(model: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(model, threads=1)
