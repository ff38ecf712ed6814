"""`one2set generate` as a user calls it: texts, files, folders, standard input, invalid input."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from one2set.cli import app
from one2set.data import document
from one2set.data.reading.readers import read
from one2set.errors import ConfigError, DataError
from tests.commands import invoke, parse_jsonl
from tests.data.document_samples import EXPECTED, SAMPLES, TITLE
from tests.keyphrases.test_language import FOREIGN

SAMPLE = files("one2set.data") / "sample" / "documents.jsonl"
TEXT = "Graph networks for search\nWe search the graph with a network of words in a set."


@pytest.fixture
def model(exported_model: Path) -> Path:
    return exported_model


def run(model: Path, *arguments: str | Path) -> str:
    """What `generate` writes to stdout and stderr."""
    return invoke("generate", "--model", model, "--threads", 1, *arguments).output


def process(
    model: Path | None, arguments: Sequence[str], *, stdin: bytes = b"", **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "one2set", "generate", *arguments]
    command += ["--model", str(model)] if model else []
    return subprocess.run(
        command, input=stdin, env=os.environ | environment, capture_output=True, check=False
    )


def test_a_text_has_keyphrases_with_scores_and_spans(model: Path) -> None:
    (record,) = parse_jsonl(run(model, TEXT, "--format", "jsonl", "--more"))
    assert record["id"] == "text"
    assert record["keyphrases"]
    for keyphrase in record["keyphrases"]:
        assert keyphrase["present"] == bool(keyphrase["spans"])
        for start, end in keyphrase["spans"]:
            assert TEXT[start:end]
    shown = run(model, TEXT, "--more")
    for keyphrase in record["keyphrases"]:
        assert f"{keyphrase['score']:.2f}  {keyphrase['text']}" in shown


@pytest.mark.parametrize("model", ["default", "light"])
def test_a_document_is_tokenised_once(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    for name in ("tokenise", "words_of"):
        original = getattr(document, name)

        def count(text: str, *, tokenised: bool = False, original: Any = original) -> Any:
            texts.append(text)
            return original(text, tokenised=tokenised)

        monkeypatch.setattr(document, name, count)
    run(Path(model), TEXT)
    assert sorted(text for text in texts if text in TEXT.split("\n")) == sorted(TEXT.split("\n"))


def test_files_folders_standard_input_and_texts_in_their_order(model: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(TEXT)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "two.md").write_text("# Sets\nOf words.")
    (tmp_path / "folder" / "three.jsonl").write_text('{"id": "3", "abstract": "Words in a set."}')
    inputs = [str(tmp_path / "one.txt"), "a second text", str(tmp_path / "folder"), "-"]
    done = process(model, [*inputs, "-f", "jsonl"], stdin=b"Words of a third text.")
    records = parse_jsonl(done.stdout.decode())
    assert [record["id"] for record in records] == ["one.txt", "text 2", "3", "two.md", "stdin"]
    alone = parse_jsonl(process(model, ["-f", "jsonl"], stdin=TEXT.encode()).stdout.decode())
    assert alone[0]["id"] == "stdin"
    (text,) = parse_jsonl(run(model, "-f", "jsonl", TEXT))
    assert alone[0]["keyphrases"] == text["keyphrases"] == records[0]["keyphrases"]


def test_many_documents_are_those_of_a_file(model: Path) -> None:
    records = parse_jsonl(run(model, "-f", "jsonl", str(SAMPLE)))
    assert [record["id"] for record in records] == [document.id for document in read(str(SAMPLE))]


@pytest.mark.parametrize("format", ["json", "csv", "html", "text"])
def test_every_format_writes_something(model: Path, format: str) -> None:
    shown = run(model, TEXT, "another text of words", "-f", format, "--more")
    assert "text 1" in shown
    assert "text 2" in shown
    if format == "json":
        assert len(json.loads(shown)) == 2


def test_options_select_keyphrases(model: Path) -> None:
    def phrases(*options: str) -> list[dict[str, Any]]:
        records = parse_jsonl(run(model, str(SAMPLE), "-f", "jsonl", *options))
        return [phrase for record in records for phrase in record["keyphrases"]]

    usual, more = phrases(), phrases("--more", "--more")
    # Without a calibration, all that codes generate is shown already.
    assert len(phrases("--fewer", "--fewer")) < len(usual) == len(more)
    assert len(phrases("--more", "--more", "--top", "1")) <= 60
    present, absent = phrases("--present-only"), phrases("--absent-only")
    assert [keyphrase["present"] for keyphrase in present] == [True] * len(present)
    assert [keyphrase["present"] for keyphrase in absent] == [False] * len(absent)
    assert len(present) + len(absent) == len(usual)
    assert phrases("--min-score", "0.01") == [
        keyphrase for keyphrase in usual if keyphrase["score"] >= 0.01
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--present-only", "--absent-only"], "cannot be used together"),
        (["--more", "--fewer"], "cannot be used together"),
    ],
)
def test_invalid_options(model: Path, options: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(model, TEXT, *options)


def test_another_language_triggers_a_warning(model: Path) -> None:
    for text in FOREIGN.values():
        assert "does not look like English" in run(model, text)
    assert "English" not in run(model, TEXT)


@pytest.mark.parametrize("text", ["", " \n ", "!!! ... ???", "–"])
def test_input_without_words_is_reported(model: Path, text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="contains no words"):
        run(model, text)
    (tmp_path / "file.txt").write_text(text)
    with pytest.raises(DataError, match="contains no"):
        run(model, tmp_path / "file.txt")


def test_empty_standard_input_is_reported(model: Path) -> None:
    done = process(model, [], stdin=b"")
    assert done.returncode == 2
    assert b"contains no documents" in done.stderr


def test_documents_without_words_trigger_a_warning(model: Path) -> None:
    shown = run(model, "?", TEXT, "-f", "json")
    assert "text 1: contains no words" in shown


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.bin", b"\x7fELF\0\0\1", "binary"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3", "is damaged"),
        ("a.docx", b"PK\x03\x04\x14\0", "is damaged"),
        ("a.txt", b"caf\xe9", "not UTF-8"),
        ("a.txt", b"a\0b", "NUL"),
        ("a.jsonl", b"{not json}", "not JSON"),
        ("a.gz", b"\x1f\x8b\x08broken", "damaged"),
    ],
)
def test_binary_files_are_reported(
    model: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = process(model, [str(tmp_path / name)])
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    "name",
    ["papers.jsonl", "no/such/folder/", "thesis.pdf", "notes/paper", "~/nosuch", "./nosuch",
     "report.doc", "graph.js", "My thesis.docx", "some folder/"],
)  # fmt: skip
def test_a_missing_file_is_reported(model: Path, name: str) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        run(model, name)


def test_an_address_is_not_a_text(model: Path) -> None:
    for address in ("https://flock.example/paper.html", "www.flock.example"):
        with pytest.raises(DataError, match=r"is a web address.*download it first"):
            run(model, address)


@pytest.mark.parametrize(
    "text", ["graphs", "C++", "see a/b or c.pdf for words", "Words e.g. these.", "words in a.b.c ."]
)
def test_short_texts_are_not_taken_for_names(model: Path, text: str) -> None:
    assert parse_jsonl(run(model, text, "-f", "jsonl"))[0]["id"] == "text"


def test_a_number_after_more_is_reported(model: Path) -> None:
    with pytest.raises(ConfigError, match="take no number such as 2; repeat them"):
        run(model, "--more", "2", TEXT)
    assert run(model, "2 words", "--more")


def test_words_without_quotes_trigger_a_warning(model: Path) -> None:
    hint = 'put a text in quotes: one2set generate "graph networks for traffic"'
    assert hint in run(model, *["graph", "networks", "for", "traffic"])
    for texts in (["graphs"], ["graph networks", "traffic"]):
        assert "quotes" not in run(model, *texts)


def test_skipped_records_are_counted(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"abstract": "Words in a set."}\nbroken\n')
    shown = run(model, tmp_path / "a.jsonl", "--on-error", "skip")
    assert "1 record was skipped" in shown
    (tmp_path / "b.jsonl").write_text("broken\nbroken\n")
    assert "2 records were skipped" in run(model, tmp_path / "b.jsonl", "--on-error", "skip")


def test_an_error_is_reported_once(model: Path) -> None:
    done = process(model, [""])
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.splitlines() == [b"error: the input contains no words; pass some text"]


def test_standard_output_may_be_closed(model: Path) -> None:
    command = f"{sys.executable} -m one2set generate --model {model} 'Words in a set.' >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("name", SAMPLES)
def test_a_document_of_every_format(model: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(SAMPLES[name]())
    (record,) = parse_jsonl(
        run(model, tmp_path / name, "-f", "jsonl", "--more", "--text-output", tmp_path / "a.txt")
    )
    text = (tmp_path / "a.txt").read_bytes().decode()
    assert record["id"] == name
    assert [line for line in text.split("\n") if line] == [TITLE, *EXPECTED]
    assert all(
        text[start:end] for keyphrase in record["keyphrases"] for start, end in keyphrase["spans"]
    )


def test_a_text_that_is_not_utf_8(model: Path) -> None:
    done = process(model, [os.fsdecode(b"caf\xe9 text")])
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def test_colour_is_for_terminals(model: Path) -> None:
    plain = process(model, [TEXT, "--more"])
    assert plain.returncode == 0
    assert b"\x1b[" not in plain.stdout
    assert b"We search" not in plain.stdout
    coloured = process(model, [TEXT, "--more"], FORCE_COLOR="1")
    assert b"\x1b[" in coloured.stdout
    assert b"We " in coloured.stdout
    assert process(model, [TEXT, "--more", "--color", "always"]).stdout == coloured.stdout
    never = process(model, [TEXT, "--more", "--color", "never"], FORCE_COLOR="1")
    assert never.stdout == plain.stdout


def test_the_core_install_generates(model: Path) -> None:
    """Without torch and all other extras."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'scipy', 'pyarrow', 'zstandard', "
        "'matplotlib', 'safetensors', 'onnx', 'tensorboard']))\n"
        f"sys.argv[1:] = ['generate', '--model', {str(model)!r}, '--more', 'Sets of words']\n"
        "from one2set.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Present" in done.stdout or "Absent" in done.stdout


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no model"):
        run(tmp_path / "nothing", TEXT)
    (tmp_path / "empty").mkdir()
    with pytest.raises((ConfigError, DataError), match="empty"):
        run(tmp_path / "empty", TEXT)


def test_a_folder_with_the_name_of_an_included_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "./light" not in invoke("generate", "--model", "light", TEXT).output
    (tmp_path / "light").symlink_to(model)
    for command in (["generate", "--model", "light", TEXT], ["predict", "light", TEXT]):
        assert "write ./light" in CliRunner().invoke(app, command).output
    assert invoke("generate", "--model", "./light", TEXT).output == run(model, TEXT)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["-"], "standard input is closed; pass a file"), ([], "there is no input; pass a text")],
)
def test_a_closed_standard_input_is_an_error(arguments: list[str], message: str) -> None:
    command = ["sh", "-c", '"$0" -m one2set generate "$@" <&-', sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
