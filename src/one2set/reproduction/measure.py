"""Measure a model on a set of documents: metrics, speed, and the output of each control code.

Letters: D documents, N codes.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from one2set.arrays import Floats
from one2set.data.control_codes import SIDES
from one2set.data.corpus.corpus import Corpus
from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.data.vocabulary import document_from_example, load_vocabulary
from one2set.errors import ConfigError
from one2set.evaluation.metrics import addends, compute_metrics, count_phrases
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.rankings import Cutoff
from one2set.evaluation.scoring import Gold, Group, Scores, gold_from_document, score
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import AS_TRAINED, NO_NULL, NullBias, Prediction, apply_null_bias
from one2set.reproduction.published import Metric

# The metrics that are F1s: the group and cutoff of each.
CELLS: dict[Metric, tuple[Group, Cutoff]] = {
    "present_f1_5": ("present", "5"),
    "present_f1_m": ("present", "M"),
    "absent_f1_5": ("absent", "5"),
    "absent_f1_m": ("absent", "M"),
}
# The other metrics: phrases per document, and the fraction of duplicates.
COUNTS: tuple[Metric, ...] = ("num_present", "num_absent", "duplication")
_BIASES = (-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)


class CodeShares(BaseModel):
    """The output of a control code, as fractions of all documents."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    present: float
    absent: float
    null: float


class Measured(BaseModel):
    """A model on one set of documents, by the authors' protocol."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    documents: int
    figures: dict[Metric, float]
    gold: dict[Metric, float]  # num_present and num_absent of the gold phrases
    seconds: float  # wall time of generation
    cpu_seconds: float  # CPU time of generation, on which other work has little effect
    codes: tuple[CodeShares, ...]  # (N,), empty for a system without codes


class DocumentAddends(NamedTuple):
    """What each document adds to the metrics of a set, which are ratios of sums over documents."""

    f1: Floats  # (D, 4, 3, 2) to the F1s of `CELLS`, see `metrics.addends`
    counts: Floats  # (D, 3, 2) to the metrics of `COUNTS`: numerator and denominator


def expect_split(corpus: Corpus, split: str) -> None:
    """Raise ConfigError if a corpus lacks a split."""
    if split not in corpus.manifest.splits:
        known = ", ".join(corpus.manifest.splits)
        raise ConfigError(f"split is {split!r}; {corpus.folder} has {known}")


def load_documents(corpus: Corpus, split: str) -> list[Document]:
    """The documents of a split, as text."""
    expect_split(corpus, split)
    vocabulary = load_vocabulary(corpus.folder, size=corpus.manifest.vocabulary_size)
    return [document_from_example(example, vocabulary) for example in corpus.split(split)]


def measure(
    engine: Engine, documents: Sequence[Document], *, null_bias: NullBias = AS_TRAINED
) -> tuple[Measured, DocumentAddends]:
    """Measure a model: its metrics on the set, and each document's addends to them."""
    start, cpu_start = time.perf_counter(), time.process_time()
    predictions = list(engine.predict(documents, null_bias=null_bias))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start

    golds = [gold_from_document(document) for document in documents]
    scores = _score(golds, predictions)
    present, absent = (
        count_phrases(scores.groups["present"]),
        count_phrases(scores.groups["absent"]),
    )
    measured = Measured(
        documents=len(documents),
        figures={
            **{name: _compute_f1(scores, *cell) for name, cell in CELLS.items()},
            "num_present": present.predicted,
            "num_absent": absent.predicted,
            "duplication": scores.duplication,
        },
        gold={"num_present": present.gold, "num_absent": absent.gold},
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        codes=compute_code_shares(golds, predictions) if engine.network.rows > 1 else (),
    )
    return measured, _collect_addends(scores)


def _collect_addends(scores: Scores) -> DocumentAddends:
    f1 = [addends(scores.groups[g], cutoff, YE2021)[:, :3] for g, cutoff in CELLS.values()]
    present, absent = (scores.groups[side].num_predicted for side in SIDES)
    ones = np.ones_like(present)
    pairs = [
        (present, ones),
        (absent, ones),
        (scores.num_read - scores.num_unique, scores.num_read),
    ]
    counts = np.array(pairs, dtype=np.float64)  # (3, 2, D)
    return DocumentAddends(np.stack(f1, axis=1), counts.transpose(2, 0, 1))


def _score(golds: Sequence[Gold], predictions: Sequence[Prediction]) -> Scores:
    return score(golds, [[slot.text for slot in prediction.phrases] for prediction in predictions])


def _compute_f1(scores: Scores, group: Group, cutoff: Cutoff) -> float:
    return compute_metrics(scores.groups[group], cutoff, YE2021).f1


def compute_code_shares(
    golds: Sequence[Gold], predictions: Sequence[Prediction]
) -> tuple[CodeShares, ...]:
    """For each code, the fractions of documents in which it generates a present phrase, an absent
    phrase or ∅."""
    number = max((len(prediction.slots) for prediction in predictions), default=0)
    counts = np.zeros((number, 2))
    for gold, prediction in zip(golds, predictions, strict=True):
        words = gold.phrase_words([slot.text for slot in prediction.slots])
        for slot, phrase in zip(prediction.slots, words, strict=True):
            if slot.text:
                counts[slot.code, 0 if stem_all(phrase) in gold.source else 1] += 1
    shares = counts / max(len(predictions), 1)
    return tuple(
        CodeShares(present=present, absent=absent, null=1 - present - absent)
        for present, absent in shares.tolist()
    )


def tune_null_bias(engine: Engine, documents: Sequence[Document]) -> NullBias:
    """The biases with the highest mean of F1@5 and F1@M, for present and for absent phrases.

    Documents are predicted once without ∅; each bias then replaces some phrases by ∅.
    """
    golds = [gold_from_document(document) for document in documents]
    predictions = list(engine.predict(documents, null_bias=NO_NULL))

    def quality(bias: NullBias, side: Group) -> float:
        scores = _score(golds, [apply_null_bias(candidate, bias) for candidate in predictions])
        return _compute_f1(scores, side, "5") + _compute_f1(scores, side, "M")

    bias = AS_TRAINED
    for side in SIDES:
        tried = [bias._replace(**{side: value}) for value in _BIASES]
        # The smallest of equally good biases.
        tried.sort(key=lambda bias: abs(getattr(bias, side)))
        bias = max(tried, key=lambda candidate: quality(candidate, side))
    return bias
