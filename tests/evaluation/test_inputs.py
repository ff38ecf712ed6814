"""Files become gold and predictions, or an error that names the line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from one2set.data.reading.records import Fields
from one2set.errors import DataError
from one2set.evaluation.inputs import read_gold, read_pair, read_predictions
from one2set.evaluation.scoring import Gold


@pytest.fixture
def gold(tmp_path: Path) -> list[Gold]:
    """Three documents with the ids a, b and c."""
    lines = [{"id": id, "title": "", "abstract": "text", "keywords": ["text"]} for id in "abc"]
    return read_gold(write_jsonl(tmp_path / "gold.jsonl", *lines), fields=Fields())


@pytest.fixture
def pair(tmp_path: Path) -> list[Gold]:
    """Two documents without ids."""
    source = write(tmp_path / "src.txt", "a <eos> b\nc\n")
    return read_pair(source, write(tmp_path / "trg.txt", "a\nc;d\n"))


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def write_jsonl(path: Path, *records: Any) -> str:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def place(error: pytest.ExceptionInfo[DataError]) -> tuple[str, int | None]:
    return Path(str(error.value.path)).name, error.value.line


# --- Gold -----------------------------------------------------------------------------------------


def test_a_pair_of_text_files_is_gold(pair: list[Gold]) -> None:
    assert [gold.of("all") for gold in pair] == [["a"], ["c", "d"]]
    assert [gold.id for gold in pair] == [None, None]


def test_a_pair_of_unequal_length_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path / "src.txt", "a <eos> b\nc\nd\n")
    with pytest.raises(DataError, match=r"has 2 lines, but .*src.txt has 3") as error:
        read_pair(source, write(tmp_path / "trg.txt", "a\nb\n"))
    assert place(error) == ("trg.txt", 3)


@pytest.mark.parametrize(
    ("line", "what"), [("a <eos> b <eos> c", "<eos> 2 times"), (" ", "empty line")]
)
def test_an_invalid_source_line_is_an_error(tmp_path: Path, line: str, what: str) -> None:
    source = write(tmp_path / "src.txt", f"a <eos> b\n{line}\n")
    with pytest.raises(DataError, match=what) as error:
        read_pair(source, write(tmp_path / "trg.txt", "a\nb\n"))
    assert place(error) == ("src.txt", 2)


def test_windows_line_ends_and_a_byte_order_mark_are_no_text(tmp_path: Path) -> None:
    source = write(tmp_path / "src.txt", "\ufeffa b <eos> c\r\nd <eos> e\r\n")
    golds = read_pair(source, write(tmp_path / "trg.txt", "a b\r\nd e\r\n"))
    assert [gold.of("present") for gold in golds] == [["a b"], ["d e"]]


def test_gold_without_keyphrases_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "gold.jsonl", {"id": "x", "abstract": "text"})
    with pytest.raises(DataError, match="'x' has no keyphrases"):
        read_gold(path, fields=Fields())
    path = write_jsonl(tmp_path / "gold.jsonl", {"id": "x", "abstract": "text", "keywords": []})
    assert read_gold(path, fields=Fields())[0].of("all") == []


def test_a_repeated_id_is_an_error(tmp_path: Path) -> None:
    record = {"id": "x", "abstract": "text", "keywords": []}
    with pytest.raises(DataError, match="'x' twice"):
        read_gold(write_jsonl(tmp_path / "gold.jsonl", record, record), fields=Fields())


def test_empty_files_are_errors(tmp_path: Path, gold: list[Gold]) -> None:
    empty, jsonl = write(tmp_path / "empty.txt", ""), write(tmp_path / "empty.jsonl", "\n")
    for call in (
        lambda: read_pair(empty, empty),
        lambda: read_gold(jsonl, fields=Fields()),
        lambda: read_predictions(empty, gold),
    ):
        with pytest.raises(DataError, match="no documents"):
            call()


def test_files_that_are_not_utf8_are_errors(tmp_path: Path, pair: list[Gold]) -> None:
    path = tmp_path / "predictions.txt"
    path.write_bytes(b"a\nb\xff\n")
    with pytest.raises(DataError, match="0xff") as error:
        read_predictions(str(path), pair)
    assert place(error) == ("predictions.txt", 2)


# --- Predictions ----------------------------------------------------------------------------------


def test_text_lines_are_split_at_semicolons(tmp_path: Path, pair: list[Gold]) -> None:
    path = write(tmp_path / "predictions.txt", "a b;c\n\n")
    assert read_predictions(path, pair) == [["a b", "c"], []]


def test_compressed_predictions_are_read(tmp_path: Path, pair: list[Gold]) -> None:
    path = tmp_path / "predictions.txt.gz"
    path.write_bytes(gzip.compress(b"a b;c\n\n"))
    assert read_predictions(str(path), pair) == [["a b", "c"], []]


def test_every_form_of_jsonl(tmp_path: Path, gold: list[Gold]) -> None:
    path = write_jsonl(
        tmp_path / "p.jsonl",
        {"id": "c", "keyphrases": [{"text": "x y", "score": 0.5}, "z;w"]},
        {"id": "a", "keywords": "x;y"},
        {"id": "b", "predictions": []},
    )
    assert read_predictions(path, gold) == [["x", "y"], [], ["x y", "z;w"]]


def test_numbers_are_ids_too(tmp_path: Path) -> None:
    records = [{"id": number, "abstract": "text", "keywords": ["text"]} for number in (1, 2)]
    golds = read_gold(write_jsonl(tmp_path / "gold.jsonl", *records), fields=Fields())
    path = write_jsonl(
        tmp_path / "p.jsonl", {"id": 2, "keyphrases": ["x"]}, {"id": "1", "keyphrases": []}
    )
    assert read_predictions(path, golds) == [[], ["x"]]


def test_predictions_without_ids_are_matched_by_order(
    tmp_path: Path, gold: list[Gold], pair: list[Gold]
) -> None:
    records: list[dict[str, object]] = [{"keyphrases": ["x"]}, {"keyphrases": ["y"]}]
    path = write_jsonl(tmp_path / "p.jsonl", *records)
    assert read_predictions(path, pair) == [["x"], ["y"]]
    with pytest.raises(DataError, match="has 2 documents, but the gold has 3") as error:
        read_predictions(path, gold)
    assert place(error) == ("p.jsonl", 3)
    # Text pairs have no ids, so those of the predictions cannot be matched.
    with_ids = [{"id": "z", **record} for record in records]
    assert read_predictions(write_jsonl(tmp_path / "p.jsonl", *with_ids), pair) == [["x"], ["y"]]


def test_the_name_decides_the_form_then_the_first_line(tmp_path: Path, pair: list[Gold]) -> None:
    text = '{"keyphrases": ["x"]}\n{"keyphrases": ["y"]}\n'
    assert read_predictions(write(tmp_path / "p.txt", text), pair)[0] == ['{"keyphrases": ["x"]}']
    assert read_predictions(write(tmp_path / "p.out", text), pair) == [["x"], ["y"]]
    assert read_predictions(write(tmp_path / "p.out", "x\ny\n"), pair) == [["x"], ["y"]]


@pytest.mark.parametrize(
    ("ids", "what", "line"),
    [
        (["a", "b"], "no prediction for 1 of 3 gold documents, the first of them 'c'", None),
        (["a", "b", "c", "d"], "'d' is not in the gold", 4),
        (["a", "b", "b"], "repeats the id 'b' of line 2", 3),
        (["a", None, "c"], "has no id", 2),
    ],
)
def test_ids_that_do_not_match_are_errors(
    tmp_path: Path, gold: list[Gold], ids: list[str | None], what: str, line: int | None
) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", *({"id": id, "keyphrases": []} for id in ids))
    with pytest.raises(DataError, match=what) as error:
        read_predictions(path, gold)
    assert place(error) == ("p.jsonl", line)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"keyphrases": ["x"]', "is not JSON"),
        ('["x"]', "is a JSON list"),
        ('{"phrases": ["x"]}', "has no phrases; expected exactly one of keyphrases"),
        ('{"keywords": [], "predictions": []}', "has keywords and predictions; expected"),
        ('{"keyphrases": null}', "keyphrases is None"),
        ('{"keyphrases": [1]}', "a phrase is 1"),
        ('{"keyphrases": [{"score": 1}]}', "a phrase is {'score': 1}"),
    ],
)
def test_invalid_json_is_an_error(tmp_path: Path, pair: list[Gold], line: str, what: str) -> None:
    path = write(tmp_path / "p.jsonl", f'{{"keyphrases": []}}\n{line}\n')
    with pytest.raises(DataError, match=what) as error:
        read_predictions(path, pair)
    assert place(error) == ("p.jsonl", 2)


def test_a_missing_file_is_an_error(pair: list[Gold]) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_predictions("/nowhere/predictions.txt", pair)
