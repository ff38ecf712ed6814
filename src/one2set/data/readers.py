"""Readers: any file that holds documents, as a stream of `Document`.

    read("train.jsonl.zst")            one record a line
    read("kp20k_valid_src.txt")        the field's text pair, with kp20k_valid_trg.txt beside it
    read("papers/")                    a folder of any of these

The format is known by the file's name, where that is silent by its content. A record without
keyphrases is a document to predict for; a record without title is allowed.
"""

import csv
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat, zip_longest
from pathlib import Path
from typing import IO, Literal, cast

import orjson

from one2set.data.document import Document
from one2set.data.records import Fields, documents_of, make_document, phrases_of
from one2set.data.specials import EOS, SPECIALS
from one2set.data.streams import COMPRESSED, STDIN, Intake, decode, open_stream, read_lines
from one2set.errors import DataError, missing_extra

Format = Literal["jsonl", "pair", "csv", "tsv", "parquet", "text"]
_EXTENSIONS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
}
_ALLOWED = ", ".join(_EXTENSIONS)


def read(
    path: str | Path,
    *,
    format: Format | None = None,
    fields: Fields = Fields(),  # noqa: B008  (frozen)
    intake: Intake | None = None,
) -> Iterator[Document]:
    """The documents of a file, a folder, or `-` for standard input."""
    path, intake = str(path), intake or Intake()
    if path != STDIN and os.path.isdir(path):
        return _read_folder(path, fields, intake)
    match format or _format_of(path, intake):
        case "jsonl":
            return _read_jsonl(path, fields, intake)
        case "pair":
            return _read_pair(path, intake)
        case "csv":
            return _read_csv(path, ",", fields, intake)
        case "tsv":
            return _read_csv(path, "\t", fields, intake)
        case "parquet":
            return _read_parquet(path, fields, intake)
        case "text":
            return _read_text(path, intake)


def _format_of(path: str, intake: Intake) -> Format:
    """The format by the file's name; by its first bytes where the name says nothing."""
    if _is_half(path, "trg"):
        raise DataError(
            "holds only keyphrases, the second half of a text pair",
            fix=f"pass the first half, {_other_half(path, 'trg', 'src')}",
            path=path,
        )
    if _is_half(path, "src"):
        return "pair"
    if (named := _named_format(path)) is not None:
        return named
    with open_stream(path, intake) as stream:
        start: bytes = stream.peek(512)  # type: ignore[attr-defined]
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in start:
        raise DataError(
            "is binary, not text", fix=f"expected one of {_ALLOWED}, or pass --format", path=path
        )
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    return "pair" if SPECIALS[EOS].encode() in start else "text"


def _named_format(path: str) -> Format | None:
    """What the file's extension says, behind that of its compression."""
    for extension in COMPRESSED:
        path = path.removesuffix(extension)
    return _EXTENSIONS.get(Path(path).suffix.lower())


def _is_half(path: str, half: str) -> bool:
    """Whether this is src.txt or x_src.txt (trg.txt, x_trg.txt), whatever follows."""
    stem = Path(path).name.split(".")[0]
    return stem == half or stem.endswith(f"_{half}")


def _other_half(path: str, this: str, other: str) -> str:
    """x_src.txt.gz ↔ x_trg.txt.gz"""
    folder, name = os.path.split(path)
    stem, dot, extension = name.partition(".")
    return os.path.join(folder, stem.removesuffix(this) + other + dot + extension)


def _read_folder(path: str, fields: Fields, intake: Intake) -> Iterator[Document]:
    """Every file below a folder, in the order of its name; text files are named by their path."""
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or _is_half(name, "trg"):
                continue
            if _named_format(name):
                for document in read(file, fields=fields, intake=intake):
                    plain = document.id == file.name
                    yield replace(document, id=str(file.relative_to(path))) if plain else document
            else:
                intake.met(
                    f"the format {file.suffix or 'without extension'!r} is not known",
                    fix=f"expected one of {_ALLOWED}: move it away",
                    path=str(file),
                )


def _read_text(path: str, intake: Intake) -> Iterator[Document]:
    """A plain text file is one document."""
    with open_stream(path, intake) as stream:
        text = decode(stream.read(), path, None, intake)
    if text is not None:
        name = "stdin" if path == STDIN else Path(path).name
        yield make_document(name, title="", abstract=text, keyphrases=None)


