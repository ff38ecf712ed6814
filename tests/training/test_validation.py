"""Validation against slow, obvious ways to the same numbers."""

from pathlib import Path

import numpy as np
import pytest
import torch

from one2set.config import Config
from one2set.data.batch import Batch, collate
from one2set.data.corpus import Corpus
from one2set.data.example import Example
from one2set.data.specials import EOS, NULL, SEP, UNK
from one2set.distributed import Processes
from one2set.model.decoding import Rows
from one2set.systems import build
from one2set.training import validation
from one2set.training.batches import Batches
from one2set.training.validation import Validator, generate_sequence, generate_set, spread
from tests.training.conftest import ALONE, SETTINGS


def make(corpus: Corpus, system: str = "settrans", **changes: object) -> Validator:
    vocabulary = corpus.vocabulary()
    split = corpus.split("valid")
    torch.manual_seed(0)
    config = Config.scale("tiny").override([*SETTINGS, "model.vocabulary_size=50002"])
    built = build(system, config, vocabulary_size=vocabulary.size)
    parts = {
        "objective": built.objective,
        "examples": split[:],
        "batches": Batches(split.source_lengths(), documents=5, tokens=0, pool=1, seed=0),
        "collate": built.collate,
        "generate": built.generate,
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


def test_saying_the_gold_scores_one_and_saying_nothing_zero(corpus: Corpus) -> None:
    examples = {example.id: example for example in corpus.split("valid")}

    def gold(batch: Batch) -> list[list[list[int]]]:
        chosen = [examples[id] for id in batch.ids]
        return [[ids.tolist() for ids in (*e.present, *e.absent)] for e in chosen]

    perfect = make(corpus, generate=gold).run(stopped=lambda: False)
    silent = make(corpus, generate=lambda batch: [[] for _ in batch.ids]).run(stopped=lambda: False)
    assert perfect is not None
    assert silent is not None
    assert perfect["f1"] == pytest.approx(1.0)
    present = sum(len(example.present) for example in examples.values()) / len(examples)
    assert perfect["num_present"] == pytest.approx(present)
    assert perfect["duplication"] == 0.0
    assert (silent["f1"], silent["num_absent"]) == (0.0, 0.0)


def test_a_phrase_with_a_special_token_is_no_text(corpus: Corpus) -> None:
    spoken = make(corpus, generate=lambda batch: [[[NULL, 9], [9]] for _ in batch.ids])
    figures = spoken.run(stopped=lambda: False)
    assert figures is not None
    assert figures["num_present"] + figures["num_absent"] == 1.0


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
    assert together == pytest.approx(whole)


def test_an_interrupted_validation_gives_nothing(corpus: Corpus) -> None:
    asked = iter([False, True, True, True])
    assert make(corpus).run(stopped=lambda: next(asked)) is None


def test_spread_takes_indices_from_everywhere() -> None:
    assert spread(10, 0) == list(range(10))
    assert spread(10, 99) == list(range(10))
    assert spread(10, 3) == [0, 3, 6]
    assert len(set(spread(1003, 100))) == 100


class _Network:
    """Says what it is told."""

    vocabulary_size = 20

    def encode(self, batch: Batch) -> None:
        return None


def _rows(tokens: list[list[int]], probability: list[list[float]]) -> Rows:
    grid = torch.tensor([tokens])
    return Rows(grid, torch.tensor([probability]), torch.ones_like(grid), torch.zeros(1, len(grid)))


@pytest.fixture
def batch() -> Batch:
    source = np.array([8, 31, 9, 32], dtype=np.int32)  # 31 and 32 are known to be copied only
    return collate([Example("a", source=source, title_length=0)], vocabulary_size=20)


def test_a_set_says_its_phrases_by_the_mean_probability_of_their_words(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _rows(
        [[8, EOS, 0], [NULL, 0, 0], [9, 21, EOS], [10, NULL, 0], [UNK, 8, 9], [EOS, 0, 0]],
        [[0.5, 1, 0], [1, 0, 0], [0.4, 0.8, 1], [1, 1, 0], [0.1, 0.1, 0.1], [1, 0, 0]],
    )
    monkeypatch.setattr(validation, "greedy_set", lambda *_, steps: rows)
    # 21 is the second word to be copied, 32; `<unk>` becomes the word it looked at, 31.
    said = generate_set(_Network(), batch, steps=3)  # type: ignore[arg-type]
    assert said == [[[9, 32], [8], [31, 8, 9]]]


@pytest.mark.parametrize(
    ("tokens", "phrases"),
    [
        ([8, SEP, 9, 20, EOS, 0], [[8], [9, 31]]),
        ([SEP, 8, SEP, SEP, 9, 9], [[8], [9, 9]]),
        ([EOS, 0, 0, 0, 0, 0], []),
    ],
)
def test_a_sequence_says_what_stands_between_separators(
    tokens: list[int], phrases: list[list[int]], batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _rows([tokens], [[1.0] * 6])
    monkeypatch.setattr(validation, "greedy_sequence", lambda *_, steps: rows)
    assert generate_sequence(_Network(), batch, steps=6) == [phrases]  # type: ignore[arg-type]
