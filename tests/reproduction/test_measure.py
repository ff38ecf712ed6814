"""Metrics, code shares and the tuned bias of a model."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from one2set.data.corpus.corpus import Corpus
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.evaluation.metrics import compute_from_sums, count_phrases
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import evaluate, gold_from_document, score
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import AS_TRAINED, NullBias, Prediction, Slot
from one2set.reproduction.measure import (
    CELLS,
    COUNTS,
    CodeShares,
    compute_code_shares,
    load_documents,
    measure,
    tune_null_bias,
)
from tests.networks import small_vocabulary, varied_settrans


@pytest.fixture(scope="module")
def documents(corpus_folder: Path) -> list[Document]:
    return load_documents(Corpus(corpus_folder), "valid")


@pytest.fixture(scope="module")
def engine(documents: list[Document]) -> Engine:
    return Engine(varied_settrans(), small_vocabulary(documents))


def test_documents_come_back_from_a_corpus(documents: list[Document], corpus_folder: Path) -> None:
    corpus = Corpus(corpus_folder)
    assert [document.id for document in documents] == [e.id for e in corpus.split("valid")]
    assert all(document.keyphrases for document in documents)
    with pytest.raises(ConfigError, match="split is 'test'"):
        load_documents(corpus, "test")


def test_measured_metrics_equal_those_of_evaluation(
    engine: Engine, documents: list[Document]
) -> None:
    measured, addends = measure(engine, documents)
    phrases = [
        [slot.text for slot in prediction.phrases] for prediction in engine.predict(documents)
    ]
    figures = evaluate(documents, phrases)
    scores = score([gold_from_document(document) for document in documents], phrases)
    for name, (group, cutoff) in CELLS.items():
        assert measured.figures[name] == figures[group][cutoff].f1
    absent = count_phrases(scores.groups["absent"])
    assert measured.figures["num_absent"] == absent.predicted
    assert measured.gold["num_absent"] == absent.gold
    assert measured.figures["duplication"] == scores.duplication
    assert measured.documents == len(documents)
    assert addends.f1.shape == (len(documents), len(CELLS), 3, 2)
    f1 = compute_from_sums(addends.f1.sum(axis=0), YE2021)[2]
    assert f1.tolist() == pytest.approx([measured.figures[name] for name in CELLS])
    above, below = addends.counts.sum(axis=0).T  # (3,)
    assert (above / below).tolist() == pytest.approx([measured.figures[name] for name in COUNTS])


def slot(code: int, text: str) -> Slot:
    return Slot(code, text, tuple(text.split()) or ("<null>",), (0.5,), ended=False)


def test_codes_are_counted_by_their_output() -> None:
    documents = [
        Document("1", "Sets", "A set of robots.", ("sets",)),
        Document("2", "Bees", "Bees dance.", ()),
    ]
    slots = [
        (slot(0, "robot"), slot(1, "swarm"), slot(2, "")),
        (slot(0, "dancing"), slot(1, ""), slot(2, "")),
    ]
    predictions = [Prediction("", phrases, "score", 9, 9) for phrases in slots]
    golds = [gold_from_document(document) for document in documents]
    assert compute_code_shares(golds, predictions) == (
        CodeShares(present=1, absent=0, null=0),
        CodeShares(present=0, absent=0.5, null=0.5),
        CodeShares(present=0, absent=0, null=1),
    )


class FixedEngine(Engine):
    """Four codes, two of each side, each with a phrase and its log odds against ∅."""

    phrases = (("robots", 3.0), ("set", -1.2), ("swarm", 0.4), ("bee hive", -2.2))

    def __init__(self) -> None:
        pass

    def predict(
        self,
        documents: Iterable[Document],
        *,
        null_bias: NullBias = AS_TRAINED,
        **options: Any,
    ) -> Iterator[Prediction]:
        for document in documents:
            slots = []
            for code, (text, odds) in enumerate(self.phrases):
                generates = odds >= null_bias[code // 2]
                probability = 0.2 * math.exp(odds) / math.exp(3)
                null = 0.2 / math.exp(3)
                words = tuple(text.split()) if generates else ("<null>",)
                shares = (probability,) * len(words) if generates else (null,)
                slots.append(Slot(code, text * generates, words, shares, not generates, null))
            yield Prediction(document.id, tuple(slots), "score", 9, 9)


@pytest.mark.parametrize(
    ("keyphrases", "present", "absent"),
    [
        (("robots", "swarm"), 0.0, 0.0),  # as trained: the codes that doubt are wrong
        (("robots", "set", "swarm"), -1.5, 0.0),
        (("robots", "set", "swarm", "bee hive"), -1.5, -3.0),
        (("robots", "bee hive"), 0.0, -3.0),
    ],
)
def test_the_tuned_bias_keeps_codes_that_are_correct(
    keyphrases: tuple[str, ...], present: float, absent: float
) -> None:
    documents = [Document("1", "Sets", "A set of robots.", keyphrases)]
    assert tune_null_bias(FixedEngine(), documents) == NullBias(present, absent)


def test_the_bias_is_tuned_by_both_f1s() -> None:
    """`set` is right in one document. F1@5, which has room for five phrases, would keep it in
    both cases, F1@M in neither."""
    right, wrong = (
        Document(str(n), "Sets", "A set of robots.", phrases)
        for n, phrases in enumerate((("robots", "set"), ("robots",)))
    )
    assert tune_null_bias(FixedEngine(), [right, wrong]).present == -1.5
    assert tune_null_bias(FixedEngine(), [right, wrong, wrong]).present == 0.0
