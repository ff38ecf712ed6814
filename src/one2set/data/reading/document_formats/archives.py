"""ZIP archives with XML inside, as DOCX, ODT and EPUB are: read in bounds.

What is unpacked is counted as it is read. zipfile never unpacks more of a file than the size that
the archive claims for it, so the claims are checked beforehand, too. Archives within an archive are
never opened. XML that declares entities is refused.
"""

import io
import zipfile
from types import TracebackType
from typing import Self
from xml.etree.ElementTree import Element, ParseError

from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError, missing_extra

_ENCRYPTED = 1  # the flag of a member
_AGAIN = "copy or download it again, or save it again in the program that made it"


class Archive:
    """The files of an archive, by name."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # a damaged directory can make zipfile fail in any way
            raise damaged(error) from None
        self._limits, self._read = limits, 0
        self.names = frozenset(self._zip.namelist())
        limits.check("files", len(self.names), "files inside")
        claimed = sum(info.file_size for info in self._zip.infolist())
        limits.check("expanded", claimed, "bytes when unpacked")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    def read(self, name: str) -> bytes:
        """The bytes of a file, or b"" if there is none."""
        if name not in self.names:
            return b""
        if self._zip.getinfo(name).flag_bits & _ENCRYPTED:
            raise DataError("is encrypted", fix="save it without a password")
        try:
            with self._zip.open(name) as file:
                data = file.read(self._limits.expanded - self._read + 1)
        except Exception as error:  # as above
            raise damaged(error) from None
        self._read += len(data)
        self._limits.check("expanded", self._read, "bytes when unpacked")
        return data

    def xml(self, name: str) -> Element:
        """The root of an XML file; an empty element if there is none."""
        data = self.read(name)
        return parse_xml(data) if data else Element("none")


def parse_xml(data: bytes) -> Element:
    """Parse XML without entities."""
    try:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import fromstring
    except ImportError:
        raise missing_extra("defusedxml", extra="documents", purpose="reading this file") from None
    try:
        root: Element = fromstring(data)
    except DefusedXmlException:
        raise DataError(
            "declares XML entities, which can fill the memory",
            fix="save it again in the program that made it",
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise damaged(error) from None
    return root


def damaged(error: object) -> DataError:
    """The error for a file that is not what its first bytes say."""
    return DataError(f"is damaged ({error})", fix=_AGAIN)


def too_deep() -> DataError:
    """The error for a file whose parts are nested too deeply."""
    return DataError("is nested too deeply", fix="check that it is the right file")
