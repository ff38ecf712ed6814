"""Every invalid file is reported."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.reading import readers
from one2set.data.reading.document_formats.limits import Limits
from one2set.data.reading.readers import read
from one2set.data.reading.streams import ErrorPolicy
from one2set.errors import DataError
from tests.data.document_samples import SAMPLES, zipped
from tests.data.formats import (
    COMPRESSIONS,
    FORMATS,
    bibtex,
    parquet_of,
    ris,
    sources,
    targets,
    workbook_of,
    write,
)

GOOD = b'{"abstract": "A."}\n'
ROW = b"T,A.\n"
RIS = b"TY  - A\nTI  - T\nER  - \n"
LONG_LINE = '{"abstract": "A.\u2028B.\x85C."}\n'.encode()  # one line of JSON
BAD: dict[str, tuple[str, bytes, int | None, str, int]] = {
    # name of the case: file, content, line of the problem, message, documents that are read
    "malformed line": ("a.jsonl", GOOD + b'{"abstract": \n' + GOOD, 2, "is not JSON", 2),
    "malformed after U+2028": ("a.jsonl", LONG_LINE + b"{\n" + LONG_LINE, 2, "is not JSON", 2),
    "malformed first line": ("a.jsonl", b'{"abstract": \n' + GOOD * 2, 1, "is not JSON", 2),
    "two objects a line": ("a.jsonl", GOOD[:-1] + GOOD, 1, "is not JSON", 0),
    "a list among lines": ("a.jsonl", GOOD + b"[1]\n" + GOOD, 2, "is a JSON list", 2),
    "numbers in an array": ("a.json", b'[{"abstract": "A."},\n5]\n', 2, "is a JSON int", 1),
    "an array without end": ("a.json", b'[\n{"abstract": "A."}\n', 3, "array does not end", 1),
    "more than an array": ("a.json", b'[{"abstract": "A."}]\n{}', 2, "more after the array", 1),
    "a broken array": ("a.json", b'[{"abstract": "A."},\n{"a"}]', 2, "is not JSON.*fix it", 1),
    "a number": ("a.jsonl", GOOD + b"5\n", 2, "is a JSON int", 1),
    "missing field": ("a.jsonl", GOOD + b'{"title": "T"}\n', 2, "has no 'abstract'.*--field", 1),
    "wrong type": ("a.jsonl", GOOD + b'{"abstract": 5}\n' + GOOD, 2, "is 5 .*expected a string", 2),
    "lone surrogate": ("a.jsonl", GOOD + b'{"abstract": "\\ud800"}\n', 2, "is not JSON", 1),
    "not UTF-8": ("a.jsonl", GOOD + b'{"abstract": "\xe9"}\n' + GOOD, 2, "0xe9.*iconv", 2),
    "NUL": ("a.jsonl", GOOD + b'{"abstract": "\0"}\n' + GOOD, 2, "is NUL", 2),
    "UTF-16": ("a.jsonl", GOOD.decode().encode("utf-16-le"), 1, "NUL.*iconv -f utf-16le", 0),
    "binary": ("a.exe", b"MZ\0\1\2", None, "is binary.*expected text or one of .jsonl", 0),
    "damaged PDF": ("a.pdf", b"%PDF-1.7", None, "is damaged .*copy or download it again", 0),
    "damaged archive": ("a.docx", b"PK\3\4\24", None, "is damaged", 0),
    "archive in disguise": ("a.txt", b"PK\3\4\0", None, "is damaged", 0),
    "binary text": ("a.txt", b"text\0", None, "is NUL", 0),
    "text not UTF-8": ("a.txt", b"caf\xe9", None, "is not UTF-8", 0),
    "empty": ("a.jsonl", b"", None, "contains no documents", 0),
    "empty text": ("a.txt", b" \n", None, "contains no documents", 0),
    "empty table": ("a.csv", b"", None, "contains no documents", 0),
    "header only": ("a.csv", b"title,abstract\n", None, "contains no documents", 0),
    "empty pair": ("a_src.txt", b"", None, "contains no documents", 0),
    "empty unnamed": ("download", b"", None, "contains no documents", 0),
    "cut-off gzip": ("a.jsonl", gzip.compress(GOOD * 3)[:-1], None, "cut off.*download", 3),
    "cut-off zstd": ("a.jsonl", COMPRESSIONS[".zst"](GOOD)[:-1], None, "cut off.*download", 0),
    "two <eos>": ("a_src.txt", b"a <eos> b <eos> c\na <eos> b\n", 1, "contains <eos> 2 times", 1),
    "second half": ("a_trg.txt", b"a;b\n", None, "contains only keyphrases.*pass .*a_src.txt", 0),
    "column too many": ("a.csv", b"title,abstract\nT,A,B\n" + ROW, 2, "has 3 columns.*names 2", 1),
    "column too few": ("a.tsv", b"title\tabstract\nT\nT\tA\n", 2, "has 1 columns", 1),
    "unknown columns": ("a.csv", b"x,y\n1,2\n", 2, "has no 'abstract'.*it has 'x', 'y'", 0),
    "quote inside": ("a.csv", b'title,abstract\n"T"x,A.\n' + ROW, 2, "is not ','-separated", 1),
    "unclosed quote": ("a.csv", b'title,abstract\nT,"A.\n' + ROW * 3, 2, "quote fields", 3),
    "quote in header": ("a.csv", b'title,"abstract\nT,A\n', 1, "is not ','-separated", 0),
    "half an entry": ("a.bib", b"@misc{a, title = {A\n@misc{b, title = {B}}", 1, "complete", 1),
    "an entry twice": ("a.bib", b"@misc{a, title={A}}\n@misc{a, title={B}}", 2, "repeats the", 1),
    "an entry without text": ("a.ris", b"TY  - A\nER  - \n" + RIS, 1, "it has TY; add one", 1),
    "no Excel": ("a.xlsx", zipped({"xl/workbook.xml": "<a/>"}), None, "is damaged", 0),
    "Excel without columns": ("a.xlsx", workbook_of([["x"], ["y"]]), None, "has no sheet", 0),
    "no Parquet": ("a.parquet", b"PAR1 and nothing", None, "is not Parquet", 0),
    "unknown columns of Parquet": ("a.parquet", parquet_of(x=["1"], y=["2"]), 1, "'x', 'y'", 0),
    "cut-off Parquet": ("a.parquet", FORMATS["papers.parquet"]()[:-9], None, "is not Parquet", 0),
}


@pytest.mark.parametrize("case", BAD)
def test_an_error_names_the_line_the_problem_and_the_fix(case: str, tmp_path: Path) -> None:
    name, data, line, what, _ = BAD[case]
    path = write(tmp_path, name, data)
    with pytest.raises(DataError, match=rf"(?s){what}.*or pass --on-error skip") as caught:
        list(read(path, errors=ErrorPolicy("stop")))
    assert (caught.value.path, caught.value.line) == (path, line)
    with pytest.raises(DataError, match=rf"(?s){what}") as unasked:
        list(read(path))
    assert "--on-error" not in str(unasked.value), "not where there is no such option"


@pytest.mark.parametrize("case", BAD)
def test_skip_keeps_the_good_and_reports_the_bad(case: str, tmp_path: Path) -> None:
    name, data, line, _, survivors = BAD[case]
    path, report = write(tmp_path, name, data), tmp_path / "report.jsonl"
    with ErrorPolicy("skip", report) as errors:
        documents = list(read(path, errors=errors))
    rows = [json.loads(row) for row in report.read_bytes().splitlines()]
    assert len(documents) == survivors
    assert len(rows) == errors.skipped >= 1
    assert (rows[0]["path"], rows[0]["line"]) == (path, line)
    assert all(row["what"] and row["fix"] for row in rows)


def test_a_cut_off_document_is_reported_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a.html.gz", gzip.compress(b"<html>" + b"Words. " * 999)[:-9])
    errors = ErrorPolicy("skip")
    assert list(read(path, errors=errors)) == []
    assert errors.skipped == 1


@pytest.mark.parametrize(
    ("longer", "shorter"), [("x_src.txt", "x_trg.txt"), ("x_trg.txt", "x_src.txt")]
)
def test_an_unequal_pair(longer: str, shorter: str, tmp_path: Path) -> None:
    write(tmp_path, longer, b"a\nb\nc\nd\n")
    write(tmp_path, shorter, b"a\nb\n")
    path = str(tmp_path / "x_src.txt")
    with pytest.raises(DataError, match=f"is missing; .*{longer} has this line; make") as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / shorter), 3)
    errors = ErrorPolicy("skip")
    assert [document.abstract for document in read(path, errors=errors)] == ["a", "b"]
    assert errors.skipped == 2


def test_a_bad_line_on_either_side_of_a_pair_leaves_both_out(tmp_path: Path) -> None:
    write(tmp_path, "x_trg.txt", b"one\n\xff\nthree\nfour\n")
    path = write(tmp_path, "x_src.txt", b"1\n2\n\xff\n4\n")
    errors = ErrorPolicy("skip")
    documents = list(read(path, errors=errors))
    assert [(document.abstract, document.keyphrases) for document in documents] == [
        ("1", ("one",)),
        ("4", ("four",)),
    ]
    assert errors.skipped == 2


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.png", "'.png' is not known"),
        ("Makefile", "'without extension' is not known"),
        ("y_trg.txt", "contains only keyphrases"),
    ],
)
def test_a_folder_with_a_file_that_is_not_ours(name: str, what: str, tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", GOOD)
    path = write(tmp_path, name, b"x")
    with pytest.raises(DataError, match=what) as caught:
        list(read(tmp_path))
    assert caught.value.path == path
    errors = ErrorPolicy("skip")
    assert len(list(read(tmp_path, errors=errors))) == 1
    assert errors.skipped == 1


def test_files_of_other_formats_in_a_folder_can_be_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", GOOD)
    paths = [write(tmp_path, f"{number}.png", b"x") for number in range(5)]
    errors = ErrorPolicy("stop", leave_out_unknown=True)
    assert len(list(read(tmp_path, errors=errors))) == 1
    assert (errors.skipped, errors.left_out.number) == (0, 5)
    assert list(errors.left_out.first) == paths[:3]
    report = tmp_path / ".report.jsonl"
    with ErrorPolicy("skip", report, leave_out_unknown=True) as errors:
        assert len(list(read(tmp_path, errors=errors))) == 1
    assert (errors.skipped, errors.left_out.number) == (5, 0)
    assert len(report.read_text().splitlines()) == 5


def test_a_folder_of_other_formats_has_no_documents(tmp_path: Path) -> None:
    write(tmp_path, "a.png", b"x")
    with pytest.raises(DataError, match="contains no documents"):
        list(read(tmp_path, errors=ErrorPolicy("stop", leave_out_unknown=True)))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no documents"):
        list(read(tmp_path))


@pytest.mark.parametrize("name", ["missing.jsonl", "missing", "missing_src.txt", "a.csv"])
def test_a_missing_file(name: str, tmp_path: Path) -> None:
    for errors in (ErrorPolicy(), ErrorPolicy("skip")):
        with pytest.raises(DataError, match=r"cannot be read .No such file.*check the path"):
            list(read(tmp_path / name, errors=errors))


def test_a_folder_below_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=r"cannot be read \(Permission denied\); check its perm"):
        list(read(tmp_path))
    errors = ErrorPolicy("skip")
    assert not list(read(tmp_path, errors=errors))
    assert errors.skipped == 1


@pytest.mark.parametrize("kind", ["dangling", "loop", "unreadable"])
def test_a_file_of_a_folder_that_cannot_be_opened(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike a path that the user named, it can be skipped."""
    write(tmp_path, "b.jsonl", GOOD)
    bad = tmp_path / "a.jsonl"
    if kind == "unreadable":  # also where the tests run as root, who may read anything
        bad.write_bytes(GOOD)
        access = os.access
        monkeypatch.setattr(
            os, "access", lambda path, mode: path != str(bad) and access(path, mode)
        )
    else:
        bad.symlink_to(bad if kind == "loop" else tmp_path / "missing")
    with pytest.raises(DataError, match=r"cannot be read .*--on-error skip") as caught:
        list(read(tmp_path, errors=ErrorPolicy("stop")))
    assert caught.value.path == str(bad)
    errors = ErrorPolicy("skip")
    assert len(list(read(tmp_path, errors=errors))) == 1
    assert errors.skipped == 1


