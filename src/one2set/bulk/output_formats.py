"""The formats of output files: lines, compressed lines, or Parquet."""

import gzip
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import orjson

from one2set.atomic import atomic_file
from one2set.data.reading.remote import is_remote
from one2set.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["jsonl", "text", "parquet"]
_ROWS = 4096  # of a Parquet file in memory at once


def choose_format(name: str, wish: Format | None, *, like: str) -> Format:
    """Choose the format of an output by its name; a folder, whose name ends in /, gets that of the
    input. Fails if a required package is missing."""
    if is_remote(name):
        raise ConfigError(
            f"the output is {name}; output is written on this machine: name a local file or "
            "folder, and copy it when it is complete"
        )
    is_folder = name.endswith("/")
    named = "parquet" if (like if is_folder else name).endswith(".parquet") else "jsonl"
    chosen = wish or named
    if not is_folder and "parquet" in (chosen, named) and chosen != named:
        raise ConfigError(
            f"--format is {wish}, but the output is {name}; rename it, or leave out --format"
        )
    if chosen == "parquet":
        _pyarrow()
    if name.endswith(".zst"):
        _zstandard()
    return cast(Format, chosen)


def pack(lines: Path, path: Path, format: Format) -> None:
    """Convert a file of lines to its final format and name."""
    if format != "parquet" and path.suffix not in (".gz", ".zst"):
        lines.replace(path)
        return
    with lines.open("rb") as source, atomic_file(path) as target:
        if format == "parquet":
            _write_parquet(source, target)
        elif path.suffix == ".gz":
            # No time stamp: equal output has equal bytes.
            with gzip.GzipFile("", "wb", fileobj=target, mtime=0) as packed:
                shutil.copyfileobj(source, packed)
        else:
            _zstandard().ZstdCompressor(level=6).copy_stream(source, target)
    lines.unlink()


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
