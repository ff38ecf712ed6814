"""RTF: its text without control words, page headers, footnotes and addresses of links."""

import re

from one2set.data.reading.document_formats.archives import damaged
from one2set.data.reading.document_formats.blocks import Block, Extract, is_section
from one2set.errors import missing_extra

_TITLE = re.compile(r"\{\\info\b.{0,2000}?\{\\title ([^{}]{0,500})\}", re.DOTALL)


def read_rtf(data: bytes) -> Extract:
    """Read a document in Rich Text Format."""
    source = data.decode("cp1252", "replace")
    title = _TITLE.search(source)
    named = _to_text(f"{{\\rtf1 {title.group(1)}}}") if title else ""
    lines = _to_text(source).split("\n")
    return Extract(named, [Block(line, heading=is_section(line)) for line in lines])


def _to_text(source: str) -> str:
    try:
        from striprtf.striprtf import rtf_to_text
    except ImportError:
        raise missing_extra("striprtf", extra="documents", purpose="reading RTF") from None
    # A line end within a link's instruction keeps the library from writing its address as text.
    source = source.replace("\\fldinst", "\\fldinst\n")
    try:
        text: str = rtf_to_text(source, errors="ignore")  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the parser stumbles over
        raise damaged(error) from None
    return text
