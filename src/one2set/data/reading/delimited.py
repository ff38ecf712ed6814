"""Tables of records: CSV, TSV, Excel and Parquet."""

import csv
import io
import shutil
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, cast

from one2set.data.document import Document
from one2set.data.reading.document_formats.archives import damaged
from one2set.data.reading.records import Fields, parse_record
from one2set.data.reading.streams import ErrorPolicy, open_stream, read_lines
from one2set.errors import DataError, missing_extra

_DELIMITERS = ("\t", ",", ";", "|")
_TAGS = {"TI": "title", "AB": "abstract", "DE": "keyphrases", "UT": "id", "ID": "keywords plus"}
_MOST_NAME_WORDS = 4  # of a column: Language of Original Document
_MOST_ROWS = 1 << 20  # of an Excel sheet, by its specification: a row's number may be any
_LONGEST_CELL = 1 << 24  # characters: what an unclosed quote swallows stays bounded


def find_delimiter(text: str, fields: Fields, *, named: bool) -> str | None:
    """The character between the columns of a table, if its header names a field that is read. If
    the file is not `named` as a table, it must also look like one: prose has commas, too."""
    header, _, rest = text.partition("\n")
    header = header.rstrip("\r")
    if header.startswith("sep=") and len(header) == 5:  # of Excel
        return header[-1]
    for delimiter in _DELIMITERS:
        cells = [cell.strip("\"' ") for cell in header.split(delimiter)]
        is_header = len(cells) > 1 and any(map(fields.know, _columns(cells)))
        if is_header and (named or (rest.strip() and _look_like_names(cells))):
            return delimiter
    return None


def _look_like_names(cells: Sequence[str]) -> bool:
    """Whether these are names of columns, and not a sentence that has the word text between
    commas. Scopus has a column `Art. No.`, so that only the last one must not end in a mark."""
    if cells[-1].endswith((".", "?", "!", ":")):
        return False
    return all(
        len(cell.split()) <= _MOST_NAME_WORDS and not cell.lower().startswith(("and ", "or "))
        for cell in cells
    )


def has_tagged_columns(text: str) -> bool:
    """Whether this is a table of Web of Science, which saves it as .txt."""
    cells = text.partition("\n")[0].rstrip("\r").split("\t")
    return _columns(cells) != cells


def _columns(header: list[str]) -> list[str]:
    """The names of columns; Web of Science writes tags instead."""
    is_tagged = {"TI", "AB", "UT"}.issubset(header)
    return [_TAGS.get(name, name) for name in header] if is_tagged else header


