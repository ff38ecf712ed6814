"""Ablation: the F1 of a model without each of its parts, calibrated again.

    python benchmarks/ablation.py MODEL VALID.jsonl [VALID.jsonl …]

Prints the mean of F1@5 and F1@M (protocol ye2021) of present and of absent keyphrases, tuned on
each half of the documents and measured on the other. Documents must fit into one passage.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from one2set.data.control_codes import SIDES
from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.readers import read
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge
from one2set.keyphrases.scoring import score_phrases
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.keyphrases.tuning import CandidateTable, label_candidates, mean_f1, tune
from one2set.prediction.prediction import AS_TRAINED, NO_NULL, NullBias, Prediction
from one2set.prediction.runtime import Runtime

_TOP = 20  # keyphrases, as in `KeyphraseGenerator`
Predict = Callable[[Iterable[Document], NullBias], Iterator[Prediction]]


def load_part(
    folder: str, part: str, *valid: str
) -> Callable[[Sequence[Document]], list[list[str]]]:
    """Load one part of a model, and tune it on the `valid` files. Returns a function from documents
    to their keyphrases."""
    knowledge = Knowledge.load(Path(folder)) if part == "knowledge" else NO_KNOWLEDGE
    predict = _predict_nothing if part == "knowledge" else _load_network(folder)
    documents = [document for path in valid for document in read(path)]
    predictions = predict(documents, NO_NULL)
    pairs = zip(documents, predictions, strict=True)
    calibration = tune(label_candidates(*pair, knowledge) for pair in pairs)

    selection = Selection(top=_TOP, point="f1")

    def generate(documents: Sequence[Document]) -> list[list[str]]:
        results = []
        predictions = predict(documents, calibration.null_bias())
        for document, prediction in zip(documents, predictions, strict=True):
            stemmed = StemmedDocument.of(document)
            phrases = score_phrases(stemmed, [(prediction, stemmed)], knowledge, calibration)
            shown = select_keyphrases(document, phrases, calibration, selection)
            results.append([keyphrase.text for keyphrase in shown])
        return results

    return generate


def _load_network(folder: str) -> Predict:
    runtime = Runtime(Path(folder), threads=1, batch_tokens=2048)
    return lambda documents, bias: runtime.predict(documents, null_bias=bias)


def _predict_nothing(
    documents: Iterable[Document], bias: NullBias = AS_TRAINED
) -> Iterator[Prediction]:
    """The predictions of a network whose codes all generate ∅."""
    return (Prediction(document.id, (), "score", 0, 0) for document in documents)


def compare(folder: Path, files: Sequence[str]) -> None:
    """Print the F1 of a model without each of its parts."""
    documents = [document for path in files for document in read(path)]
    knowledge = Knowledge.load(folder)
    runtime = Runtime(folder, threads=1, batch_tokens=2048)
    predicted = list(runtime.predict(documents, null_bias=NO_NULL, project=knowledge.project))
    nothing = list(_predict_nothing(documents))
    without_classifier = replace(knowledge, phrase_classifier=None, neighbor_index=None)
    for name, predictions, rest in (
        ("the model", predicted, knowledge),
        ("without the network", nothing, knowledge.without_span_rescorer()),
        ("without the span rescorer", predicted, knowledge.without_span_rescorer()),
        ("without the candidate scorer", predicted, replace(knowledge, candidate_scorer=None)),
        ("without the neighbours", predicted, replace(knowledge, neighbor_index=None)),
        ("without classifier and neighbours", predicted, without_classifier),
        ("the network alone", predicted, NO_KNOWLEDGE),
    ):
        labelled = [
            label_candidates(document, prediction, rest)
            for document, prediction in zip(documents, predictions, strict=True)
        ]
        halves = [
            mean_f1(CandidateTable(labelled[1 - half :: 2]), tune(labelled[half::2]))
            for half in (0, 1)
        ]
        means = (f"{side} {sum(half[side] for half in halves) / 2:.4f}" for side in SIDES)
        print(f"{name:34}", *means, flush=True)


if __name__ == "__main__":
    compare(Path(sys.argv[1]), sys.argv[2:])
