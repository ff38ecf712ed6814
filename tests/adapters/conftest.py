"""A model and texts for the tests of adapters."""

from importlib.resources import files
from itertools import islice
from pathlib import Path

import pytest

from one2set.data.reading.readers import read
from one2set.extraction.fit_knowledge import fit_knowledge
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.generator import KeyphraseGenerator
from tests.networks import word_model

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights find nothing in a text; what is learnt of the sample does."""
    folder = word_model(tmp_path_factory.mktemp("model"))
    fit_knowledge(lambda: read(SAMPLE)).save(folder)
    half = SideCalibration(
        proposed=LogisticModel(-0.2, {"candidate_score": 0.4, "keyphrase_count": 0.1})
    )
    Calibration(half, half).save(folder)
    return folder


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return [document.text for document in islice(read(SAMPLE), 6)]


@pytest.fixture(scope="session")
def generator(model: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(model, threads=1)
