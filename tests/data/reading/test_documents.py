"""The same paper is read from every format, and unreadable files are reported."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.data.reading.document_formats.latex import _load_converter
from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.documents import read_document, recognise
from one2set.data.reading.readers import EXTENSIONS, read
from one2set.errors import ConfigError, DataError
from tests.data.document_samples import (
    EXPECTED,
    SAMPLES,
    TITLE,
    UNREAD,
    docx,
    epub,
    html,
    latex,
    markdown,
    odt,
    pdf,
    rtf,
    zipped,
)
from tests.data.formats import COMPRESSIONS, write

SAMPLE = pytest.mark.parametrize("name", SAMPLES)
RECORDS = [ending for ending, kind in EXTENSIONS.items() if kind not in ("document", "text")]


def blocks(document: Document) -> list[str]:
    """The abstract, which has a line break in HTML, and the blocks after it."""
    lines = re.split(r"\n+", document.abstract)
    return [" ".join(lines[:-4]), *lines[-4:]]


@SAMPLE
def test_the_same_paper_out_of_every_format(name: str) -> None:
    document = read_document(SAMPLES[name](), name)
    assert document.id == name
    assert document.title == TITLE
    assert blocks(document) == EXPECTED
    assert [word for word in UNREAD if word in document.text] == []


@pytest.mark.parametrize("other", ["download", "paper.txt", "paper.pdf", "paper.docx"])
@SAMPLE
def test_the_content_decides_not_the_name(name: str, other: str) -> None:
    if name == "paper.md" and other != "download":
        return  # Markdown is text, so another extension decides
    document = read_document(SAMPLES[name](), other)
    assert (document.title, blocks(document)) == (TITLE, EXPECTED)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@SAMPLE
def test_files_of_any_name_and_compression(name: str, compression: str, tmp_path: Path) -> None:
    data = COMPRESSIONS[compression](SAMPLES[name]())
    for file in (name + compression, "download"):
        (document,) = read(write(tmp_path, file, data))
        assert (document.id, document.title) == (file, TITLE)
        assert blocks(document) == EXPECTED


def test_a_folder_is_read_by_content_too(tmp_path: Path) -> None:
    for name, make in SAMPLES.items():
        write(tmp_path, name, make())
    write(tmp_path, "unnamed", pdf())
    documents = list(read(tmp_path))
    assert [document.id for document in documents] == [*sorted(SAMPLES), "unnamed"]
    assert {document.title for document in documents} == {TITLE}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (b"public data\n\n- mining\n- image<br>processing", "a.md"),
        (b"public data\n\n| mining |\n|---|\n| image |\n\nprocessing", "a.md"),
        (b"public data  \nmining<br/>image\\\nprocessing", "a.md"),
        (b"<ul><li>public data<li>mining</ul><hr>image<br>processing", "a.md"),
        (b"<p>public data<br>mining<ul><li>image<li>processing", "a.html"),
        (b"<table><tr><td>public data<td>mining<tr><td>image</table>processing", "a.html"),
        (b"<div>public data<hr>mining<p></p>image<br/><br/>processing</div>", "a.html"),
        (b"public data\n\nmining \\item image \\section{processing}", "a.tex"),
    ],
)
def test_a_blank_line_is_between_blocks_and_lines(source: bytes, name: str) -> None:
    """So no phrase goes on there: neither data mining nor image processing is a topic."""
    assert read_document(source, name).text == "public data\n\nmining\n\nimage\n\nprocessing"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (b"<p>We count sheep with graph neural<br>\n networks.", "a.html"),
        (b"We count sheep with graph neural  \nnetworks.", "a.md"),
    ],
)
def test_a_sentence_goes_on_after_a_line_break(source: bytes, name: str) -> None:
    assert read_document(source, name).text == "We count sheep with graph neural networks."


def test_a_rule_and_an_empty_paragraph_end_a_sentence() -> None:
    page = b"<div>We count sheep and<hr>they sleep and<p></p>dream.</div>"
    assert read_document(page, "a.html").text == "We count sheep and\n\nthey sleep and\n\ndream."


def test_blocks_of_a_pdf_are_lines() -> None:
    """They are guessed, so a phrase may go on."""
    assert read_document(pdf(), "a.pdf").abstract.split("\n") == EXPECTED


def test_a_pdf_may_begin_with_something_else() -> None:
    """As some mail programs and web servers leave it."""
    assert read_document(b"From: a ewe\n\n" + pdf(), "a.pdf").abstract.split("\n") == EXPECTED


def test_plain_text_stays_as_it_is() -> None:
    text = "A title\nSee https://flock.example, and\n\n\nREFERENCES\nnone."
    assert read_document(text.encode(), "a.txt").text == text
    assert read_document(text.encode("utf-16"), "a.txt").text == text


@pytest.mark.parametrize(
    ("start", "name", "kind"),
    [
        (b"%PDF-1.4", "a.txt", "pdf"),
        (b"\xef\xbb\xbf\n<!doctype HTML>", "a.txt", "html"),
        (b'<?xml version="1.0"?>\n<!-- a -->\n<html xmlns="x">', "a", "html"),
        (b"% a comment\n\\documentclass{article}", "a.txt", "latex"),
        (b"{\\rtf1", "a.doc", "rtf"),
        (b"PK\3\4", "a.txt", "archive"),
        (b"# Title\n\nText", "README", "markdown"),
        (b"# Title\n\nText", "README.txt", None),
        (b"A text of %PDF-1.4 and <html> and {\\rtf1.", "a", None),
        (b"", "a", None),
    ],
)
def test_recognition(start: bytes, name: str, kind: str | None) -> None:
    assert recognise(start, name) == kind


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (
            b"Notes on sheep, not a PDF",
            "a.pdf",
            r"is not PDF: it begins with b'Notes on sheep, ', not with b'%PDF-'; if it is text, "
            r"rename it to \.txt",
        ),
        ("Größe".encode("utf-16"), "a.PDF", "is not PDF: it begins with .*, not with b'%PDF-'"),
        (b"Notes", "a.docx", r"is not DOCX: it begins with b'Notes', not with b'PK"),
        (b"Notes", "a.odt", "is not ODT"),
        (b"Notes", "a.epub", "is not EPUB"),
        (b"Notes", "a.xlsx", "is not XLSX"),
        (b"", "a.pdf", "contains no text"),
        (b"\r\n%PDF-1.4", "a.pdf", "is damaged .*; copy or download it again"),
        (pdf()[:900], "a.pdf", "is damaged"),
        (docx()[:-40], "a.docx", "is damaged"),
        (zipped({"word/document.xml": "<a><b></a>"}), "a.docx", "is damaged .*mismatched tag"),
        (zipped({"a.txt": "text"}), "a.zip", "is an archive without a document; unpack it"),
        (zipped({"ppt/presentation.xml": ""}), "a.pptx", "PowerPoint presentation; export it"),
        (zipped({"xl/workbook.xml": ""}), "a.xlsx", "has records, not one document"),
        (b"@misc{a, title={b}}", "a.bib", "has records, not one document; use the command line"),
        *((b"x", f"a{ending}", "has records, not one") for ending in RECORDS),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "a.doc", "old Office program; save it as .docx"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "a.docx",
            "is encrypted; save it without a password",
        ),
        (b"<!doctype html><script>jump()</script>", "a.html", "contains no text"),
        (b"", "a.txt", "contains no text"),
        (b"caf\xe9", "a.txt", "is not UTF-8"),
    ],
)
def test_unreadable_documents_are_reported(
    data: bytes, name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_document(data, name)
    assert caught.value.path == name


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(bytes=100), "bytes; at most 100 are read; split it"),
        (Limits(expanded=100), "bytes when unpacked; at most 100"),
        (Limits(files=2), "files inside; at most 2"),
        (Limits(characters=20), "characters of text; at most 20"),
    ],
)
def test_limits(limits: Limits, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_document(docx(), "a.docx", limits=limits)


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("pypdf", pdf),
        ("selectolax.lexbor", html),
        ("selectolax.lexbor", epub),
        ("defusedxml.ElementTree", odt),
        ("striprtf.striprtf", rtf),
        ("pylatexenc.latex2text", lambda: latex().replace(b"Sheep}", b'Sh\\"eep}')),
    ],
)
def test_a_missing_extra_is_reported(
    package: str, make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    _load_converter.cache_clear()  # of LaTeX, which an earlier test may have loaded
    with pytest.raises(ConfigError, match=r'pip install "one2set\[documents\]"'):
        read_document(make(), "download")


def test_markdown_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pypdf", "selectolax", "defusedxml", "striprtf", "pylatexenc", "openpyxl"):
        monkeypatch.setitem(sys.modules, package, None)
    assert read_document(markdown(), "a.md").title == TITLE


@SAMPLE
@settings(max_examples=25)
@given(data=st.data())
def test_damage_raises_nothing_but_our_errors(name: str, data: st.DataObject) -> None:
    damaged = bytearray(SAMPLES[name]())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        if data.draw(st.booleans()):
            damaged[at] = data.draw(st.integers(0, 255))
        else:
            del damaged[at : at + data.draw(st.integers(1, 60))]
            damaged = damaged or bytearray(b"x")
    with suppress(DataError):
        read_document(bytes(damaged), name).text.encode()  # no half surrogates
