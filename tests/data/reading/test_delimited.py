"""Excel and Parquet, beyond test_readers."""

import io
import re
import zipfile
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pytest

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.reading.streams import ErrorPolicy
from one2set.errors import DataError
from tests.data.document_samples import zipped
from tests.data.formats import parquet_of, workbook_of, write

ROWS: list[list[str | None]] = [
    ["Title", "Abstract", "Keywords"],
    ["A", "One.", "a"],
    ["B"],
    [None, "Three.", None, "x"],
]
DOCUMENTS = [
    Document("a-2", "A", "One.", ("a",)),
    Document("a-3", "B", "", ()),
    Document("a-4", "", "Three.", ()),
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


def test_an_empty_cell_has_no_keyphrases_as_in_csv(tmp_path: Path) -> None:
    rows: list[list[str | None]] = [["Abstract", "Keywords"], ["One.", None], ["Two.", "a"]]
    workbook = write(tmp_path, "a.xlsx", workbook_of(rows))
    table = write(tmp_path, "a.csv", b"Abstract,Keywords\nOne.,\nTwo.,a\n")
    assert [document.keyphrases for document in read(workbook)] == [(), ("a",)]
    assert list(read(workbook)) == list(read(table))


def test_the_first_cell_that_is_not_empty_counts(tmp_path: Path) -> None:
    header = ["Abstract", "Text", "Keyphrases", "Keywords"]
    rows: list[list[str | None]] = [[*header], [None, "One.", None, "a"]]
    (document,) = read(write(tmp_path, "a.xlsx", workbook_of(rows)))
    assert (document.abstract, document.keyphrases) == ("One.", ("a",))


def test_rows_of_parquet_are_unpacked_one_by_one(tmp_path: Path) -> None:
    """A few kilobytes may hold a text hundreds of times."""
    text = "word " * 20_000
    path = write(tmp_path, "a.parquet", parquet_of(abstract=[text] * 200))
    assert Path(path).stat().st_size < len(text)
    before, most = pa.total_allocated_bytes(), 0
    for document in islice(read(path), 20):
        assert document.abstract == text
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 20 * len(text)


def test_a_row_of_parquet_that_is_too_long(tmp_path: Path) -> None:
    texts = ["One.", "long " * 1_000, "Three.", "Four."]
    phrases = [["a"], ["b"], ["c" * 99] * 99, ["d"]]
    for abstracts in (texts, pa.array(texts).dictionary_encode()):
        data = parquet_of(abstract=abstracts, keyphrases=phrases)
        path = write(tmp_path, "a.parquet", data)
        with pytest.raises(
            DataError, match=r"a row has more than 4,000 bytes; .*--max-line"
        ) as met:
            list(read(path, errors=ErrorPolicy("stop", max_line=4_000)))
        assert met.value.line == 2
        errors = ErrorPolicy("skip", max_line=4_000)
        assert [document.id for document in read(path, errors=errors)] == ["a-1", "a-4"]
        assert errors.skipped == 2
