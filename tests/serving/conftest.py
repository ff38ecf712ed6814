"""A tiny model, its generator, and a server of it."""

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.export.export import export_model
from one2set.extraction.fit_knowledge import fit_knowledge
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.folder import save_model
from one2set.serving.app import create_app
from tests.networks import VOCABULARY_SIZE, varied_settrans
from tests.serving.running import URL


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))


@pytest.fixture(scope="session")
def model(documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    words = Counter(word for document in documents for word in document.words() if word.isalpha())
    vocabulary = WordVocabulary([*SPECIALS, *words], size=VOCABULARY_SIZE)
    save_model(path / "trained", varied_settrans(), vocabulary)
    generated = LogisticModel(0.1, {"probability": 0.1, "occurrences": 0.5, "codes": 0.2})
    suggested = LogisticModel(-0.2, {"candidate_score": 0.4, "keyphrase_count": 0.1})
    halves = (
        SideCalibration(-1.0, 0.4, generated, suggested),
        SideCalibration(-0.5, 0.35, generated, suggested),
    )
    Calibration(*halves).save(path / "trained")
    export_model(path / "trained", path / "exported", int8=False)
    # Random weights find nothing in a text. What is learnt of the sample does.
    fit_knowledge(lambda: documents).save(path / "exported")
    return path / "exported"


@pytest.fixture(scope="session")
def generator(model: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(model, threads=1)


@pytest.fixture
def client(generator: KeyphraseGenerator) -> Iterator[TestClient]:
    with TestClient(create_app(generator), base_url=URL) as client:
        yield client
