"""Every output format has the same records."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest
import zstandard

from one2set.bulk import output_formats
from one2set.bulk.output_formats import KEYPHRASES, RAW, Format, choose_format, pack
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.keyphrases.formats import format_keyphrases
from one2set.keyphrases.results import Keyphrase

PHRASE = {"text": "graph", "score": 0.5, "present": True, "spans": [[0, 5], [7, 12]]}
SLOT = {
    "code": 1,
    "text": "",
    "tokens": ["<null>"],
    "probabilities": [0.75],
    "ended": True,
    "null": 0.75,
}
RECORDS: list[dict[str, Any]] = [
    {"id": "a", "keyphrases": [PHRASE, {**PHRASE, "present": False, "spans": []}]},
    {"id": "ü", "keyphrases": []},
    {
        "id": "c",
        "keyphrases": [{"text": "net", "score": 0.25, "probability": 0.125, "present": False}],
        "source_length": 9,
        "read_length": 4,
        "slots": [SLOT],
    },
]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    return path


def drop_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: drop_nulls(each) for name, each in value.items() if each is not None}
    return [drop_nulls(each) for each in value] if isinstance(value, list) else value


def test_parquet_preserves_every_kind_of_line(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_formats, "_ROWS", 2)
    pack(lines, tmp_path / "p.parquet", "parquet")
    assert drop_nulls(pq.read_table(tmp_path / "p.parquet").to_pylist()) == RECORDS
    assert not lines.exists()


def test_compressed_files_have_the_same_lines(lines: Path, tmp_path: Path) -> None:
    expected = lines.read_bytes()
    pack(lines, tmp_path / "p.jsonl", "jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == expected
    for name in ("p.jsonl.gz", "p.txt.zst"):
        lines.write_bytes(expected)
        pack(lines, tmp_path / name, "text")
        data = (tmp_path / name).read_bytes()
        actual = (
            gzip.decompress(data)
            if name.endswith(".gz")
            else zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
        )
        assert actual == expected
        assert not lines.exists()


@pytest.mark.parametrize(
    ("name", "wish", "like", "expected"),
    [
        ("p.jsonl", None, "in.parquet", "jsonl"),
        ("p.parquet", None, "in.jsonl", "parquet"),
        ("p.txt.zst", "text", "in.jsonl", "text"),
        ("out/", None, "in.parquet", "parquet"),
        ("out/", None, "in.csv", "jsonl"),
        ("out/", "jsonl", "in.parquet", "jsonl"),
    ],
)
def test_the_extension_determines_the_format(
    name: str, wish: Format | None, like: str, expected: Format
) -> None:
    assert choose_format(name, wish, like=like, allowed=RAW) == expected


@pytest.mark.parametrize(("name", "wish"), [("p.parquet", "jsonl"), ("p.jsonl", "parquet")])
def test_an_extension_that_contradicts_the_format_is_an_error(name: str, wish: Format) -> None:
    with pytest.raises(ConfigError, match="rename it"):
        choose_format(name, wish, like="in.jsonl", allowed=RAW)


@pytest.mark.parametrize("allowed", [RAW, KEYPHRASES])
@pytest.mark.parametrize("name", ["p.docx", "p.csv.bz2", "p.2024", "p.parquet.gz", "p.xlsx.zst"])
def test_names_of_other_formats_are_refused(name: str, allowed: tuple[Format, ...]) -> None:
    with pytest.raises(ConfigError, match=r"expected a name that ends in \.jsonl, "):
        choose_format(name, None, like="in.jsonl", allowed=allowed)


def test_predictions_are_not_written_under_the_name_of_another_format() -> None:
    for name in ("p.csv", "p.xlsx", "p.html", "p.bib", "p.json"):
        with pytest.raises(
            ConfigError, match=r"ends in \.jsonl, \.parquet, \.text, \.ndjson, \.txt"
        ):
            choose_format(name, None, like="in.jsonl", allowed=RAW)
    with pytest.raises(ConfigError, match="expected a name"):
        choose_format("p.txt", None, like="in.jsonl", allowed=KEYPHRASES)


@pytest.mark.parametrize("format", ["json", "csv", "html", "bib", "xlsx"])
def test_keyphrases_are_written_in_every_document_format(format: Format, tmp_path: Path) -> None:
    document = Document("a", "Sets", "of sets")
    line = format_keyphrases(document, [Keyphrase("sets", 0.5, True, ((0, 4),))], texts=True)
    for name in (f"k.{format}", f"k.{format}.gz", f"K.{format}.zst"):
        if format == "xlsx" and name != "k.xlsx":
            continue
        assert choose_format(name, None, like="", allowed=KEYPHRASES) == format
        (tmp_path / "lines").write_bytes(line)
        pack(tmp_path / "lines", tmp_path / name, format)
        assert not (tmp_path / "lines").exists()
    result = (tmp_path / f"k.{format}").read_bytes()
    if format == "xlsx":
        assert openpyxl.load_workbook(io.BytesIO(result)).active["B2"].value == "sets"
        return
    assert b"sets" in result
    assert gzip.decompress((tmp_path / f"k.{format}.gz").read_bytes()) == result
    with zstandard.open(tmp_path / f"K.{format}.zst", "rb") as file:
        assert file.read() == result
    if format == "html":
        assert b"<mark>Sets</mark>\nof sets" in result
    if format == "bib":
        assert b"title = {Sets}" in result


def test_a_folder_has_parts_of_lines() -> None:
    with pytest.raises(ConfigError, match="a folder has parts in jsonl or parquet"):
        choose_format("out/", "csv", like="", allowed=KEYPHRASES)


def test_a_missing_package_is_reported_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r'pip install "one2set\[data\]"'):
        choose_format("p.parquet", None, like="", allowed=RAW)


def test_remote_outputs_are_refused() -> None:
    with pytest.raises(ConfigError, match="written on this machine"):
        choose_format("s3://bucket/out/", None, like="in.jsonl", allowed=RAW)
