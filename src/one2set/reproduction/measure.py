"""Measuring a model on a set of documents: figures, speed, and what each control code says.

Letters: D documents, N codes.
"""

import time
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from one2set.arrays import Floats
from one2set.data.control_codes import SIDES
from one2set.data.corpus.corpus import Corpus
from one2set.data.document import Document
from one2set.data.vocabulary import document_from_example, load_vocabulary
from one2set.errors import ConfigError
from one2set.evaluation.metrics import addends, compute_metrics, count_phrases
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.rankings import Cutoff
from one2set.evaluation.scoring import Gold, Group, Scores, gold_from_document, score
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import Prediction, apply_null_bias
from one2set.reproduction.published import Metric
from one2set.search.null_bias import AS_TRAINED, NO_NULL, NullBias
from one2set.text import stem_all

# The figures that are F1s, and where they are found.
CELLS: dict[Metric, tuple[Group, Cutoff]] = {
    "present_f1_5": ("present", "5"),
    "present_f1_m": ("present", "M"),
    "absent_f1_5": ("absent", "5"),
    "absent_f1_m": ("absent", "M"),
}
_BIASES = (-4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)


class CodeShares(BaseModel):
    """What a control code says, as shares of all documents."""

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
    seconds: float  # of generation
    cpu_seconds: float  # of it, by the processor's clock: other work on the machine counts little
    codes: tuple[CodeShares, ...]  # (N,), none of a system that has no codes


def expect_split(corpus: Corpus, split: str) -> None:
    """That a corpus has a split to measure on."""
    if split not in corpus.manifest.splits:
        known = ", ".join(corpus.manifest.splits)
        raise ConfigError(f"split is {split!r}; {corpus.folder} has {known}")


def load_documents(corpus: Corpus, split: str) -> list[Document]:
    """The documents of a split, in words."""
    expect_split(corpus, split)
    vocabulary = load_vocabulary(corpus.folder, size=corpus.manifest.vocabulary_size)
    return [document_from_example(example, vocabulary) for example in corpus.split(split)]


def measure(
    engine: Engine, documents: Sequence[Document], *, null_bias: NullBias = AS_TRAINED
) -> tuple[Measured, Floats]:
    """What a model reaches, and each document's addends to the F1s of `CELLS` (D, 4, 3, 2)."""
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
            **{name: _f1(scores, *cell) for name, cell in CELLS.items()},
            "num_present": present.predicted,
            "num_absent": absent.predicted,
            "duplication": scores.duplication,
        },
        gold={"num_present": present.gold, "num_absent": absent.gold},
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        codes=code_shares(golds, predictions) if engine.network.rows > 1 else (),
    )
    parts = [addends(scores.groups[g], cutoff, YE2021)[:, :3] for g, cutoff in CELLS.values()]
    return measured, np.stack(parts, axis=1)


def _score(golds: Sequence[Gold], predictions: Sequence[Prediction]) -> Scores:
    return score(golds, [[slot.text for slot in one.phrases] for one in predictions])


def _f1(scores: Scores, group: Group, cutoff: Cutoff) -> float:
    return compute_metrics(scores.groups[group], cutoff, YE2021).f1


def code_shares(golds: Sequence[Gold], predictions: Sequence[Prediction]) -> tuple[CodeShares, ...]:
    """Of each code, in which share of the documents it says a present or an absent phrase, or ∅."""
    number = max((len(one.slots) for one in predictions), default=0)
    said = np.zeros((number, 2))
    for gold, prediction in zip(golds, predictions, strict=True):
        words = gold.phrase_words([slot.text for slot in prediction.slots])
        for slot, spoken in zip(prediction.slots, words, strict=True):
            if slot.text:
                said[slot.code, 0 if stem_all(spoken) in gold.source else 1] += 1
    shares = said / max(len(predictions), 1)
    return tuple(
        CodeShares(present=present, absent=absent, null=1 - present - absent)
        for present, absent in shares.tolist()
    )


def tune_null_bias(engine: Engine, documents: Sequence[Document]) -> NullBias:
    """The biases at which the mean of F1@5 and F1@M is highest, for present and absent phrases.

    Every code is made to speak once; for each pair of biases some of them are silenced again.
    """
    golds = [gold_from_document(document) for document in documents]
    spoken = list(engine.predict(documents, null_bias=NO_NULL))

    def quality(bias: NullBias, side: Group) -> float:
        scores = _score(golds, [apply_null_bias(one, bias) for one in spoken])
        return _f1(scores, side, "5") + _f1(scores, side, "M")

    bias = AS_TRAINED
    for side in SIDES:
        tried = [bias._replace(**{side: value}) for value in _BIASES]
        # Of equals the one that changes least.
        tried.sort(key=lambda one: abs(getattr(one, side)))
        bias = max(tried, key=lambda one: quality(one, side))
    return bias
