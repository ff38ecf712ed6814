"""Readers: the documents of a file or folder, as a stream of `Document`.

    read("train.jsonl.zst")            one record per line
    read("kp20k_valid_src.txt")        a text pair, with kp20k_valid_trg.txt beside it
    read("paper.pdf")                  one document
    read("papers/")                    a folder of any of these

Documents are recognised by their content; tables of records by the file name, or by the content if
the name does not tell. Keyphrases and title are optional.
"""

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Literal

from one2set.data.document import Document
from one2set.data.reading.delimited import (
    find_delimiter,
    has_tagged_columns,
    read_csv,
    read_parquet,
    read_workbook,
)
from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.documents import KINDS, archive_kind, read_document, recognise
from one2set.data.reading.json_records import looks_like_json, read_json
from one2set.data.reading.locations import COMPRESSED
from one2set.data.reading.records import (
    Fields,
    default_id,
    make_document,
    parse_phrases,
    with_title,
)
from one2set.data.reading.references import EXTENSIONS as REFERENCES
from one2set.data.reading.references import read_bibtex, read_tagged, recognise_references
from one2set.data.reading.streams import (
    ErrorPolicy,
    label,
    open_stream,
    peek,
    printable,
    read_lines,
    read_text,
)
from one2set.data.specials import EOS, SPECIALS
from one2set.errors import DataError

Format = Literal["json", "pair", "csv", "tsv", "parquet", "bibtex", "tagged", "document", "text"]
EXTENSIONS: dict[str, Format] = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".txt": "text",
    ".text": "text",
    **REFERENCES,
    **dict.fromkeys(KINDS, "document"),
}
_ALLOWED = ", ".join(EXTENSIONS)
_DELIMITERS = {"tsv": "\t", "csv": ","}


def read(
    path: str | Path,
    *,
    fields: Fields = Fields(),  # noqa: B008  (frozen)
    errors: ErrorPolicy | None = None,
    titles: bool = False,
) -> Iterator[Document]:
    """Read the documents of a file or of all files in a folder, one by one.

    Records: JSON, CSV, TSV, Excel, Parquet, BibTeX, RIS, and the text pairs `x_src.txt`,
    `x_trg.txt`. One document per file: PDF, DOCX, ODT, EPUB, HTML, LaTeX, RTF, Markdown, plain
    text. Compressed with gzip or Zstandard or not. Documents are recognised by their content,
    records by the file name, or by the content if the name does not tell.

    Args:
        path: A file, a folder, a URL such as `s3://…`, or `-` for standard input.
        fields: The names of the fields that contain id, title, abstract and keyphrases.
        errors: What to do with records that cannot be used. Default: raise the first problem.
        titles: In plain text, take a short first line as the title.

    Returns:
        An iterator over documents, in the order of the file; files of a folder in the order of
        their names. `keyphrases` is None where a record has none.

    Raises:
        DataError: If the file cannot be read, has no documents, or has a record that cannot be
            used. Raised during iteration.

    Examples:
        >>> for document in read("papers.csv", fields=Fields(abstract=("summary",))):
        ...     print(document.id, document.title)
    """
    path, errors = str(path), errors or ErrorPolicy()
    skipped, any_read = errors.skipped, False
    for document in _documents(path, fields, errors):
        any_read = True
        yield with_title(document) if titles else document
    if not any_read and errors.skipped == skipped:
        errors.report("contains no documents", fix="check that it is the right file", path=path)


