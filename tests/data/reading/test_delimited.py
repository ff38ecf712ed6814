"""Excel, beyond test_readers."""

import io
import re
import zipfile
from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.reading.readers import read
from tests.data.document_samples import zipped
from tests.data.formats import workbook_of, write

ROWS: list[list[str | None]] = [
    ["Title", "Abstract", "Keywords"],
    ["A", "One.", "a"],
    ["B"],
    [None, "Three.", None, "x"],
]
DOCUMENTS = [
    Document("a-2", "A", "One.", ("a",)),
    Document("a-3", "B", ""),
    Document("a-4", "", "Three."),
]


def edit_sheet(data: bytes, pattern: str, replacement: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    text, count = re.subn(pattern, replacement, files[sheet].decode())
    assert count == 1
    return zipped({**files, sheet: text})


@pytest.mark.parametrize("size", ["A1", "A1:C1", "A1:A3", "A1:XFD1048576", "C3:C3"])
def test_the_size_that_a_sheet_claims_does_not_matter(size: str, tmp_path: Path) -> None:
    data = edit_sheet(workbook_of(ROWS), "(?=<sheetData>)", f'<dimension ref="{size}"/>')
    assert list(read(write(tmp_path, "a.xlsx", data))) == DOCUMENTS


def test_cells_at_the_end_of_a_row_may_be_missing(tmp_path: Path) -> None:
    assert list(read(write(tmp_path, "a.xlsx", workbook_of(ROWS)))) == DOCUMENTS


def test_a_row_beyond_all_rows_does_not_take_forever(tmp_path: Path) -> None:
    data = edit_sheet(workbook_of(ROWS), '<row r="4"', f'<row r="{10**15}"')
    assert list(read(write(tmp_path, "a.xlsx", data))) == DOCUMENTS[:2]
