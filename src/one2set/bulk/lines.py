"""Format predictions and keyphrases as lines of a file."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import Any

import orjson

from one2set.data.control_codes import AS_TRAINED, NullBias
from one2set.data.document import Document, StemmedDocument
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import CandidateBuilder
from one2set.keyphrases.results import Keyphrase
from one2set.prediction.prediction import Prediction, Slot
from one2set.prediction.stream import Predictor, Project


def predict_all(
    engine: Predictor,
    documents: Iterable[Document],
    *,
    null_bias: NullBias = AS_TRAINED,
    project: Project | None = None,
) -> Iterator[tuple[Document, Prediction]]:
    """Yield each document with its prediction."""
    ours, the_engines = tee(documents)
    predictions = engine.predict(the_engines, null_bias=null_bias, project=project)
    return zip(ours, predictions, strict=True)


def format_prediction(
    document: Document, prediction: Prediction, calibration: Calibration, *, slots: bool
) -> bytes:
    """A JSON line for `one2set evaluate`; with `slots`, it includes every slot."""
    candidates = CandidateBuilder(StemmedDocument.of(document)).generated(prediction)
    probabilities = calibration.probabilities(candidates).tolist()
    by_slot = {
        slot: (candidate, p)
        for candidate, p in zip(candidates, probabilities, strict=True)
        for slot in candidate.slots
    }
    record: dict[str, Any] = {
        "id": prediction.id,
        "keyphrases": [
            {
                "text": slot.text,
                "score": _rounded(slot.score),
                "probability": _rounded(p),
                "present": candidate.present,
            }
            for slot, (candidate, p) in ((slot, by_slot[slot]) for slot in prediction.phrases)
        ],
    }
    if prediction.read_length < prediction.source_length:
        record |= {
            "source_length": prediction.source_length,
            "read_length": prediction.read_length,
        }
    if slots:
        record["slots"] = [_slot(slot) for slot in prediction.slots]
    return orjson.dumps(record) + b"\n"


def _slot(slot: Slot) -> dict[str, Any]:
    return {
        "code": slot.code,
        "text": slot.text,
        "tokens": slot.tokens,
        "probabilities": [_rounded(p) for p in slot.probabilities],
        "ended": slot.ended,
        "null": _rounded(slot.null),
    }


def _rounded(value: float) -> float:
    """Round to six digits, the precision of float32."""
    return float(f"{value:.6g}")


def format_as_text(prediction: Prediction) -> bytes:
    """A text line `a;b;c`."""
    return (";".join(slot.text for slot in prediction.phrases) + "\n").encode()


def format_keyphrases(
    document: Document, keyphrases: Sequence[Keyphrase], *, texts: bool = False
) -> bytes:
    """A JSON line of keyphrases with their spans; `one2set evaluate` reads it too. With `texts`,
    it includes title and abstract."""
    record = {
        "id": document.id,
        **({"title": document.title, "abstract": document.abstract} if texts else {}),
        "keyphrases": [
            {
                "text": keyphrase.text,
                "score": round(keyphrase.score, 4),
                "present": keyphrase.present,
                "spans": keyphrase.spans,
            }
            | ({} if keyphrase.id is None else {"id": keyphrase.id})
            for keyphrase in keyphrases
        ],
    }
    return orjson.dumps(record) + b"\n"


def parse_keyphrases(line: bytes) -> tuple[Document, list[Keyphrase]]:
    """Read a line of `format_keyphrases` again."""
    record = orjson.loads(line)
    keyphrases = [
        Keyphrase(
            entry["text"],
            entry["score"],
            entry["present"],
            tuple((start, end) for start, end in entry["spans"]),
            entry.get("id"),
        )
        for entry in record["keyphrases"]
    ]
    return Document(record["id"], record.get("title", ""), record.get("abstract", "")), keyphrases