def test_records_that_are_too_long(tmp_path: Path) -> None:
    """They span lines, so that the limit of a line does not bound them."""
    value = write(tmp_path, "a.json", b'[{"abstract": "x",\n' + b'"a": 1,\n' * 9_000 + b'"b": 2}]')
    row = write(tmp_path, "a.csv", b'id,abstract\n1,"' + b'x","y\n' * 30_000)
    for path in (value, row):
        with pytest.raises(DataError, match="more than 60,000 characters"):
            list(read(path, errors=ErrorPolicy("stop", max_line=60_000)))
        errors = ErrorPolicy("skip", max_line=60_000)
        assert not list(read(path, errors=errors))
        assert errors.skipped


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", [*SAMPLES, "papers.xlsx"])
def test_a_document_that_is_too_large(
    name: str, compression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its beginning is read, which would look damaged."""
    data = {**SAMPLES, **FORMATS}[name]()
    path = write(tmp_path, name + compression, COMPRESSIONS[compression](data))
    monkeypatch.setattr(readers, "Limits", lambda: Limits(bytes=len(data) - 1))
    message = rf"is larger than {len(data) - 1:,} bytes, .*; split it into parts, or pass"
    with pytest.raises(DataError, match=message) as caught:
        list(read(path, errors=ErrorPolicy("stop")))
    assert caught.value.path == path
    monkeypatch.setattr(readers, "Limits", lambda: Limits(bytes=len(data)))
    assert list(read(path))


def test_a_table_of_very_many_columns(tmp_path: Path) -> None:
    header = ",".join(f"column{number}" for number in range(100_000))
    path = write(tmp_path, "a.csv", f"{header}\n{',' * 99_999}\n".encode())
    with pytest.raises(DataError, match=r"it has 'column0', .*'column9', …; name the field") as met:
        list(read(path))
    assert len(str(met.value)) < 500


# --- Random damage --------------------------------------------------------------------------------


@st.composite
def damage(draw: st.DrawFn, data: bytes) -> bytes:
    """The data after some bytes were flipped, inserted or deleted."""
    damaged = bytearray(data)
    interesting = st.sampled_from(b'"\n\r,;{}[]\\\t\0\xff\xc3<') | st.integers(0, 255)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(damaged) - 1))
        match draw(st.sampled_from(["flip", "insert", "delete"])):
            case "flip":
                damaged[at] = draw(interesting)
            case "insert":
                damaged.insert(at, draw(interesting))
            case "delete":
                del damaged[at : at + draw(st.integers(1, 20))]
                damaged = damaged or bytearray(b"x")
    return bytes(damaged)


def check_damaged(path: str) -> None:
    errors = ErrorPolicy("skip")
    documents = list(read(path, errors=errors))
    assert documents or errors.skipped
    if errors.skipped:
        with pytest.raises(DataError, match="; "):
            list(read(path))
    else:
        assert list(read(path)) == documents


@pytest.mark.parametrize(
    "make", [FORMATS["papers.jsonl"], FORMATS["papers.csv"], sources, bibtex, ris]
)
@given(data=st.data())
def test_damaged_files_raise_nothing_but_our_errors(
    make: Callable[[], bytes], data: st.DataObject, tmp_path: Path
) -> None:
    names = {"jsonl": "a.jsonl", "csv_file": "a.csv", "sources": "a_src.txt", "bibtex": "a.bib"}
    name = names.get(make.__name__, "a.ris")
    write(tmp_path, "a_trg.txt", targets())
    damaged = data.draw(damage(make()))
    check_damaged(write(tmp_path, name, damaged))
    check_damaged(write(tmp_path, "download", damaged))


@given(data=st.data())
def test_a_damaged_target_raises_nothing_but_our_errors(
    data: st.DataObject, tmp_path: Path
) -> None:
    path = write(tmp_path, "a_src.txt", sources())
    write(tmp_path, "a_trg.txt", data.draw(damage(targets())))
    check_damaged(path)
