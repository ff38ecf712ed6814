"""Addresses are read by pyarrow's file systems; `file://` takes the same path as `s3://`."""

import gzip
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from one2set.data.reading.locations import (
    expand_patterns,
    is_remote,
    list_remote_files,
    open_remote,
)
from one2set.data.reading.readers import read
from one2set.errors import DataError

SAMPLE = Path(str(files("one2set.data") / "sample" / "documents.jsonl"))


def test_documents_of_an_address_are_those_of_the_file(tmp_path: Path) -> None:
    expected = list(read(SAMPLE))
    assert list(read(f"file://{SAMPLE}")) == expected
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert list(read(f"file://{packed}")) == expected
    rows = [{"id": d.id, "title": d.title, "abstract": d.abstract} for d in expected]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "table.parquet")
    documents = list(read(f"file://{tmp_path}/table.parquet"))
    assert [d.text for d in documents] == [d.text for d in expected]


def test_remote_patterns(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.csv", "deep/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    base = f"file://{tmp_path}"
    assert list_remote_files(f"{base}/*.jsonl") == [f"{base}/a.jsonl", f"{base}/b.jsonl"]
    assert f"{base}/deep/d.jsonl" in list_remote_files(f"{base}/**/*.jsonl")
    assert list_remote_files(f"{base}/*.txt") == []


def test_unreachable_addresses_are_errors(tmp_path: Path) -> None:
    assert is_remote("s3://bucket/a.jsonl")
    assert not is_remote("a:b/c.jsonl")
    with pytest.raises(DataError, match=r"cannot be reached .*; check the address"):
        open_remote("nonsense://a/b")
    with pytest.raises(DataError, match="cannot be read"):
        list(read(f"file://{tmp_path}/missing.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        list_remote_files(f"file://{tmp_path}/missing/*.jsonl")


def test_patterns(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", "odd[1].jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [f"{tmp_path}/{name}" for name in ("a.jsonl", "b.jsonl", "odd[1].jsonl")]
    assert expand_patterns(["-", f"{tmp_path}/*.jsonl"]) == ["-", *names]
    assert len(expand_patterns([f"{tmp_path}/**/*.jsonl"])) == 4
    assert expand_patterns([names[2]]) == [names[2]]
    with pytest.raises(DataError, match="matches no file"):
        expand_patterns([f"{tmp_path}/*.csv"])
