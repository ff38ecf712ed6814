"""How much of a document is read, so that no file can fill the memory."""

from dataclasses import dataclass

from one2set.errors import DataError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may hold at most.

    Attributes:
        bytes: Of the file.
        expanded: Bytes of all that is unpacked from an archive such as DOCX, ODT and EPUB.
        files: Of an archive.
        pages: Of a PDF.
        characters: Of the text that is found.
    """

    bytes: int = 100 << 20
    expanded: int = 400 << 20
    files: int = 20_000
    pages: int = 5_000
    characters: int = 20_000_000

    def check(self, name: str, size: int, unit: str) -> None:
        """Refuse a size above the limit of that name."""
        allowed: int = getattr(self, name)
        if size > allowed:
            raise DataError(
                f"has {size:,} {unit}; at most {allowed:,} are read", fix="split it into parts"
            )
