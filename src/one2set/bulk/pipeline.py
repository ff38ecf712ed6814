"""Any number of documents, on several cores: chunks of documents in, their lines out, in order.

A `Source` reads chunks, a `Work` makes lines of them; both are plain values, so that they can be
sent to where it is done: to processes here, or with `cluster` to other machines. The chunks of a
source are always the same, and so are their lines, wherever they are made.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from glob import glob, has_magic
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from one2set.bulk.lines import json_line, keyphrase_line, predict_all, text_line
from one2set.bulk.resume import Begun
from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields, with_title
from one2set.data.reading.remote import is_remote, remote_matches
from one2set.data.reading.streams import ErrorPolicy, OnError
from one2set.errors import DataError, missing_extra
from one2set.export.runtime import Runtime
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.loading import exported
from one2set.keyphrases.selection import Wanted
from one2set.parallel import ordered_map
from one2set.prediction.stream import WINDOW, Predictor

_CHARACTERS = 1 << 20  # after so many a chunk ends early: books are not abstracts
_OTHER_INPUT = "resume with the same input, or pass --overwrite to begin anew"


class Chunk(NamedTuple):
    """Documents that are worked on together."""

    first: int  # how many documents come before them
    documents: list[Document]
    bytes_read: int  # of the input, so far
    skipped: int  # records, so far


class Lines(NamedTuple):
    """What became of a chunk."""

    lines: list[bytes]
    cut: int  # documents of which only the start was read
    chunk: Chunk  # without its documents


@dataclass(frozen=True, slots=True)
class Source:
    """The documents of some inputs, one after the other."""

    inputs: tuple[str, ...]
    fields: Fields = Fields()  # noqa: RUF009  (frozen)
    on_error: OnError = "stop"
    report: Path | None = None

    def chunks(self, begun: Begun = Begun()) -> Iterator[Chunk]:  # noqa: B008
        """The chunks that are not done yet, and at last an empty one. Of what is done it checks
        that it is of the same documents."""
        with ErrorPolicy(self.on_error, self.report) as errors:
            documents = chain.from_iterable(
                read(path, fields=self.fields, errors=errors) for path in self.inputs
            )
            lines, end = begun.read(), 0
            for some in _split(documents):
                first, end = end, end + len(some)
                for number in range(max(first, begun.packed), min(end, begun.done)):
                    _expect(some[number - first], next(lines), number)
                if end > begun.done:
                    yield Chunk(first, some, errors.bytes_read, errors.skipped)
            if end < begun.done and begun.lines:
                raise DataError(
                    f"the input has {end} documents, and more are done already", fix=_OTHER_INPUT
                )
            yield Chunk(end, [], errors.bytes_read, errors.skipped)


def _split(documents: Iterator[Document]) -> Iterator[list[Document]]:
    chunk, characters = [], 0
    for document in documents:
        chunk.append(document)
        characters += len(document.text)
        if len(chunk) == WINDOW or characters >= _CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _expect(document: Document, line: bytes, number: int) -> None:
    """That a line is of this document. A line of text does not tell."""
    if line.startswith(b"{") and (id := orjson.loads(line)["id"]) != document.id:
        raise DataError(
            f"document {number + 1} of the input is {document.id!r}; what is done has {id!r} there",
            fix=_OTHER_INPUT,
        )


def expanded(inputs: Sequence[str]) -> list[str]:
    """Inputs with the files that patterns such as `in/*.parquet` stand for, in their order."""
    found = []
    for each in inputs:
        if has_magic(each) and not os.path.exists(each):
            matches = (
                remote_matches(each) if is_remote(each) else sorted(glob(each, recursive=True))
            )
            if not matches:
                raise DataError("matches no file", fix="check the pattern", path=each)
            found += matches
        else:
            found.append(each)
    return found


# Makes the lines of documents, and counts those of which only the start was read.
Make = Callable[[Sequence[Document]], tuple[list[bytes], int]]


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """Lines of keyphrases as a `KeyphraseGenerator` finds them."""

    model: Path
    wanted: Wanted = Wanted()  # noqa: RUF009  (frozen)
    threads: int = 1

    @property
    def needs_torch(self) -> bool:
        return not exported(self.model)

    def make(self) -> Make:
        generator = KeyphraseGenerator(self.model, threads=self.threads)

        def lines(documents: Sequence[Document]) -> tuple[list[bytes], int]:
            found = generator.stream(map(with_title, documents), **asdict(self.wanted))
            return [keyphrase_line(*pair) for pair in found], 0

        return lines


@dataclass(frozen=True, slots=True)
class Raw:
    """Lines of all that a network says, as it says it.

    A search takes the place of the model's own in what it names; see `Search`.
    """

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
        return bool(self.search) or self.device not in ("auto", "cpu") or not exported(self.model)

    def make(self) -> Make:
        predictor = self._torch_engine() if self.needs_torch else self._runtime()
        # A damaged calibration is no obstacle to who does not need it.
        calibration = Calibration() if self.text else Calibration.load(self.model)

        def lines(documents: Sequence[Document]) -> tuple[list[bytes], int]:
            made, cut = [], 0
            for document, prediction in predict_all(predictor, documents):
                cut += prediction.read_length < prediction.source_length
                made.append(
                    text_line(prediction)
                    if self.text
                    else json_line(document, prediction, calibration, slots=self.slots)
                )
            return made, cut

        return lines

    def _runtime(self) -> Predictor:
        return Runtime(
            self.model,
            threads=self.threads,
            batch_tokens=self.batch_tokens,
            max_source_length=self.max_source_length,
        )

    def _torch_engine(self) -> Predictor:
        try:
            from one2set.distributed import set_num_threads
            from one2set.prediction.engine import Engine
        except ImportError:
            raise missing_extra("torch", extra="train", purpose="generation") from None
        set_num_threads(self.threads)
        engine = Engine.load(
            self.model,
            device=self.device,
            batch_tokens=self.batch_tokens,
            max_source_length=self.max_source_length,
        )
        engine.change_search(dict(self.search))
        return engine


Work = Keyphrases | Raw


def run(source: Source, work: Work, begun: Begun, *, workers: int) -> Iterator[Lines]:
    """Do it in processes, each of which loads the model once."""
    _made.cache_clear()  # since an earlier run of this process the model may have changed
    return ordered_map(partial(lines_of, work), source.chunks(begun), workers=workers)


def lines_of(work: Work, chunk: Chunk) -> Lines:
    """What becomes of a chunk."""
    done = chunk._replace(documents=[])
    if not chunk.documents:
        return Lines([], 0, done)
    return Lines(*_made(work)(chunk.documents), done)


@cache
def _made(work: Work) -> Make:
    return work.make()
