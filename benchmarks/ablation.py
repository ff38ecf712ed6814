"""A model of ours without one of its parts, calibrated anew: what the network brings, and what
counting training documents does.

Parts are `network` (nothing but what the codes say) and `knowledge` (no network: selector, known
phrases and associations). Documents must be short enough to be read whole.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.readers import read
from one2set.extraction.knowledge import NO_KNOWLEDGE, Knowledge
from one2set.keyphrases.scoring import score_phrases
from one2set.keyphrases.selection import Selection, select_keyphrases
from one2set.keyphrases.tuning import label_candidates, tune
from one2set.prediction.prediction import AS_TRAINED, NO_NULL, NullBias, Prediction
from one2set.prediction.runtime import Runtime

_MOST = 20  # keyphrases, as `KeyphraseGenerator` has it
Predict = Callable[[Iterable[Document], NullBias], Iterator[Prediction]]


def load_part(
    folder: str, part: str, *valid: str
) -> Callable[[Sequence[Document]], list[list[str]]]:
    """Documents → their keyphrases, by one part of a model that is tuned on the `valid` files."""
    knowledge = Knowledge.load(Path(folder)) if part == "knowledge" else NO_KNOWLEDGE
    predict = _silence if part == "knowledge" else _network(folder)
    documents = [document for path in valid for document in read(path)]
    said = predict(documents, NO_NULL)
    pairs = zip(documents, said, strict=True)
    calibration = tune(label_candidates(document, one, knowledge) for document, one in pairs)

    best = Selection(top=_MOST, point="f1")

    best = Selection(top=_MOST, point="f1")

    def of_documents(documents: Sequence[Document]) -> list[list[str]]:
        found = []
        predictions = predict(documents, calibration.null_bias())
        for document, prediction in zip(documents, predictions, strict=True):
            stemmed = StemmedDocument.of(document)
            phrases = score_phrases(stemmed, [(prediction, stemmed)], knowledge, calibration)
            shown = select_keyphrases(document, phrases, calibration, best)
            found.append([one.text for one in shown])
        return found

    return of_documents


def _network(folder: str) -> Predict:
    runtime = Runtime(Path(folder), threads=1, batch_tokens=2048)
    return lambda documents, bias: runtime.predict(documents, null_bias=bias)


def _silence(documents: Iterable[Document], bias: NullBias = AS_TRAINED) -> Iterator[Prediction]:
    """What a network would say of which no code ever speaks."""
    return (Prediction(document.id, (), "score", 0, 0) for document in documents)
