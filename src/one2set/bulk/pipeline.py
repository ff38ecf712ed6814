"""Process any number of documents on several cores: chunks of documents in, lines out, in order.

A `Source` reads chunks, and a `Work` turns them into lines. Both are plain values that can be sent
to worker processes or, with `bulk/ray.py`, to other machines. A source always yields the same
chunks, so the lines do not depend on where they are computed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from one2set.bulk.output_formats import TextOutput
from one2set.bulk.resume import ResumeState
from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields, with_title
from one2set.data.reading.streams import MAX_LINE, ErrorPolicy, LeftOut, OnError
from one2set.errors import DataError
from one2set.extraction.candidates import build_candidates
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.formats import format_keyphrases
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.selection import Selection
from one2set.model.paths import is_exported
from one2set.parallel import ordered_map
from one2set.prediction.loading import load_predictor
from one2set.prediction.prediction import Prediction, Slot
from one2set.prediction.predictor import Check, never_stop

# The first chunks are small, so that all cores get some of a short file, and progress is seen soon.
# All are small, so that no core is idle for long at the end.
_FIRST_CHUNK, _LARGEST_CHUNK = 16, 64  # documents
_CHARACTERS = 1 << 10  # a document, on average; a longer chunk ends early: books are not abstracts
_DIGEST = 32  # hexadecimal digits
_OTHER_INPUT = "resume with the same input, or pass --overwrite to start again"


class Chunk(NamedTuple):
    """Documents that are processed together."""

    first: int  # number of documents before this chunk
    documents: list[Document]
    bytes_read: int  # of the input, including this chunk
    skipped: int  # records, including this chunk
    digest: str  # of all documents up to the end of this chunk
    left_out: LeftOut  # files, including this chunk

    @property
    def end(self) -> int:
        return self.first + len(self.documents)


class Lines(NamedTuple):
    """The lines of a chunk."""

    lines: list[bytes]
    cut: int  # number of truncated documents
    chunk: Chunk  # without its documents

    @property
    def end(self) -> int:
        return self.chunk.first + len(self.lines)


@dataclass(frozen=True, slots=True)
class Source:
    """The documents of some inputs, one after the other."""

    inputs: tuple[str, ...]
    fields: Fields = Fields()  # noqa: RUF009  (frozen)
    on_error: OnError = "stop"
    report: Path | None = None
    texts: TextOutput | None = None  # where the texts that are read are written
    max_line: int = MAX_LINE

    def chunks(self, state: ResumeState = ResumeState()) -> Iterator[Chunk]:  # noqa: B008
        """Yield the chunks that are not done yet, and an empty one at the end. The documents that
        are done must be the same as then, and all there are if the output is complete."""
        with ErrorPolicy(
            self.on_error, self.report, max_line=self.max_line, leave_out_unknown=True
        ) as errors:
            documents = self._write_texts(
                chain.from_iterable(
                    read(path, fields=self.fields, errors=errors) for path in self.inputs
                )
            )
            hashed, end = sha256(), 0
            for chunk in _split(documents):
                first, end = end, end + len(chunk)
                for document in chunk:
                    content = document.id, document.title, document.abstract, document.tokenised
                    hashed.update(repr(content).encode())
                digest = hashed.hexdigest()[:_DIGEST]
                if first < state.done and state.digests.get(end) != digest:
                    raise DataError(
                        f"documents {first + 1:,} to {end:,} of the input have changed since they "
                        "were processed",
                        fix=_OTHER_INPUT,
                    )
                if end > state.done:
                    if state.complete:
                        raise DataError(
                            f"the output has {state.done:,} documents, but the input now has more",
                            fix="pass --overwrite to process all of them, or name another output",
                        )
                    yield Chunk(
                        first, chunk, errors.bytes_read, errors.skipped, digest, errors.left_out
                    )
            if end < state.done:
                raise DataError(
                    f"the input has {end:,} documents, but {state.done:,} were processed already",
                    fix=_OTHER_INPUT,
                )
            digest = hashed.hexdigest()[:_DIGEST]
            yield Chunk(end, [], errors.bytes_read, errors.skipped, digest, errors.left_out)

    def check_all_done(self, state: ResumeState) -> None:
        """Raise an error unless exactly these documents are done."""
        for _ in self.chunks(replace(state, complete=True)):
            pass

    def _write_texts(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            if self.texts is not None:
                self.texts.write(document)
            yield document


def _split(documents: Iterator[Document]) -> Iterator[list[Document]]:
    chunk, characters, done = [], 0, 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text)
        size = min(_FIRST_CHUNK + done, _LARGEST_CHUNK)
        if len(chunk) >= size or characters >= size * _CHARACTERS:
            yield chunk
            done += len(chunk)
            chunk, characters = [], 0
    if chunk:
        yield chunk


# Turns documents into lines, and counts the truncated documents. The check is called before each
# piece of work.
LineMaker = Callable[[Sequence[Document], Check], tuple[list[bytes], int]]

# Makes the check for a chunk, to follow its progress.
Watch = Callable[[Chunk], Check]


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """Keyphrases, found by a `KeyphraseGenerator`."""

    model: Path
    wanted: Selection = Selection()  # noqa: RUF009  (frozen)
    threads: int = 1
    texts: bool = False  # also write title and abstract, which some formats show

    @property
    def needs_torch(self) -> bool:
        return not is_exported(self.model)

    @property
    def lists(self) -> dict[str, str | Path]:
        """The files of phrases that the user has named."""
        files = {"vocabulary": self.wanted.vocabulary, "stop_list": self.wanted.stop_list}
        return {name: file for name, file in files.items() if file is not None}

    def make_line_maker(self) -> LineMaker:
        # The manifest was checked before work began.
        generator = KeyphraseGenerator(self.model, threads=self.threads, verify=False)

        def lines(documents: Sequence[Document], check: Check) -> tuple[list[bytes], int]:
            titled = map(with_title, documents)
            results = generator.stream_selected(titled, self.wanted, check=check)
            return [format_keyphrases(*pair, texts=self.texts) for pair in results], 0

        return lines


@dataclass(frozen=True, slots=True)
class Raw:
    """The raw output of a network. `search` overrides settings of the model's `Search`."""

    model: Path
    text: bool = False
    slots: bool = False
    search: tuple[tuple[str, Any], ...] = ()
    max_source_length: int = 4096
    batch_tokens: int = 4096
    threads: int = 1
    device: str = "auto"

    @property
    def needs_torch(self) -> bool:
        return (
            bool(self.search) or self.device not in ("auto", "cpu") or not is_exported(self.model)
        )

    @property
    def lists(self) -> dict[str, str | Path]:
        """Raw output uses no lists of phrases."""
        return {}

    def make_line_maker(self) -> LineMaker:
        predictor = load_predictor(
            self.model,
            device=self.device,
            threads=self.threads,
            batch_tokens=self.batch_tokens,
            max_source_length=self.max_source_length,
            search=dict(self.search),
        )
        # Text lines do not need the calibration, which may be damaged.
        calibration = Calibration() if self.text else Calibration.load(self.model)

        def lines(documents: Sequence[Document], check: Check) -> tuple[list[bytes], int]:
            output, cut = [], 0
            predictions = predictor.predict(documents, check=check)
            for document, prediction in zip(documents, predictions, strict=True):
                cut += prediction.read_length < prediction.source_length
                output.append(
                    format_as_text(prediction)
                    if self.text
                    else format_prediction(document, prediction, calibration, slots=self.slots)
                )
            return output, cut

        return lines


