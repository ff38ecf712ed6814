"""The order of runs, and what is measured of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from one2set.data.corpus import Corpus
from one2set.errors import ConfigError
from one2set.evaluation.metrics import counts
from one2set.evaluation.scoring import evaluate, gold_of_document, score
from one2set.experiments import documents_of, has_ended, measure, plan
from one2set.inference.engine import Engine
from one2set.systems import SYSTEMS
from tests.cli.test_train import QUICK, train


def test_a_system_comes_after_the_one_that_it_starts_from(monkeypatch: pytest.MonkeyPatch) -> None:
    later = replace(SYSTEMS["transformer"], starts_from="settrans")
    monkeypatch.setitem(SYSTEMS, "later", later)
    assert plan(["later", "transformer"]) == ["settrans", "later", "transformer"]
    assert plan(["settrans", "later"]) == ["settrans", "later"]
    with pytest.raises(ConfigError, match="system is 'never'"):
        plan(["never"])


def test_documents_come_back_from_a_corpus(corpus_folder: Path) -> None:
    corpus = Corpus(corpus_folder)
    documents = documents_of(corpus, "valid")
    assert [document.id for document in documents] == [e.id for e in corpus.split("valid")]
    assert all(document.keyphrases for document in documents)
    with pytest.raises(ConfigError, match="split is 'test'"):
        documents_of(corpus, "test")


def test_what_is_measured_is_what_evaluation_says(corpus_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(corpus_folder, run, *QUICK, "--documents", "8")
    documents = documents_of(Corpus(corpus_folder), "valid")
    assert has_ended(run, Corpus(corpus_folder))
    assert not has_ended(tmp_path / "nothing", Corpus(corpus_folder))
    found = measure(run, documents)

    said = [[s.text for s in p.phrases] for p in Engine.load(run).predict(documents)]
    figures = evaluate(documents, said)
    assert found.present_f1_m == figures["present"]["M"].f1
    assert found.absent_f1_5 == figures["absent"]["5"].f1
    scores = score([gold_of_document(document) for document in documents], said)
    assert found.num_absent == counts(scores.groups["absent"]).predicted
    assert found.duplication == scores.duplication
    assert found.documents > 0

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was measured already")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "load", never)
        assert measure(run, documents) == found
        with pytest.raises(AssertionError, match="already"):
            measure(run, documents[1:])
