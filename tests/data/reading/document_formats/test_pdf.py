"""PDF: titles, page heads, passwords, scans."""

import io

import pytest
from pypdf import PdfReader, PdfWriter

from one2set.data.reading.document_formats.blocks import compose
from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.document_formats.pdf import read_pdf
from one2set.errors import DataError
from tests.data.document_samples import TITLE, Line, pdf, pdf_of

PROSE: list[Line] = [(10, "Sheep are counted here, one after the other, until sleep comes."),
                     (10, "Then the counting ends.")]  # fmt: skip


def encrypted(password: str, algorithm: str) -> bytes:
    writer, sink = PdfWriter(PdfReader(io.BytesIO(pdf()))), io.BytesIO()
    writer.encrypt(password, "owner", algorithm=algorithm)
    writer.write(sink)
    return sink.getvalue()


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_a_file_that_only_forbids_printing_is_read(algorithm: str) -> None:
    assert read_pdf(encrypted("", algorithm), Limits()).title == TITLE


def test_a_password_is_reported() -> None:
    with pytest.raises(DataError, match="is encrypted; save it without a password"):
        read_pdf(encrypted("secret", "AES-256"), Limits())


def test_a_scan_is_reported() -> None:
    with pytest.raises(DataError, match="has no text on its pages: it is a scan; run OCR"):
        read_pdf(pdf_of([[], [(8, "-")]]), Limits())


def test_too_many_pages_are_reported() -> None:
    with pytest.raises(DataError, match="has 3 pages; at most 2 are read"):
        read_pdf(pdf(), Limits(pages=2))


@pytest.mark.parametrize(
    ("named", "lines", "expected"),
    [
        ("Counting Sheep", [(18, "COUNTING"), (18, "SHEEP")], "Counting Sheep"),
        ("Microsoft Word - x.docx", [(18, "Counting"), (18, "Sheep")], "Counting Sheep"),
        ("Wool and Sleep", [(10, "A line of text.")], "Wool and Sleep"),
        ("paper.tex", [(10, "A line of text.")], ""),
        ("", [(30, "S"), (10, "A line.")], ""),
    ],
)
def test_the_title(named: str, lines: list[Line], expected: str) -> None:
    assert read_pdf(pdf_of([[*lines, *PROSE]], title=named), Limits()).title == expected


def body(pages: list[list[Line]]) -> str:
    return compose(read_pdf(pdf_of(pages), Limits()))[1]


def test_running_heads_and_page_numbers_are_left_out() -> None:
    pages: list[list[Line]] = [
        [(8, f"Chapter {number // 3}: Wool"), (10, f"{word} sheep"), *PROSE, (10, f"{word} ewes"),
         (8, f"Page {number} of 9")]
        for number, word in enumerate("ABCDEFGH", 1)
    ]  # fmt: skip
    text = body(pages)
    assert "Chapter" not in text
    assert "Page" not in text
    assert text.count("until sleep comes") == 8


def test_heads_may_alternate() -> None:
    heads = ["Ovid Shearer", "Counting Sheep"]
    pages: list[list[Line]] = [
        [(8, heads[number % 2]), (10, f"{letter} ewes"), *PROSE, (10, f"{letter} rams")]
        for number, letter in enumerate("ABCDEFGH")
    ]
    assert not any(head in body(pages) for head in heads)


def test_lines_that_return_within_a_page_stay() -> None:
    refrain: Line = (10, "And then another one jumped.")
    text = body([[*PROSE, *PROSE, refrain, *PROSE, *PROSE] for _ in range(4)])
    assert text.count("another one jumped") == 4


def test_a_number_in_the_text_stays() -> None:
    assert "1999" in body([[*PROSE, *PROSE, (10, "1999"), *PROSE, *PROSE]])


def test_a_table_of_contents_is_left_out() -> None:
    assert "Wool" not in body([[(10, "Wool . . . . . . . . . . . 7"), *PROSE]])
