"""Parquet files of the Hugging Face library `datasets` are read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from one2set import Document, read


def write_shards(folder: Path, rows: pa.Table) -> None:
    about = {"info": {"features": {name: {"_type": "Value"} for name in rows.column_names}}}
    rows = rows.replace_schema_metadata({"huggingface": json.dumps(about)})
    folder.mkdir()
    half = rows.num_rows // 2
    for number, part in enumerate((rows.slice(0, half), rows.slice(half))):
        pq.write_table(part, folder / f"train-{number:05}-of-00002.parquet")


def test_columns_of_texts_are_read(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "id": pa.array([1, 2, 3, 4]),
            "title": pa.array(["A", "B", None, "D"], pa.large_string()),
            "abstract": pa.array(["Sets.", "Words.", "Order.", "Codes."], pa.large_string()),
            "keyphrases": pa.array([["set", "a"], [], None, ["code"]], pa.large_list(pa.string())),
            "label": pa.array([0, 1, 0, 1]).dictionary_encode(),
        }
    )
    write_shards(tmp_path / "data", rows)
    assert list(read(tmp_path / "data")) == [
        Document("1", "A", "Sets.", ("set", "a")),
        Document("2", "B", "Words.", ()),
        Document("3", "", "Order.", None),
        Document("4", "D", "Codes.", ("code",)),
    ]


def test_lists_of_words_are_read(tmp_path: Path) -> None:
    """As the hub's keyphrase sets have them."""
    rows = pa.table(
        {
            "id": ["a", "b"],
            "document": [["Sets", "of", "words", "."], ["No", "order", "."]],
            "doc_bio_tags": [["B", "O", "O", "O"], ["O", "B", "O"]],
            "extractive_keyphrases": [["sets"], ["order"]],
            "abstractive_keyphrases": [["set theory"], []],
        }
    )
    write_shards(tmp_path / "data", rows)
    first, second = read(tmp_path / "data")
    assert first.keyphrases == ("sets", "set theory")
    assert second.keyphrases == ("order",)
    assert first.words() == ["sets", "of", "words", "."]
