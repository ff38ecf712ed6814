"""Validation equals slow, plain computations."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from one2set.data.corpus.corpus import Corpus
from one2set.data.example import Example
from one2set.data.vocabulary import document_from_example
from one2set.evaluation.scoring import evaluate
from one2set.prediction.engine import Engine
from one2set.training.batches import Batches
from one2set.training.config import Config
from one2set.training.distributed import Processes
from one2set.training.systems import build
from one2set.training.validation import Validator
from tests.training.conftest import ALONE, SETTINGS


def make(corpus: Corpus, system: str = "settrans", **changes: object) -> Validator:
    vocabulary = corpus.vocabulary()
    split = corpus.split("valid")
    torch.manual_seed(0)
    config = Config.scale("tiny").override([*SETTINGS, "model.vocabulary_size=50002"])
    built = build(system, config, vocabulary)
    engine = Engine(built.network, vocabulary, generation=built.generation)
    parts = {
        "objective": built.objective,
        "examples": split[:],
        "batches": Batches(split.source_lengths(), documents=5, tokens=0, pool=1, seed=0),
        "collate": built.collate,
        "generate": lambda examples: [
            [slot.text for slot in prediction.phrases]
            for prediction in engine.predict_examples(examples)
        ],
        "vocabulary": vocabulary,
        "processes": ALONE,
    }
    return Validator(**{**parts, **changes})  # type: ignore[arg-type]


@pytest.fixture
def corpus(corpus_folder: Path) -> Corpus:
    return Corpus(corpus_folder)


@pytest.mark.parametrize("system", ["settrans", "transformer"])
def test_the_loss_is_that_of_the_documents_one_by_one(system: str, corpus: Corpus) -> None:
    validator = make(corpus, system)
    validator.objective.train()  # as the loop leaves it, with dropout
    figures = validator.run(stopped=lambda: False)
    assert figures is not None
    validator.objective.eval()
    alone = [validator.objective(validator.collate([example])) for example in validator.examples]
    expected = sum(loss.sum.item() for loss in alone) / sum(loss.tokens for loss in alone)
    assert figures["loss"] == pytest.approx(expected, rel=1e-5)


def test_it_leaves_the_objective_in_training_mode(corpus: Corpus) -> None:
    validator = make(corpus)
    validator.run(stopped=lambda: False)
    assert validator.objective.training


def test_gold_phrases_score_one_and_no_phrases_score_zero(corpus: Corpus) -> None:
    examples = list(corpus.split("valid"))
    vocabulary = corpus.vocabulary()

    def gold(examples: Sequence[Example]) -> list[list[str]]:
        ids = {example.id: (*example.present, *example.absent) for example in examples}
        return [[vocabulary.text(phrase) for phrase in ids[e.id]] for e in examples]

    def nothing(examples: Sequence[Example]) -> list[list[str]]:
        return [[] for _ in examples]

    perfect = make(corpus, generate=gold).run(stopped=lambda: False)
    silent = make(corpus, generate=nothing).run(stopped=lambda: False)
    assert perfect is not None
    assert silent is not None
    assert perfect["f1"] == pytest.approx(1.0)
    present = sum(len(example.present) for example in examples) / len(examples)
    assert perfect["num_present"] == pytest.approx(present)
    assert perfect["duplication"] == 0.0
    assert (silent["f1"], silent["num_absent"]) == (0.0, 0.0)


@pytest.mark.parametrize("prediction", ["present", "absent"])
def test_f1_is_over_all_phrases_and_over_those_of_either_kind(
    prediction: str, corpus: Corpus
) -> None:
    """Predictions with all phrases of one kind and none of the other."""
    examples, vocabulary = list(corpus.split("valid")), corpus.vocabulary()
    phrases = {
        example.id: [vocabulary.text(phrase) for phrase in getattr(example, prediction)]
        for example in examples
    }

    def generate(examples: Sequence[Example]) -> list[list[str]]:
        return [phrases[example.id] for example in examples]

    outcome = make(corpus, generate=generate).run(stopped=lambda: False)
    assert outcome is not None
    documents = [document_from_example(example, vocabulary) for example in examples]
    expected = evaluate(documents, [phrases[document.id] for document in documents])
    assert outcome["f1"] == pytest.approx(expected["all"]["M"].f1)
    assert outcome["f1_present"] == pytest.approx(expected["present"]["M"].f1)
    assert outcome["f1_absent"] == pytest.approx(expected["absent"]["M"].f1)
    assert 0.1 < outcome["f1"] < 0.9
    assert outcome[f"f1_{prediction}"] == pytest.approx(1.0)
    counts = {"present": outcome["num_present"], "absent": outcome["num_absent"]}
    assert counts.pop(prediction) > 0
    assert list(counts.values()) == [0.0]


def test_processes_share_the_documents_and_agree(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes one after the other: what they gather is put together by hand."""
    whole = make(corpus).run(stopped=lambda: False)
    sent: list[object] = []

    def send(processes: Processes, value: object) -> list[object]:
        sent.append(value)
        return [value]

    monkeypatch.setattr(Processes, "gather", send)
    for rank in (0, 1):
        with pytest.raises(KeyError):  # half of the predictions are missing
            make(corpus, processes=Processes(rank, 2)).run(stopped=lambda: False)
    monkeypatch.setattr(Processes, "gather", lambda self, value: sent)
    together = make(corpus, processes=Processes(0, 2)).run(stopped=lambda: False)
    assert together == whole


def test_an_interrupted_validation_gives_nothing(corpus: Corpus) -> None:
    asked = iter([False, True, True, True])
    assert make(corpus).run(stopped=lambda: next(asked)) is None
