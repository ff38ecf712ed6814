"""EPUB: the chapters of a book, in its order. It is a ZIP archive of HTML."""

from posixpath import dirname, join, normpath
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from one2set.data.reading.document_formats.archives import Archive
from one2set.data.reading.document_formats.blocks import Block, Extract
from one2set.data.reading.document_formats.html import read_html
from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_ENCRYPTED_PART = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def read_epub(data: bytes, limits: Limits) -> Extract:
    """Read a book."""
    with Archive(data, limits) as archive:
        place = archive.xml("META-INF/container.xml").find(f".//{_CONTAINER}rootfile")
        package = "" if place is None else place.get("full-path", "")
        root = archive.xml(package)
        locked = {
            part.get("URI", "")
            for part in archive.xml("META-INF/encryption.xml").iter(_ENCRYPTED_PART)
        }
        blocks: list[Block] = []
        for name in _chapters(root, dirname(package)):
            if name in locked:
                raise DataError(
                    "is encrypted (DRM)", fix="only books without copy protection can be read"
                )
            blocks += read_html(archive.read(name)).blocks
    return Extract(root.findtext(f".//{_DC_TITLE}") or "", blocks)


def _chapters(root: Element, folder: str) -> list[str]:
    """The files of the spine, each once, without the table of contents."""
    files = {
        item.get("id"): normpath(join(folder, unquote(item.get("href", ""))))
        for item in root.iter(f"{_OPF}item")
        if "nav" not in item.get("properties", "").split()
    }
    spine = (item.get("idref") for item in root.iter(f"{_OPF}itemref"))
    return list(dict.fromkeys(files[id] for id in spine if id in files))
