"""DOCX and ODT: the visible main text, with its headings.

Page headers, footnotes, comments, deleted text, field codes and the addresses of links are not
read.
"""

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from one2set.data.reading.document_formats.archives import Archive
from one2set.data.reading.document_formats.blocks import LINE_BREAK, Block, Extract
from one2set.data.reading.document_formats.limits import Limits
from one2set.errors import DataError

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_MANIFEST = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}"
_CODE_STYLES = ("code", "listing", "preformatted", "source")


def read_docx(data: bytes, limits: Limits) -> Extract:
    """Read a file of Word and its relatives."""
    with Archive(data, limits) as archive:
        styles = _docx_styles(archive.xml("word/styles.xml"))
        root = archive.xml("word/document.xml")
        title = archive.xml("docProps/core.xml").findtext(_DC_TITLE) or ""
    _remove(root, {f"{_W}del", f"{_W}instrText", f"{_W}moveFrom", _FALLBACK})
    return _extract(title, _docx_paragraphs(root, styles))


def _docx_styles(root: Element) -> dict[str, str]:
    """Names by id; ids depend on the language of the program, names do not."""
    styles = {}
    for style in root.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        if name is not None:
            styles[style.get(f"{_W}styleId", "")] = name.get(f"{_W}val", "").lower()
    return styles


def _docx_paragraphs(root: Element, styles: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each paragraph with the name of its style. A paragraph within another one, in a text box,
    comes after it."""
    for paragraph in root.iter(f"{_W}p"):
        parts: list[str] = []
        style = ""
        waiting = list(reversed(paragraph))
        while waiting:
            element = waiting.pop()
            match element.tag.removeprefix(_W):
                case "p":
                    continue
                case "pStyle":
                    id = element.get(f"{_W}val", "")
                    style = styles.get(id, id.lower())
                case "t":
                    parts.append(element.text or "")
                case "tab":
                    parts.append(" ")
                case "br" | "cr":
                    parts.append(LINE_BREAK)
                case "noBreakHyphen":
                    parts.append("-")
            waiting += reversed(element)
        yield style, "".join(parts)


def read_odt(data: bytes, limits: Limits) -> Extract:
    """Read a text document of LibreOffice and its relatives."""
    with Archive(data, limits) as archive:
        manifest = archive.xml("META-INF/manifest.xml")
        if manifest.find(f".//{_MANIFEST}encryption-data") is not None:
            raise DataError("is encrypted", fix="save it without a password")
        root = archive.xml("content.xml")
        title = archive.xml("meta.xml").findtext(f".//{_DC_TITLE}") or ""
    not_read = ("note", "tracked-changes", "table-of-content", "bibliography", "user-index")
    _remove(root, {f"{_OFFICE}annotation", *(f"{_TEXT}{name}" for name in not_read)})
    return _extract(title, _odt_paragraphs(root))


def _odt_paragraphs(root: Element) -> Iterator[tuple[str, str]]:
    parents = {
        style.get(f"{_STYLE}name", ""): style.get(f"{_STYLE}parent-style-name", "")
        for style in root.iter(f"{_STYLE}style")
    }
    body = root.find(f"{_OFFICE}body")
    for element in () if body is None else body.iter():
        if element.tag not in (f"{_TEXT}h", f"{_TEXT}p"):
            continue
        id = element.get(f"{_TEXT}style-name", "")
        style = "heading" if element.tag == f"{_TEXT}h" else (parents.get(id) or id).lower()
        yield style.replace("_20_", " "), _odt_text(element)


def _odt_text(element: Element) -> str:
    """The text of a paragraph; frames within have paragraphs of their own."""
    parts = [element.text or ""]
    for child in element:
        if child.tag in (f"{_TEXT}s", f"{_TEXT}tab"):
            parts.append(" ")
        elif child.tag == f"{_TEXT}line-break":
            parts.append(LINE_BREAK)
        elif child.tag != f"{_DRAW}frame":
            parts.append(_odt_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _remove(root: Element, tags: set[str]) -> None:
    """Remove elements, but not the text that follows them."""
    for parent in list(root.iter()):
        kept: list[Element] = []
        texts = [[parent.text or ""]]  # before the first child that is kept, and after each
        for child in parent:
            if child.tag not in tags:
                kept.append(child)
                texts.append([])
            texts[-1].append(child.tail or "")
        if len(kept) < len(parent):  # not child by child: each would take time for all
            parent[:] = kept
            parent.text, *tails = map("".join, texts)
            for child, tail in zip(kept, tails, strict=True):
                child.tail = tail


def _extract(title: str, styled: Iterable[tuple[str, str]]) -> Extract:
    """The title is a paragraph in that style, or the property of the file."""
    blocks, titles = [], []
    for style, text in styled:
        if style == "title":
            titles.append(text)
        elif not any(name in style for name in _CODE_STYLES):
            blocks.append(Block(text, heading=style.startswith("heading")))
    return Extract(" ".join(titles) or title, blocks)
