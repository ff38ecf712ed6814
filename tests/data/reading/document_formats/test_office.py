"""DOCX and ODT: titles, and what is not read."""

from copy import deepcopy
from xml.etree.ElementTree import Element, tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.document_formats.office import _remove, read_docx, read_odt
from one2set.data.reading.documents import read_document
from one2set.errors import DataError
from tests.data.document_samples import TITLE, docx, odt, zipped

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
CORE = '<c xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Wool</dc:title></c>'


def document(body: str) -> bytes:
    return zipped({"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>"})


def test_a_title_on_the_page_is_better_than_one_in_the_properties() -> None:
    assert read_docx(docx(**{"docProps/core.xml": CORE}), Limits()).title == TITLE
    untitled = {"word/document.xml": f"<w:document {W}/>", "docProps/core.xml": CORE}
    assert read_docx(zipped(untitled), Limits()).title == "Wool"
    assert read_odt(odt(**{"meta.xml": CORE}), Limits()).title == TITLE


def test_styles_are_known_by_their_name_or_else_by_their_id() -> None:
    styled = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>A</w:t></w:r></w:p>'
    result = [block for block in read_docx(document(styled), Limits()).blocks if block.text]
    assert result == [("A", True)]


def test_tabs_separate_words_and_breaks_separate_lines_and_runs_do_not() -> None:
    runs = "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r><w:r><w:t>d</w:t></w:r>"
    assert read_document(document(f"<w:p>{runs}</w:p>"), "a.docx").text == "a b\n\ncd"
    text = "<text:p>a<text:tab/>b<text:line-break/>c<text:span>d</text:span></text:p>"
    body = f'<a xmlns:text="{TEXT}" xmlns:o="{OFFICE}"><o:body>{text}</o:body></a>'
    assert read_document(zipped({"content.xml": body}), "a.odt").text == "a b\n\ncd"


def test_the_text_of_a_text_box_comes_after_its_paragraph() -> None:
    def paragraph(style: str, *runs: str) -> str:
        styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>'
        return f"<w:p>{styled}{''.join(f'<w:r>{run}</w:r>' for run in runs)}</w:p>"

    box = paragraph("Code", "<w:t>c</w:t>") + paragraph("Heading1", "<w:t>d</w:t>")
    box = f"<w:pict><w:txbxContent>{box}</w:txbxContent></w:pict>"
    outer = paragraph("Body", "<w:t>a</w:t>", box, "<w:t>b</w:t>") + paragraph(
        "Body", "<w:t>e</w:t>"
    )
    assert read_docx(document(outer), Limits()).blocks == [("ab", False), ("d", True), ("e", False)]


def test_text_boxes_within_text_boxes_do_not_take_forever() -> None:
    deep = "<w:p><w:t>a</w:t>" * 30_000 + "</w:p>" * 30_000
    assert len(read_docx(document(deep), Limits()).blocks) == 30_000


def test_an_encrypted_odt_is_reported() -> None:
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        "<m:file-entry><m:encryption-data/></m:file-entry></m:manifest>"
    )
    with pytest.raises(DataError, match="is encrypted; save it without a password"):
        read_odt(odt(**{"META-INF/manifest.xml": manifest}), Limits())


def test_deep_files_are_reported() -> None:
    deep = f'<a xmlns:text="{TEXT}" xmlns:o="{OFFICE}"><o:body><text:p>' + "<text:span>" * 20_000
    deep += "x" + "</text:span>" * 20_000 + "</text:p></o:body></a>"
    with pytest.raises(DataError, match="is nested too deeply"):
        read_document(zipped({"content.xml": deep}), "a.odt")


def remove_one_by_one(root: Element, tags: set[str]) -> None:
    for parent in list(root.iter()):
        before: Element | None = None
        for child in list(parent):
            if child.tag not in tags:
                before = child
                continue
            if before is None:
                parent.text = (parent.text or "") + (child.tail or "")
            else:
                before.tail = (before.tail or "") + (child.tail or "")
            parent.remove(child)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> Element:
    root = Element(draw(st.sampled_from("abcd")))
    texts = st.none() | st.text("xyz ", max_size=2)
    root.text, root.tail = draw(texts), draw(texts)
    root.extend(draw(st.lists(trees(depth - 1), max_size=4)) if depth else [])
    return root


@given(trees())
def test_elements_are_removed_without_the_text_that_follows(root: Element) -> None:
    expected = deepcopy(root)
    remove_one_by_one(expected, {"a", "b"})
    _remove(root, {"a", "b"})
    assert tostring(root) == tostring(expected)
