"""What is measured of a model."""

from pathlib import Path

import numpy as np
import pytest

from one2set.data.corpus import Corpus
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.evaluation.metrics import counts, from_sums
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import evaluate, gold_of_document, score
from one2set.inference.engine import Engine
from one2set.inference.prediction import NullBias, Prediction, Slot
from one2set.reproduction import measure as module
from one2set.reproduction.measure import (
    CELLS,
    CodeShares,
    code_shares,
    documents_of,
    measure,
    tuned_bias,
)
from tests.networks import lively_settrans, small_vocabulary


@pytest.fixture(scope="module")
def documents(corpus_folder: Path) -> list[Document]:
    return documents_of(Corpus(corpus_folder), "valid")


@pytest.fixture(scope="module")
def engine(documents: list[Document]) -> Engine:
    return Engine(lively_settrans(), small_vocabulary(documents))


def test_documents_come_back_from_a_corpus(documents: list[Document], corpus_folder: Path) -> None:
    corpus = Corpus(corpus_folder)
    assert [document.id for document in documents] == [e.id for e in corpus.split("valid")]
    assert all(document.keyphrases for document in documents)
    with pytest.raises(ConfigError, match="split is 'test'"):
        documents_of(corpus, "test")


def test_what_is_measured_is_what_evaluation_says(
    engine: Engine, documents: list[Document]
) -> None:
    found, addends = measure(engine, documents)
    said = [[slot.text for slot in one.phrases] for one in engine.predict(documents)]
    figures = evaluate(documents, said)
    scores = score([gold_of_document(document) for document in documents], said)
    for name, (group, cutoff) in CELLS.items():
        assert found.figures[name] == figures[group][cutoff].f1
    absent = counts(scores.groups["absent"])
    assert found.figures["num_absent"] == absent.predicted
    assert found.gold["num_absent"] == absent.gold
    assert found.figures["duplication"] == scores.duplication
    assert found.documents == len(documents)
    assert addends.shape == (len(documents), len(CELLS), 3, 2)
    f1 = from_sums(addends.sum(axis=0), YE2021)[2]
    assert f1.tolist() == pytest.approx([found.figures[name] for name in CELLS])


def slot(code: int, text: str) -> Slot:
    return Slot(code, text, tuple(text.split()) or ("<null>",), (0.5,), ended=False)


def test_codes_are_counted_by_what_they_say() -> None:
    documents = [
        Document("1", "Sets", "A set of robots.", ("sets",)),
        Document("2", "Bees", "Bees dance.", ()),
    ]
    slots = [
        (slot(0, "robot"), slot(1, "swarm"), slot(2, "")),
        (slot(0, "dancing"), slot(1, ""), slot(2, "")),
    ]
    predictions = [Prediction("", said, "score", 9, 9) for said in slots]
    golds = [gold_of_document(document) for document in documents]
    assert code_shares(golds, predictions) == (
        CodeShares(present=1, absent=0, null=0),
        CodeShares(present=0, absent=0.5, null=0.5),
        CodeShares(present=0, absent=0, null=1),
    )


def test_the_tuned_bias_is_the_best_of_all_that_could_be(
    engine: Engine, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    biases = (-4.0, 0.0, 2.0)
    monkeypatch.setattr(module, "_BIASES", biases)

    def quality(bias: NullBias, group: str) -> float:
        figures = measure(engine, documents, null_bias=bias)[0].figures
        return sum(value for name, value in figures.items() if name.startswith(f"{group}_f1"))

    found = tuned_bias(engine, documents)
    present = [quality(NullBias(value, 0.0), "present") for value in biases]
    assert quality(found._replace(absent=0.0), "present") == max(present)
    absent = [quality(found._replace(absent=value), "absent") for value in biases]
    assert quality(found, "absent") == max(absent)
    assert len(set(present + absent)) > 2, "biases matter here"
    assert np.isfinite(found).all()