def _read_jsonl(path: str, fields: Fields, intake: Intake) -> Iterator[Document]:
    for number, line in read_lines(path, intake):
        if line is None or not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            intake.met(
                f"is not JSON ({error})", fix="write one object a line", path=path, line=number
            )
            continue
        if not isinstance(record, dict):
            fix = f"write one object a line (for an array: jq -c '.[]' {path})"
            intake.met(f"is a JSON {type(record).__name__}", fix=fix, path=path, line=number)
            continue
        yield from documents_of(record, fields=fields, intake=intake, path=path, line=number)


def _read_pair(path: str, intake: Intake) -> Iterator[Document]:
    """`title <eos> abstract` a line, and in the other file `a;b;<peos>;c`. Without the other file
    these are documents to predict for. Such text is always in the field's form."""
    target_path = "" if path == STDIN else _other_half(path, "src", "trg")
    paired = _is_half(path, "src") and os.path.exists(target_path)
    name = "stdin" if path == STDIN else Path(path).name.split(".")[0]
    sources = read_lines(path, intake)
    targets = read_lines(target_path, intake) if paired else repeat((0, None))
    pairs = zip_longest(sources, targets) if paired else zip(sources, targets, strict=False)
    for source, target in pairs:
        if source is None or target is None:
            longer, shorter = (path, target_path) if target is None else (target_path, path)
            raise DataError(
                f"has no line {(source or target)[0]}, which {longer} has",
                fix="make both files of the pair hold one line for each document",
                path=shorter,
            )
        (number, line), phrases = source, target[1]
        if line is None or (paired and phrases is None):
            continue  # a line that is not UTF-8: met and skipped
        parts = line.split(SPECIALS[EOS])
        if len(parts) > 2:
            intake.met(
                f"holds {len(parts) - 1} times {SPECIALS[EOS]}; expected `title <eos> abstract`",
                fix="mend the line",
                path=path,
                line=number,
            )
            continue
        title, abstract = ("", parts[0]) if len(parts) == 1 else parts
        yield Document(
            id=f"{name}-{number}",
            title=title.strip(),
            abstract=abstract.strip(),
            keyphrases=None if phrases is None else phrases_of(phrases),
            tokenised=True,
        )


def _read_csv(path: str, delimiter: str, fields: Fields, intake: Intake) -> Iterator[Document]:
    csv.field_size_limit(sys.maxsize)
    lines = (f"{line}\n" for _, line in read_lines(path, intake) if line is not None)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header = next(rows, None)
    if header is None:
        raise DataError("is empty; expected a header row", fix="name its columns", path=path)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            intake.met(
                f"is not {delimiter!r}-separated ({error})",
                fix="quote fields that hold quotes or line ends",
                path=path,
                line=rows.line_num,
            )
            continue
        if not row:
            continue
        if len(row) != len(header):
            intake.met(
                f"has {len(row)} columns; the header names {len(header)}",
                fix="mend the row",
                path=path,
                line=rows.line_num,
            )
            continue
        record = dict(zip(header, row, strict=True))
        yield from documents_of(record, fields=fields, intake=intake, path=path, line=rows.line_num)


def _read_parquet(path: str, fields: Fields, intake: Intake) -> Iterator[Document]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", extra="data", purpose="reading Parquet") from None
    with open_stream(path, intake) as stream:
        try:
            table = pq.ParquetFile(_seekable(stream))
            asked = fields.names()
            columns = [name for name in table.schema_arrow.names if name in asked]
            number = 0
            for batch in table.iter_batches(batch_size=1024, columns=columns):
                for record in batch.to_pylist():
                    number += 1
                    yield from documents_of(
                        record, fields=fields, intake=intake, path=path, line=number
                    )
        except pa.ArrowInvalid as error:
            raise DataError(f"is not Parquet ({error})", fix="check the file", path=path) from None


def _seekable(stream: io.BufferedIOBase) -> IO[bytes]:
    """Parquet is read from its end: what cannot seek is spooled to disk, not to memory."""
    if isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable():
        return cast(IO[bytes], stream)
    spooled = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the reader)
    shutil.copyfileobj(stream, spooled)
    spooled.seek(0)
    return spooled