def read_csv(path: str, delimiter: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """A header row names the columns."""
    rows = _csv_rows(path, delimiter, errors)
    _, header = next(rows, (0, []))
    if header[:1] == ["sep="]:
        _, header = next(rows, (0, []))
    header = _columns(header)
    for number, row in rows:
        if len(row) != len(header):
            errors.report(
                f"has {len(row)} columns; the header names {len(header)}",
                fix=f"correct the row, and quote texts that contain {delimiter!r}",
                path=path,
                line=number,
            )
            continue
        record = dict(zip(header, row, strict=True))
        yield from parse_record(record, fields=fields, errors=errors, path=path, line=number)


def _csv_rows(path: str, delimiter: str, errors: ErrorPolicy) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line. After one that is not CSV, reading goes on at the
    next line: an unclosed quote must not swallow the good rows behind it."""
    csv.field_size_limit(_LONGEST_CELL)
    lines = ((number, line) for number, line in read_lines(path, errors) if line is not None)
    pushed_back: deque[tuple[int, str]] = deque()
    row_lines: list[tuple[int, str]] = []  # the lines of the current row

    def take() -> Iterator[str]:
        size = 0
        while (numbered := pushed_back.popleft() if pushed_back else next(lines, None)) is not None:
            size = len(numbered[1]) + (size if row_lines else 0)
            row_lines.append(numbered)
            if size > errors.max_line:
                raise csv.Error(f"a row has more than {errors.max_line:,} characters")
            yield f"{numbered[1]}\n"

    rows = csv.reader(take(), delimiter=delimiter, strict=True)
    while True:
        row_lines.clear()
        try:
            row = next(rows, None)
        except csv.Error as error:
            errors.report(
                f"is not {delimiter!r}-separated ({error})",
                fix="quote fields that hold quotes or line ends",
                path=path,
                line=row_lines[0][0],
            )
            if sum(len(line) for _, line in row_lines) <= errors.max_line:
                pushed_back.extendleft(reversed(row_lines[1:]))
            rows = csv.reader(take(), delimiter=delimiter, strict=True)
            continue
        if row is None:
            return
        if row:
            yield row_lines[0][0], row


def read_workbook(
    data: bytes, path: str, fields: Fields, errors: ErrorPolicy
) -> Iterator[Document]:
    """The rows of an Excel file: of its first sheet whose first row names a field that is read."""
    header: list[str] = []
    try:
        for sheet in _sheets(data):
            rows = enumerate(sheet, 1)
            header = _columns(_cells(next(rows, (1, ()))[1]))
            if not any(map(fields.know, header)):
                continue
            phrases = list(filter(fields.know_keyphrases, header))
            for number, row in rows:
                cells = [None if cell is None else str(cell) for cell in row]
                if any(cells):
                    cells += [None] * (len(header) - len(cells))  # those at the end may be missing
                    record = {name: cell for name, cell in zip(header, cells, strict=False) if name}
                    if all(record[name] is None for name in phrases):
                        record |= dict.fromkeys(phrases, "")  # known to be none, as in CSV
                    yield from parse_record(
                        record, fields=fields, errors=errors, path=path, line=number
                    )
            return
    except DataError as error:
        if error.path is not None:
            raise  # of a record
        errors.report(error.what, fix=error.fix, path=path)
        return
    fix = "name the columns title and abstract, or pass --field abstract=NAME"
    errors.report("has no sheet with a known column", fix=fix, path=path)


def _sheets(data: bytes) -> Iterator[Iterator[Sequence[object]]]:
    """The rows of each sheet, read as they are asked for."""
    try:
        import openpyxl
    except ImportError:
        raise missing_extra("openpyxl", extra="documents", purpose="reading Excel") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and printing, which do not matter here
        try:
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheets = book.worksheets
        except Exception as error:  # a damaged file can make the parser fail in any way
            raise damaged(error) from None
    for sheet in sheets:
        yield _rows(sheet)


def _rows(sheet: Any) -> Iterator[Sequence[object]]:
    sheet.reset_dimensions()  # what the file claims; some programs write a wrong size
    try:
        yield from sheet.iter_rows(max_row=_MOST_ROWS, values_only=True)
    except Exception as error:  # as above
        raise damaged(error) from None


def _cells(row: Sequence[object]) -> list[str]:
    return ["" if cell is None else str(cell).strip() for cell in row]


def read_parquet(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Records by row group; only the columns that are asked for are read. A file of 776 bytes may
    repeat a text a thousand times, so that one row at a time is decoded."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", extra="data", purpose="reading Parquet") from None
    with open_stream(path, errors) as stream, _seekable(stream) as file:
        try:
            table = pq.ParquetFile(file)
            # Without any of them, the error names all.
            columns = list(filter(fields.know, table.schema_arrow.names)) or None
            rows = table.iter_batches(batch_size=1, columns=columns, use_threads=False)
            for number, row in enumerate(rows, 1):
                if row.nbytes > errors.max_line and _count_bytes(row) > errors.max_line:
                    what = f"a row has more than {errors.max_line:,} bytes"
                    fix = "split its text, or raise --max-line"
                    errors.report(what, fix=fix, path=path, line=number)
                    continue
                (record,) = row.to_pylist()
                yield from parse_record(
                    record, fields=fields, errors=errors, path=path, line=number
                )
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            errors.report(f"is not Parquet ({error})", fix="check the file", path=path)


def _count_bytes(row: Any) -> int:
    """The size of a row, without the other values of a column of categories."""
    columns = (
        column.dictionary_decode() if hasattr(column, "dictionary") else column
        for column in row.columns
    )
    return sum(column.nbytes for column in columns)


@contextmanager
def _seekable(stream: io.BufferedIOBase) -> Iterator[IO[bytes]]:
    """Parquet is read from its end: what cannot seek is spooled to disk, not to memory."""
    if isinstance(getattr(stream, "raw", None), io.FileIO) and stream.seekable():
        yield cast(IO[bytes], stream)
        return
    with tempfile.TemporaryFile() as spooled:
        shutil.copyfileobj(stream, spooled)
        spooled.seek(0)
        yield spooled
