"""Documents as people have them: PDF, DOCX, ODT, HTML, EPUB, Markdown, LaTeX, RTF, plain text.

    read_document(data, "paper.pdf")

A file is one document. Its title is found where it has one; the rest is prose, without page
headers, references, code, tags and addresses. Spans of keyphrases refer to `Document.text`.
"""

import codecs
import re
from pathlib import Path
from typing import Literal

from one2set.data.document import Document
from one2set.data.reading.document_formats.archives import Archive, too_deep
from one2set.data.reading.document_formats.blocks import Extract, compose
from one2set.data.reading.document_formats.encodings import decode_declared
from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.records import make_document
from one2set.data.reading.streams import ErrorPolicy, decode, label
from one2set.errors import DataError

Kind = Literal["pdf", "docx", "odt", "epub", "html", "markdown", "latex", "rtf", "xlsx"]
# The kind of a document by its extension, unless its content is of another kind.
KINDS: dict[str, Kind] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".odt": "odt",
    ".epub": "epub",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".tex": "latex",
    ".latex": "latex",
    ".rtf": "rtf",
    ".xlsx": "xlsx",
}
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What a file of this kind has at its beginning. Of a PDF, mail programs may write something before.
_SIGNATURES: dict[Kind, bytes] = {
    "pdf": b"%PDF-",
    "docx": _ZIP,
    "odt": _ZIP,
    "epub": _ZIP,
    "xlsx": _ZIP,
}
_SHOWN = 16  # bytes, in an error
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_LATEX = re.compile(rb"^\s*\\(?:documentclass|documentstyle|begin\s*\{document\})", re.MULTILINE)
_MARKDOWN = re.compile(rb"\A\s*#{1,2} \S|^```|\]\(https?://", re.MULTILINE)
# The file of an archive by which its kind is recognised.
_INSIDE: dict[str, Kind] = {
    "word/document.xml": "docx",
    "xl/workbook.xml": "xlsx",
    "content.xml": "odt",
    "META-INF/container.xml": "epub",
}
# Files of records, which `readers` reads.
_RECORDS = (".bib", ".ris", ".nbib", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")
_FORMATS = "PDF, DOCX, ODT, EPUB, HTML, Markdown, LaTeX, RTF or plain text"


def recognise(data: bytes, name: str) -> Kind | Literal["archive"] | None:
    """Recognise a document by its first bytes, or by its name where they do not tell.

    Returns:
        Its kind; "archive" for a ZIP archive, whose kind is known when it is read; None for what
        is no document of these kinds, such as plain text.
    """
    start = data[:4096].removeprefix(b"\xef\xbb\xbf")
    ending = Path(name).suffix.lower()
    if start.lstrip().startswith(b"%PDF-"):
        return "pdf"
    if start.startswith((_ZIP, _OLE)):
        return "archive"
    if start.startswith(b"{\\rtf"):
        return "rtf"
    if _HTML.match(start):
        return "html"
    if _LATEX.search(start):
        return "latex"
    if not ending and _MARKDOWN.search(start):
        return "markdown"
    return KINDS.get(ending)


def read_document(data: bytes, name: str, *, limits: Limits = Limits()) -> Document:  # noqa: B008
    """Read one document.

    Args:
        data: Its bytes.
        name: The name of its file, which becomes its id. It matters only where the bytes do not
            tell the format: `notes.md` is Markdown, `notes.txt` is plain text.
        limits: What it may hold at most.

    Raises:
        DataError: If it is encrypted, scanned, damaged, too large, of another format, or without
            text. The message says which, and what to do.
        ConfigError: If the extra `[documents]` is needed and not installed.
    """
    try:
        title, text = _extract(data, name, limits)
        limits.check("characters", len(text), "characters of text")
        if not any(map(str.isalnum, title + text)):
            raise DataError("contains no text", fix="check that it is the right file")
    except DataError as error:
        raise DataError(error.what, fix=error.fix, path=name) from None
    return make_document(label(name), title=title, abstract=text, keyphrases=None)


def archive_kind(data: bytes, limits: Limits = Limits()) -> Kind:  # noqa: B008
    """The kind of a ZIP archive; DataError if it is none of ours."""
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DataError("is encrypted", fix="save it without a password")
        raise DataError("was saved by an old Office program", fix="save it as .docx, .xlsx or PDF")
    with Archive(data, limits) as archive:
        for inside, kind in _INSIDE.items():
            if inside in archive.names:
                return kind
        if "ppt/presentation.xml" in archive.names:
            raise DataError("is a PowerPoint presentation", fix="export it as PDF")
    raise DataError("is an archive without a document", fix="unpack it, and pass the folder")


def _extract(data: bytes, name: str, limits: Limits) -> tuple[str, str]:
    """The title and the text."""
    limits.check("bytes", len(data), "bytes")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", "replace").encode()
    kind = recognise(data, name)
    if kind == "archive":
        kind = archive_kind(data, limits)
    if kind is None and name.lower().endswith(_RECORDS):
        raise _records_error(name)
    if kind is None or not data.strip():
        return "", _plain_text(data, name)
    signature = _SIGNATURES.get(kind, b"")
    if signature not in data:  # only its name says that it is of this kind
        raise DataError(
            f"is not {kind.upper()}: it begins with {data[:_SHOWN]!r}, not with {signature!r}",
            fix="if it is text, rename it to .txt; otherwise save or download it again",
        )
    try:
        return compose(_read(kind, data, name, limits))
    except RecursionError:
        raise too_deep() from None


def _read(kind: Kind, data: bytes, name: str, limits: Limits) -> Extract:
    match kind:
        case "pdf":
            from one2set.data.reading.document_formats.pdf import read_pdf

            return read_pdf(data, limits)
        case "docx":
            from one2set.data.reading.document_formats.office import read_docx

            return read_docx(data, limits)
        case "odt":
            from one2set.data.reading.document_formats.office import read_odt

            return read_odt(data, limits)
        case "epub":
            from one2set.data.reading.document_formats.epub import read_epub

            return read_epub(data, limits)
        case "html":
            from one2set.data.reading.document_formats.html import read_html

            return read_html(data)
        case "markdown":
            from one2set.data.reading.document_formats.markdown import read_markdown

            return read_markdown(_plain_text(data, name))
        case "latex":
            from one2set.data.reading.document_formats.latex import read_latex

            return read_latex(decode_declared(data))
        case "rtf":
            from one2set.data.reading.document_formats.rtf import read_rtf

            return read_rtf(data)
        case "xlsx":
            raise _records_error(name)


def _records_error(name: str) -> DataError:
    fix = f"use the command line, one2set generate {name}; expected here: {_FORMATS}"
    return DataError("has records, not one document", fix=fix)


def _plain_text(data: bytes, name: str) -> str:
    """Strict UTF-8."""
    text = decode(data, name, None, ErrorPolicy())
    assert text is not None  # this policy raises
    return text
