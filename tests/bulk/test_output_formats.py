"""Packing: the same records, whatever holds them."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import zstandard

from one2set.bulk import output_formats
from one2set.bulk.output_formats import Format, choose_format, pack
from one2set.errors import ConfigError

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


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def test_parquet_holds_every_kind_of_line(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_formats, "_ROWS", 2)
    pack(lines, tmp_path / "p.parquet", "parquet")
    assert without_nulls(pq.read_table(tmp_path / "p.parquet").to_pylist()) == RECORDS
    assert not lines.exists()


def test_compressed_and_plain_lines(lines: Path, tmp_path: Path) -> None:
    expected = lines.read_bytes()
    pack(lines, tmp_path / "p.jsonl", "jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == expected
    for name in ("p.jsonl.gz", "p.txt.zst"):
        lines.write_bytes(expected)
        pack(lines, tmp_path / name, "text")
        data = (tmp_path / name).read_bytes()
        found = (
            gzip.decompress(data)
            if name.endswith(".gz")
            else zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
        )
        assert found == expected
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
def test_the_format_is_known_by_the_name(
    name: str, wish: Format | None, like: str, expected: Format
) -> None:
    assert choose_format(name, wish, like=like) == expected


@pytest.mark.parametrize(("name", "wish"), [("p.parquet", "jsonl"), ("p.jsonl", "parquet")])
def test_a_name_that_says_something_else(name: str, wish: Format) -> None:
    with pytest.raises(ConfigError, match="rename it"):
        choose_format(name, wish, like="in.jsonl")


def test_a_missing_package_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r'pip install "one2set\[data\]"'):
        choose_format("p.parquet", None, like="")


def test_the_output_is_on_this_machine() -> None:
    with pytest.raises(ConfigError, match="written on this machine"):
        choose_format("s3://bucket/out/", None, like="in.jsonl")