def _documents(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    if os.path.isdir(path):
        return _read_folder(path, fields, errors)
    match _format_of(path, fields, errors):
        case "json":
            return read_json(path, _peek_text(path), fields, errors)
        case "pair":
            return _read_pair(path, errors)
        case "csv" | "tsv" as table:
            named = _named_format(path) is not None
            found = find_delimiter(_peek_text(path), fields, named=named)
            delimiter = found or _DELIMITERS[table]
            return read_csv(path, delimiter, fields, errors)
        case "parquet":
            return read_parquet(path, fields, errors)
        case "bibtex":
            return read_bibtex(path, fields, errors)
        case "tagged":
            return read_tagged(path, fields, errors)
        case "document":
            return _read_document(path, fields, errors)
        case "text":
            return _read_text(path, errors)
        case None:
            return iter(())


def _format_of(path: str, fields: Fields, errors: ErrorPolicy) -> Format | None:
    """The format of documents by their first bytes; of others by the file name, or by the first
    bytes if the name does not tell. None for a file that is reported and skipped."""
    if _is_half(path, "trg"):
        errors.report(
            "contains only keyphrases, the second half of a text pair",
            fix=f"pass the first half, {_other_half(path, 'trg', 'src')}",
            path=path,
        )
        return None
    if _is_half(path, "src"):
        return "pair"
    start, named = peek(path), _named_format(path)
    if _is_document(start, path, named):
        return "document"
    text = _peek_text(path)
    if named in ("text", None) and (format := recognise_references(text)) is not None:
        return format
    if named == "text" and has_tagged_columns(text):
        return "tsv"
    if named is not None:
        return named
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in start:
        errors.report("is binary, not text", fix=f"expected text or one of {_ALLOWED}", path=path)
        return None
    if looks_like_json(text):
        return "json"
    if find_delimiter(text, fields, named=False) is not None:
        return "csv"
    return "pair" if SPECIALS[EOS] in text else "text"


def _peek_text(path: str) -> str:
    return peek(path).decode("utf-8", "replace").removeprefix("\ufeff")


def _is_document(start: bytes, path: str, named: Format | None) -> bool:
    """Whether this is a document. In a file of records a line may look like LaTeX."""
    kind = recognise(start, _uncompressed(path))
    return kind is not None and (kind != "latex" or named in ("document", "text", None))


def _named_format(path: str) -> Format | None:
    """The format by the extension, without that of the compression."""
    return EXTENSIONS.get(Path(_uncompressed(path)).suffix.lower())


def _uncompressed(path: str) -> str:
    for extension in COMPRESSED:
        path = path.removesuffix(extension)
    return path


def _is_half(path: str, half: str) -> bool:
    """Whether this is src.txt or x_src.txt (trg.txt, x_trg.txt), compressed or not."""
    stem = Path(path).name.split(".")[0]
    named = stem == half or stem.endswith(f"_{half}")
    return named and _named_format(path) in ("text", None)


def _other_half(path: str, this: str, other: str) -> str:
    """x_src.txt.gz ↔ x_trg.txt.gz, or how else the other one is compressed."""
    compression = next((ending for ending in COMPRESSED if path.endswith(ending)), "")
    folder, name = os.path.split(path.removesuffix(compression))
    stem, dot, extension = name.partition(".")
    plain = os.path.join(folder, stem.removesuffix(this) + other + dot + extension)
    names = [plain + ending for ending in (compression, "", *COMPRESSED)]
    return next(filter(os.path.exists, names), names[0])


def _read_folder(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Every file below a folder, in the order of its name; text files are named by their path."""

    def report(file: str, reason: str | None) -> None:
        errors.report(f"cannot be read ({reason})", fix="check its permissions", path=file)

    for folder, folders, names in os.walk(
        path, onerror=lambda error: report(error.filename, error.strerror)
    ):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(folder, name)
            second_half = _is_half(name, "trg") and os.path.exists(_other_half(file, "trg", "src"))
            if name.startswith(".") or second_half:
                continue
            if (reason := _why_unreadable(file)) is not None:
                report(file, reason)
            elif _named_format(name) or recognise(peek(file), name):
                for document in read(file, fields=fields, errors=errors):
                    plain = document.id == label(file)
                    place = printable(os.path.relpath(file, path))
                    yield replace(document, id=place) if plain else document
            else:
                errors.report_unknown_format(
                    f"the format {Path(name).suffix or 'without extension'!r} is not known",
                    fix=f"expected one of {_ALLOWED}; move the file out of the folder",
                    path=file,
                )


def _why_unreadable(file: str) -> str | None:
    try:
        os.stat(file)
    except OSError as error:
        return f"it is a link: {error.strerror}" if os.path.islink(file) else error.strerror
    return None if os.access(file, os.R_OK) else os.strerror(errno.EACCES)


def _read_document(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """A document, or the rows of an Excel file."""
    limits = Limits()
    data, skipped = b"", errors.skipped
    with open_stream(path, errors) as stream:
        data = stream.read(limits.bytes + 1)
    if errors.skipped > skipped:
        return  # damaged compressed data, which is reported
    if len(data) > limits.bytes:  # its size is not known: the rest is not read
        what = f"is larger than {limits.bytes:,} bytes, the most that is read of a document"
        errors.report(what, fix="split it into parts", path=path)
        return
    name = _uncompressed(path)
    try:
        if recognise(data, name) == "archive" and archive_kind(data, limits) == "xlsx":
            documents = read_workbook(data, path, fields, errors)
        else:
            documents = iter([replace(read_document(data, name, limits=limits), id=label(path))])
    except DataError as error:
        errors.report(error.what, fix=error.fix, path=path, line=error.line)
        return
    yield from documents


def _read_text(path: str, errors: ErrorPolicy) -> Iterator[Document]:
    """A plain text file is one document."""
    text = read_text(path, errors)
    if text is not None and text.strip():
        yield make_document(label(path), title="", abstract=text, keyphrases=None)


def _read_pair(path: str, errors: ErrorPolicy) -> Iterator[Document]:
    """`title <eos> abstract` per line, and in the other file `a;b;<peos>;c`. Without the other file
    the documents have no keyphrases. Such text is always tokenised."""
    target_path = _other_half(path, "src", "trg")
    paired = _is_half(path, "src") and os.path.exists(target_path)
    targets = read_lines(target_path, errors) if paired else repeat((0, None))
    sources = read_lines(path, errors)
    pairs = zip_longest(sources, targets) if paired else zip(sources, targets, strict=False)
    for source, target in pairs:
        if source is None or target is None:
            longer, shorter = (path, target_path) if target is None else (target_path, path)
            errors.report(
                f"is missing; {longer} has this line",
                fix="make both files of the pair hold one line for each document",
                path=shorter,
                line=(source or target)[0],
            )
            continue
        (number, line), phrases = source, target[1]
        if line is None or (paired and phrases is None):
            continue  # a line that is not UTF-8: reported and skipped
        parts = line.split(SPECIALS[EOS])
        if len(parts) > 2:
            errors.report(
                f"contains {SPECIALS[EOS]} {len(parts) - 1} times; expected `title <eos> abstract`",
                fix="correct the line",
                path=path,
                line=number,
            )
            continue
        title, abstract = ("", parts[0]) if len(parts) == 1 else parts
        yield Document(
            id=default_id(path, number),
            title=title.strip(),
            abstract=abstract.strip(),
            keyphrases=None if phrases is None else parse_phrases(phrases.split(";")),
            tokenised=True,
        )
