"""PDF: the text layer of its pages.

Lines come in the order in which the file draws them, which is reading order in nearly all files,
also in two columns. Lines that return at the edges of pages are page headers, and are left out
together with page numbers.
"""

import io
import logging
import re
from collections import Counter
from collections.abc import Sequence
from math import hypot
from typing import TYPE_CHECKING, Any

from one2set.data.reading.document_formats.archives import damaged
from one2set.data.reading.document_formats.blocks import Extract, clean, paragraphs
from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError, missing_extra

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_EDGE = 2  # lines at either end of a page that may be a page header or a page number
_PAGE_NUMBER = re.compile(
    r"(?:page\s*)?[-–—]?\s*\d{1,4}\s*[-–—]?(?:\s*(?:of|/)\s*\d{1,4})?|[ivxlc]{1,7}", re.IGNORECASE
)
_NO_TITLE = re.compile(
    r"microsoft word|untitled|^title$|\.(?:docx?|tex|dvi|indd|pdf|rtf|odt|qxd)$", re.IGNORECASE
)
_LEADER = re.compile(r"(?:\. ?){6}")  # the dots of a table of contents or an index
_MAX_TITLE = 300  # characters


def read_pdf(data: bytes, limits: Limits) -> Extract:
    """Read the pages of a PDF."""
    reader = _open(data)
    limits.check("pages", len(reader.pages), "pages")
    pages: list[list[str]] = []
    largest, size = "", 0
    for number, page in enumerate(reader.pages, 1):
        text, heading = _read_page(page, number)
        largest = largest if pages else heading
        size += len(text)
        limits.check("characters", size, "characters of text")
        lines = map(str.strip, text.splitlines())
        pages.append([line for line in lines if line and not _LEADER.search(line)])
    if not any(char.isalnum() for page in pages for line in page for char in line):
        raise DataError(
            "has no text on its pages: it is a scan",
            fix="run OCR on it first (for example: ocrmypdf in.pdf out.pdf)",
        )
    text_lines = [line for page in _without_edges(pages) for line in page]
    title = _choose_title(reader, largest, text_lines)
    return Extract(title, list(paragraphs(text_lines)), between="\n")


def _open(data: bytes) -> "PdfReader":
    try:
        from pypdf import PasswordType, PdfReader
        from pypdf.errors import DependencyError
    except ImportError:
        raise missing_extra("pypdf", extra="documents", purpose="reading PDF") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # of small faults that it mends
    try:
        reader = PdfReader(io.BytesIO(data))
        # Files that only forbid printing or copying open with an empty password.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise DataError(
                "is encrypted",
                fix="save it without a password (for example: qpdf --password=… --decrypt)",
            )
        len(reader.pages)
    except DependencyError:
        raise missing_extra("cryptography", extra="documents", purpose="this PDF") from None
    except DataError:
        raise
    except Exception as error:  # a damaged file can make the parser fail in any way
        raise damaged(error) from None
    return reader


def _read_page(page: "PageObject", number: int) -> tuple[str, str]:
    """The text of a page, and its part in the largest type."""
    parts: list[tuple[float, str]] = []

    def visit(text: str, outer: Any, matrix: Any, font: Any, size: Any) -> None:
        if text.strip():
            scale = hypot(matrix[0], matrix[1]) * hypot(outer[0], outer[1])
            parts.append((round(float(size or 0) * scale, 1), text))

    try:
        text = page.extract_text(visitor_text=visit if number == 1 else None)
    except Exception as error:  # as above
        raise damaged(f"page {number}: {error}") from None
    top = max((size for size, _ in parts), default=0.0)
    largest = " ".join(part for size, part in parts if size == top)
    return text, largest if 2 * len(largest) < len(text) else ""  # body text is no title


def _choose_title(reader: "PdfReader", largest: str, lines: Sequence[str]) -> str:
    """The title in the properties if it is printed on the first page; else the text in the
    largest type; else the properties, unless a program wrote the name of a file there."""
    try:
        named = clean((reader.metadata and reader.metadata.title) or "")
    except Exception:  # damaged properties are no reason to refuse the text
        named = ""
    if _NO_TITLE.search(named) or len(named) > _MAX_TITLE:
        named = ""
    beginning = "".join("".join(lines[:40]).lower().split())
    largest = clean(largest)
    if named and "".join(named.lower().split()) in beginning:
        return named
    if 3 <= len(largest) <= _MAX_TITLE:  # shorter ones are initials
        return largest
    return named


def _without_edges(pages: Sequence[list[str]]) -> list[list[str]]:
    """Pages without page headers and page numbers."""
    seen = Counter(shape for page in pages for shape in {_shape(line) for line in _edges(page)})
    often = max(2, len(pages) // 4)
    running = {shape for shape, count in seen.items() if count > often}
    return [_trim(page, running) for page in pages]


def _edges(page: list[str]) -> list[str]:
    return page[:_EDGE] + page[-_EDGE:]


def _shape(line: str) -> str:
    """A line with any number: page headers count pages and chapters."""
    return re.sub(r"\d+", "0", line.lower())


def _trim(page: list[str], running: set[str]) -> list[str]:
    def is_edge(line: str) -> bool:
        return _shape(line) in running or _PAGE_NUMBER.fullmatch(line) is not None

    start, end = 0, len(page)
    while start < end and start < _EDGE and is_edge(page[start]):
        start += 1
    while end > start and end > len(page) - _EDGE and is_edge(page[end - 1]):
        end -= 1
    return page[start:end]