def format_prediction(
    document: Document, prediction: Prediction, calibration: Calibration, *, slots: bool
) -> bytes:
    """A JSON line for `one2set evaluate`; with `slots`, it includes every slot."""
    candidates = build_candidates(StemmedDocument.of(document), prediction)
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


Work = Keyphrases | Raw


def run(
    source: Source, work: Work, state: ResumeState, *, workers: int, watch: Watch | None = None
) -> Iterator[Lines]:
    """Work in processes on this machine, each of which loads the model once. A single chunk is
    computed in this process, where `watch` can follow it."""
    _load_line_maker.cache_clear()  # the model may have changed since the last run
    chunks = source.chunks(state)
    if workers > 1:
        head = list(islice(chunks, 2))
        chunks = chain(head, chunks)
        if not any(chunk.documents for chunk in head[1:]):
            workers = 1
    process = partial(process_chunk, work, watch=watch if workers == 1 else None)
    return ordered_map(process, chunks, workers=workers, describe=_describe)


def _describe(chunk: Chunk) -> str:
    first, last = chunk.documents[0].id, chunk.documents[-1].id
    return f"documents {chunk.first + 1:,} ({first!r:.80}) to {chunk.end:,} ({last!r:.80})"


def process_chunk(work: Work, chunk: Chunk, watch: Watch | None = None) -> Lines:
    """Turn a chunk into lines."""
    done = chunk._replace(documents=[])
    if not chunk.documents:
        return Lines([], 0, done)
    check = never_stop if watch is None else watch(chunk)
    return Lines(*_load_line_maker(work)(chunk.documents, check), done)


@cache
def _load_line_maker(work: Work) -> LineMaker:
    return work.make_line_maker()
