"""Files of predictions: their lines, and how a file that was interrupted is continued.

What is being written has a name of its own, `predictions.jsonl.partial-0f1e…`, of which the end
says by what settings it was begun. Its complete lines are done, whatever killed the process that
wrote them. Once all is written it takes its final name.
"""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, tee
from pathlib import Path
from typing import IO, Any

import orjson

from one2set.config import fingerprint
from one2set.data.document import Document
from one2set.errors import ConfigError, DataError
from one2set.inference.candidates import Reading
from one2set.inference.prediction import AS_TRAINED, NullBias, Prediction, Slot
from one2set.inference.stream import WINDOW, Predictor

_SECONDS_BETWEEN_SYNCS = 5.0


class Partial:
    """A file of lines, some of them perhaps written by an earlier run."""

    def __init__(self, file: IO[bytes]) -> None:
        """Keeps the complete lines of a file, and cuts off what follows them."""
        self._file = file
        self.done, end = 0, 0
        for line in file:
            # A machine that lost its power can leave zeros where it had not written yet.
            if not line.endswith(b"\n") or b"\0" in line:
                break
            self.done, end = self.done + 1, end + len(line)
        file.seek(end)
        file.truncate()
        self._synced = time.monotonic()

    def lines(self) -> Iterator[bytes]:
        """The lines that were there in the beginning."""
        with open(self._file.name, "rb") as file:
            yield from islice(file, self.done)

    def write(self, line: bytes) -> None:
        self._file.write(line)
        if time.monotonic() - self._synced > _SECONDS_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> None:
        """Let it reach the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


@contextmanager
def partial_file(
    path: Path, *, settings: Mapping[str, Any], resume: bool, overwrite: bool
) -> Iterator[Partial]:
    """A file to write; it takes its name when the block ends well, and otherwise can be resumed by
    a run with equal settings (plain values)."""
    partial = path.with_name(f"{path.name}.partial-{fingerprint(settings)}")
    others = [other for other in path.parent.glob(f"{path.name}.partial-*") if other != partial]
    if not overwrite:
        if path.exists():
            raise ConfigError(f"{path} exists already; pass --overwrite, or name another file")
        if others:
            raise ConfigError(
                f"{others[0]} was begun with another model, input or options; "
                "resume it with those, or pass --overwrite to begin anew"
            )
        if partial.exists() and not resume:
            raise ConfigError(
                f"{partial} is what an interrupted run left; pass --resume to continue it, "
                "or --overwrite to begin anew"
            )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = partial.open("r+b" if partial.exists() else "x+b")
    except OSError as error:
        raise ConfigError(f"{partial} cannot be written ({error.strerror})") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another process is writing {partial}; wait for it") from None
        if not resume:
            file.truncate()
        for other in others:
            other.unlink()
        lines = Partial(file)
        yield lines
        lines.sync()
        partial.replace(path)


def predict_all(
    engine: Predictor, documents: Iterable[Document], *, null_bias: NullBias = AS_TRAINED
) -> Iterator[tuple[Document, Prediction]]:
    """Each document with its prediction."""
    ours, the_engines = tee(documents)
    return zip(ours, engine.predict(the_engines, null_bias=null_bias), strict=True)


def predict_rest(
    engine: Predictor, documents: Iterable[Document], partial: Partial
) -> Iterator[tuple[Document, Prediction]]:
    """Predictions for the documents that have no line yet.

    The engine's windows are those of a run that nobody interrupted, so that even the last digits of
    what it computes are the same.
    """
    remaining = iter(documents)
    done = enumerate(partial.lines(), 1)
    for number, line in islice(done, partial.done - partial.done % WINDOW):
        _expect(next(remaining, None), line, number)
    pairs = predict_all(engine, remaining)
    for number, line in done:
        document, _ = next(pairs, (None, None))
        _expect(document, line, number)
    yield from pairs


def _expect(document: Document | None, line: bytes, number: int) -> None:
    """That a line is of this document. A line of text does not tell."""
    if document is None:
        raise DataError(
            f"the input has {number - 1} documents, and more are done already",
            fix="resume with the same input, or pass --overwrite to begin anew",
        )
    if line.startswith(b"{") and (id := orjson.loads(line)["id"]) != document.id:
        raise DataError(
            f"document {number} of the input is {document.id!r}; what is done has {id!r} there",
            fix="resume with the same input, or pass --overwrite to begin anew",
        )


def json_line(
    document: Document, prediction: Prediction, engine: Predictor, *, slots: bool
) -> bytes:
    """A line that `one2set evaluate` reads; with `slots`, also all that was generated."""
    candidates = Reading(document).candidates(prediction)
    said = {slot: one for one in candidates for slot in one.slots}
    record: dict[str, Any] = {
        "id": prediction.id,
        "keyphrases": [
            {
                "text": slot.text,
                "score": _rounded(slot.score),
                "probability": _rounded(engine.calibration.half(one).probability(one)),
                "present": one.present,
            }
            for slot, one in ((slot, said[slot]) for slot in prediction.phrases)
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
    """Six digits, which is what float32 can hold."""
    return float(f"{value:.6g}")


def text_line(prediction: Prediction) -> bytes:
    """The field's form: `a;b;c`."""
    return (";".join(slot.text for slot in prediction.phrases) + "\n").encode()
