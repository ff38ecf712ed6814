"""Files of predictions: lines, and what an interruption leaves."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from one2set.inference import output
from one2set.inference.engine import Engine
from one2set.inference.output import (
    json_line,
    partial_file,
    predict_all,
    predict_rest,
    text_line,
)
from one2set.inference.prediction import Prediction, Slot
from one2set.model.settrans import SetTrans

SETTINGS = {"beam": 1}


@pytest.fixture
def engine(settrans: SetTrans, vocabulary: WordVocabulary) -> Engine:
    return Engine(settrans, vocabulary, batch_tokens=500)


def partial_of(path: Path) -> Path:
    (found,) = path.parent.glob(f"{path.name}.partial-*")
    return found


def write(path: Path, *lines: bytes, resume: bool = False, overwrite: bool = False) -> int:
    """Write lines as one run; how many were done before."""
    with partial_file(path, settings=SETTINGS, resume=resume, overwrite=overwrite) as file:
        for line in lines:
            file.write(line)
    return file.done


def interrupt(path: Path, *lines: bytes) -> None:
    """Write lines as a run that does not come to its end."""
    with (
        suppress(KeyboardInterrupt),
        partial_file(path, settings=SETTINGS, resume=True, overwrite=False) as file,
    ):
        for line in lines:
            file.write(line)
        raise KeyboardInterrupt


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "p.txt"
    with partial_file(path, settings=SETTINGS, resume=False, overwrite=False) as file:
        file.write(b"a\n")
        assert not path.exists()
    assert path.read_bytes() == b"a\n"
    assert [other.name for other in path.parent.iterdir()] == ["p.txt"]


@pytest.mark.parametrize("tail", [b"", b"tor", b"\0\0\0", b"\0\0\n\0\0", b"c\0d\n"])
def test_complete_lines_are_kept_and_a_torn_tail_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n", b"bb\n")
    with partial_of(path).open("ab") as file:
        file.write(tail)
    assert not path.exists()
    assert write(path, b"c\n", resume=True) == 2
    assert path.read_bytes() == b"a\nbb\nc\n"


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    write(path, b"old\n")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        write(path, b"new\n")
    write(path, b"new\n", overwrite=True)
    assert path.read_bytes() == b"new\n"


def test_what_was_interrupted_is_not_lost_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n")
    with pytest.raises(ConfigError, match="pass --resume"):
        write(path, b"b\n")
    with (
        pytest.raises(ConfigError, match="another model, input or options"),
        partial_file(path, settings={"beam": 2}, resume=True, overwrite=False),
    ):
        pass
    assert partial_of(path).read_bytes() == b"a\n"
    write(path, b"b\n", overwrite=True)
    assert path.read_bytes() == b"b\n"
    assert not list(tmp_path.glob("*.partial-*"))


def test_two_processes_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    with partial_file(path, settings=SETTINGS, resume=False, overwrite=False) as file:
        file.write(b"a\n")
        with pytest.raises(ConfigError, match="another process"):
            write(path, resume=True)
        with pytest.raises(ConfigError, match="another process"):
            write(path, overwrite=True)
    assert path.read_bytes() == b"a\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        write(tmp_path / "file" / "p.txt")


@pytest.mark.parametrize("is_json", [True, False])
def test_any_cut_is_continued_to_the_same_bytes(
    engine: Engine,
    documents: list[Document],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_json: bool,
) -> None:
    monkeypatch.setattr(output, "WINDOW", 8)
    monkeypatch.setattr("one2set.inference.stream.WINDOW", 8)
    some = documents[:21]
    lines = [
        json_line(document, prediction, engine, slots=True) if is_json else text_line(prediction)
        for document, prediction in predict_all(engine, some)
    ]
    whole = b"".join(lines)
    for cut in (0, 1, len(lines[0]), len(b"".join(lines[:8])) + 3, len(whole) - 1, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        interrupt(path)
        partial_of(path).write_bytes(whole[:cut])
        with partial_file(path, settings=SETTINGS, resume=True, overwrite=False) as file:
            for document, prediction in predict_rest(engine, some, file):
                file.write(
                    json_line(document, prediction, engine, slots=True)
                    if is_json
                    else text_line(prediction)
                )
        assert path.read_bytes() == whole


def test_another_input_is_told(
    engine: Engine, documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "WINDOW", 2)
    path = tmp_path / "p.jsonl"
    interrupt(path, *(b'{"id":"%s"}\n' % document.id.encode() for document in documents[:3]))
    other = replace(documents[0], id="other")
    for given, message in (
        ([*documents[:2], other], "document 3 of the input is 'other'"),
        ([other, *documents[1:]], "document 1 of the input is 'other'"),
        (documents[:2], "the input has 2 documents"),
        (documents[:1], "the input has 1 documents"),
    ):
        with (
            pytest.raises(DataError, match=message),
            partial_file(path, settings=SETTINGS, resume=True, overwrite=False) as file,
        ):
            list(predict_rest(engine, given, file))


def test_lines(engine: Engine) -> None:
    document = Document("d", "", "Graph networks.")
    said = Slot(
        2, "graph network", ("graph", "network", "<eos>"), (0.5, 0.25, 0.1234567), True, 0.1
    )
    null = Slot(3, "", ("<null>",), (0.9,), True, 0.9)
    again = replace(said, code=4, probabilities=(0.1, 0.1, 0.1), text="nets")
    prediction = Prediction("d", (said, null, again, said), "score", 3, 2)
    assert text_line(prediction) == b"graph network;graph network;nets\n"
    record = json.loads(json_line(document, prediction, engine, slots=False))
    phrase = {"text": "graph network", "score": 0.375, "probability": 0.0154321, "present": True}
    other = {"text": "nets", "score": 0.1, "probability": 0.001, "present": False}
    assert record == {
        "id": "d",
        "keyphrases": [phrase, phrase, other],
        "source_length": 3,
        "read_length": 2,
    }
    whole = replace(prediction, read_length=3)
    record = json.loads(json_line(document, whole, engine, slots=True))
    assert "source_length" not in record
    assert [slot["code"] for slot in record["slots"]] == [2, 3, 4, 2]
    assert record["slots"][1]["tokens"] == ["<null>"]
    assert text_line(replace(prediction, slots=())) == b"\n"
