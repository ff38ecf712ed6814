"""The formats of output files: lines, compressed or not, Parquet, and what people open; and the
texts of documents as files, for those who need what spans refer to."""

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import orjson

from one2set.atomic import atomic_file
from one2set.data.document import Document
from one2set.data.reading.locations import COMPRESSED, is_remote
from one2set.errors import ConfigError, missing_extra
from one2set.keyphrases.formats import (
    UniqueNames,
    format_bibtex,
    format_csv,
    format_html,
    format_json,
    import_openpyxl,
    parse_keyphrases,
    write_workbook,
)

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["jsonl", "text", "parquet", "json", "csv", "xlsx", "html", "bib"]
RAW: tuple[Format, ...] = ("jsonl", "parquet", "text")  # of `predict`
KEYPHRASES: tuple[Format, ...] = ("jsonl", "json", "csv", "xlsx", "html", "bib", "parquet")
_ENDINGS: dict[str, Format] = {".ndjson": "jsonl", ".txt": "text", ".htm": "html"}
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")
# Of the name of a text's file. File systems allow 255 bytes, with the number and the extension.
_MAX_CHARACTERS, _MAX_BYTES = 100, 200
_ROWS = 4096  # of a Parquet file in memory at once


def choose_format(
    name: str, requested: Format | None, *, like: str, allowed: Sequence[Format]
) -> Format:
    """Choose the format of an output by its name; a folder, whose name ends in /, gets that of the
    input. Fails if a required package is missing."""
    if is_remote(name):
        raise ConfigError(
            f"the output is {name}; output is written on this machine: name a local file or "
            "folder, and copy it when it is complete"
        )
    if name.endswith("/"):
        chosen = requested or ("parquet" if like.endswith(".parquet") else "jsonl")
        if chosen not in RAW:
            raise ConfigError(f"--format is {chosen}; a folder has parts in jsonl or parquet")
    else:
        chosen = _named_format(name, requested, allowed)
    if chosen == "parquet":
        _pyarrow()
    if chosen == "xlsx":
        import_openpyxl()
    if name.endswith(".zst"):
        _zstandard()
    return chosen


def _named_format(name: str, requested: Format | None, allowed: Sequence[Format]) -> Format:
    """The format by the name of a file. --format must not contradict it."""
    compression = next(filter(name.endswith, COMPRESSED), "")
    ending = Path(name.removesuffix(compression)).suffix.lower()
    formats = {**{f".{format}": format for format in allowed}, **_ENDINGS}
    named = formats.get(ending) if ending else requested or "jsonl"
    is_packed = named in ("parquet", "xlsx")
    if named is None or named not in allowed or (compression and is_packed):
        endings = [ending for ending, format in formats.items() if format in allowed]
        raise ConfigError(
            f"the output is {name}; expected a name that ends in {', '.join(endings)}, or such a "
            "text format with .gz or .zst behind it, or in / for a folder"
        )
    if requested not in (None, named):
        raise ConfigError(
            f"--format is {requested}, but the output is {name}; rename it, or leave out --format"
        )
    return named


def pack(lines: Path, path: Path, format: Format) -> None:
    """Convert a file of lines to its final format and name."""
    if format in ("jsonl", "text") and path.suffix not in COMPRESSED:
        lines.replace(path)
        return
    with lines.open("rb") as source, atomic_file(path) as target:
        if format == "parquet":
            _write_parquet(source, target)
        elif format == "xlsx":
            write_workbook(map(parse_keyphrases, source), target)
        else:
            with _compress(target, path.suffix) as sink:
                for part in _convert(source, format):
                    sink.write(part)
    lines.unlink()


def _convert(source: IO[bytes], format: Format) -> Iterator[bytes]:
    write = {
        "json": format_json,
        "csv": format_csv,
        "html": format_html,
        "bib": format_bibtex,
    }.get(format)
    if write is None:
        yield from source
    else:
        yield from (part.encode() for part in write(map(parse_keyphrases, source)))


@contextmanager
def _compress(target: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    if ending == ".gz":
        # No time stamp: equal output has equal bytes.
        with gzip.GzipFile("", "wb", fileobj=target, mtime=0) as packed:
            yield cast(IO[bytes], packed)
    elif ending == ".zst":
        with _zstandard().ZstdCompressor(level=6).stream_writer(target, closefd=False) as packed:
            yield packed
    else:
        yield target


def _write_parquet(source: IO[bytes], target: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    schema = _schema()
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for records in _batches(source):
            writer.write_batch(_pyarrow().RecordBatch.from_pylist(records, schema))


def _batches(source: IO[bytes]) -> Iterator[list[Any]]:
    while lines := list(islice(source, _ROWS)):
        yield [orjson.loads(line) for line in lines]


def _schema() -> "pa.Schema":
    """The schema of all kinds of lines; missing fields are null."""
    pa = _pyarrow()
    words, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    phrase = {
        "text": pa.string(),
        "score": pa.float64(),
        "probability": pa.float64(),
        "present": pa.bool_(),
        "spans": pa.list_(pa.list_(pa.int64())),
        "id": pa.string(),
    }
    slot = {
        "code": pa.int64(),
        "text": pa.string(),
        "tokens": words,
        "probabilities": numbers,
        "ended": pa.bool_(),
        "null": pa.float64(),
    }
    columns = {
        "id": pa.string(),
        "keyphrases": pa.list_(pa.struct(list(phrase.items()))),
        "source_length": pa.int64(),
        "read_length": pa.int64(),
        "slots": pa.list_(pa.struct(list(slot.items()))),
    }
    return pa.schema(list(columns.items()))


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("pyarrow", extra="data", purpose="writing Parquet") from None
    return pyarrow


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", extra="data", purpose="writing .zst files") from None
    return zstandard


class TextOutput:
    """A folder with a file for each document, named by its id; or one file, if the name ends in
    .txt. Offsets count characters of these files, which are UTF-8 with their line ends as they
    are. A file with another text is replaced only with `replace`."""

    def __init__(self, name: str, *, replace: bool = False) -> None:
        self.path, self.replace = Path(name), replace
        self._is_file = self.path.suffix == ".txt" and not self.path.is_dir()
        self._names, self._any_written = UniqueNames(), False

    def write(self, document: Document) -> None:
        """Write the text of a document."""
        if self._is_file and self._any_written:
            raise ConfigError(
                f"--text-output is {self.path}, one file, but there is more than one document; "
                "name a folder"
            )
        self._any_written = True
        path = self.path if self._is_file else self.path / f"{self._choose_name(document.id)}.txt"
        text = document.text.encode("utf-8", "replace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self.replace and path.exists():
                if path.is_file() and path.read_bytes() == text:
                    return  # a task of Ray may be repeated
                raise ConfigError(
                    f"--text-output is {self.path}, but {path} exists already; pass --overwrite, "
                    "or name another output"
                )
            path.write_bytes(text)
        except OSError as error:
            raise ConfigError(
                f"--text-output is {self.path}, which cannot be written ({error.strerror}); name "
                "another folder"
            ) from None

    def _choose_name(self, id: str) -> str:
        """A name that no other document has."""
        allowed = _NOT_IN_NAMES.sub("_", id).strip(".")[:_MAX_CHARACTERS]
        return self._names.choose(
            allowed.encode()[:_MAX_BYTES].decode(errors="ignore") or "document"
        )
