"""`one2set prepare`, `stats` and `sample` as a user calls them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from typer.testing import CliRunner

from one2set.cli import app, main
from one2set.data.corpus.corpus import Corpus, Manifest
from tests.data.formats import DOCUMENTS, jsonl, write

COMMANDS = ["prepare", "stats", "sample"]


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, from its arguments to its exit code."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["one2set", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return run


def shell(*arguments: object, stdin: bytes = b"") -> Done:
    """The command line in a process of its own, with pipes on all sides."""
    command = [sys.executable, "-m", "one2set", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_user_error(done: Done, *parts: str) -> None:
    """Exit code 2, nothing on stdout, and one line that says what to do."""
    assert (done.code, done.out) == (2, "")
    lines = done.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for part in parts:
        assert part in lines[0]


@pytest.fixture
def papers(tmp_path: Path) -> str:
    return write(tmp_path, "papers.jsonl", jsonl())


# --- Help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    command = typer.main.get_group(app).commands[name]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name} does not explain {parameter.name}"
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for parameter in command.params:
        assert parameter.opts[0] in shown.output or (parameter.metavar or "") in shown.output


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_commands_are_listed(option: str) -> None:
    shown = CliRunner().invoke(app, [option])
    assert shown.exit_code == 0
    assert all(name in shown.output for name in COMMANDS)


def test_the_version_without_the_script() -> None:
    assert shell("--version") == Done(0, f"one2set {version('one2set')}\n", "")


# --- prepare --------------------------------------------------------------------------------------


def test_prepare_makes_a_corpus_and_summarises_it(run: Run, papers: str, tmp_path: Path) -> None:
    done = run("prepare", tmp_path / "corpus", "--train", papers, "--workers", 1)
    assert done.code == 0
    corpus = Corpus(tmp_path / "corpus")
    assert [example.id for example in corpus.split("train")] == [
        document.id for document in DOCUMENTS
    ]
    assert "train" in done.out
    assert f"vocabulary: {corpus.manifest.vocabulary_size}" in done.out
    assert done.err.startswith(f"{tmp_path / 'corpus'}: 3 documents in ")


def test_prepare_passes_every_option_on(run: Run, tmp_path: Path) -> None:
    train = jsonl() + b'{"summary": "No text of ours."}\nnot JSON\n'
    path = write(tmp_path, "papers.jsonl", train.replace(b'"abstract"', b'"summary"'))
    pair = write(tmp_path, "other_src.txt", b"sets ( again ) . <eos> more .\n")
    write(tmp_path, "other_trg.txt", b"sets\n")
    report = tmp_path / "report.jsonl"
    done = run(
        *("prepare", tmp_path / "corpus", "--train", path, "--field", "abstract=summary"),
        *("--valid", pair, "--test", f"mine={pair}", "--test", pair, "--exclude", pair),
        *("--oversample", f"{path}=2"),
        *("--max-source-words", 30, "--max-phrases", 3, "--max-phrase-words", 2),
        *("--vocabulary-size", 20, "--on-error", "skip", "--report", report),
        *("--workers", 2, "--json"),
    )
    assert done.code == 0
    manifest = Manifest.model_validate_json(done.out)
    assert manifest == Manifest.load(tmp_path / "corpus")
    assert manifest.filters == {
        "max_source_words": 30,
        "max_phrases": 3,
        "max_phrase_words": 2,
        "vocabulary_size": 20,
        "hold_out": 0.0,
    }
    assert list(manifest.splits) == ["train", "valid", "mine", "other_src"]
    assert manifest.splits["train"].dropped == {
        "long phrase (the phrase only)": 1,
        "no keyphrases": 1,
        "title excluded": 1,
    }
    assert [shard.repeat for shard in manifest.splits["train"].shards] == [2]
    assert (manifest.skipped, manifest.vocabulary_size) == (1, 20)
    assert json.loads(report.read_text())["line"] == 5


def test_prepare_reports_what_it_skipped_beside_the_corpus(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "papers.jsonl", jsonl() + b"not JSON\n")
    done = run("prepare", tmp_path / "corpus", "--train", path, "--on-error", "skip")
    assert done.code == 0
    assert "1 record was skipped; see" in done.err
    assert (tmp_path / "corpus" / "skipped.jsonl").exists()


def test_prepare_warns_of_a_corpus_without_training_documents(
    run: Run, papers: str, tmp_path: Path
) -> None:
    """Most often, the column of the keyphrases has another name."""
    table = tmp_path / "papers.csv"
    table.write_text("title,abstract,subjects\nBees,Bees dance.,dances\n")
    done = run("prepare", tmp_path / "empty", "--train", table)
    assert done.code == 0
    assert "no training document is left" in done.err
    assert "--field keyphrases=tags" in done.err
    named = run("prepare", tmp_path / "one", "--train", table, "--field", "keyphrases=subjects")
    assert "no training document" not in named.err


def test_prepare_overwrites_only_on_request(run: Run, papers: str, tmp_path: Path) -> None:
    arguments = ("prepare", tmp_path / "corpus", "--train", papers)
    assert run(*arguments).code == 0
    assert_user_error(run(*arguments), "corpus exists already; pass --overwrite")
    assert run(*arguments, "--overwrite").code == 0


def test_prepare_from_a_pipe(tmp_path: Path) -> None:
    done = shell("prepare", tmp_path / "corpus", "--train", "-", "--json", stdin=jsonl())
    assert done.code == 0
    assert json.loads(done.out)["splits"]["train"]["documents"] == 3


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--max-phrases", "0"], ["--max-phrases is 0", "greater than or equal to 1"]),
        (["--vocabulary-size", "3"], ["--vocabulary-size is 3", "greater than 7"]),
        (
            ["--vocabulary-size", "99", "--vocabulary", "default"],
            ["--vocabulary and --vocabulary-size cannot be used together; pass only one"],
        ),
        (
            ["--vocabulary-size", "99", "--tokenizer", "missing.json"],
            ["--tokenizer and --vocabulary-size cannot be used together; pass only one"],
        ),
        (["--hold-out", "1.5"], ["--hold-out is 1.5", "less than 1"]),
        (["--field", "x=y"], ["--field is 'x=y'", "PART one of id, title"]),
        (["--workers", "0"], ["--workers is 0", "expected 1 or more"]),
        (["--train", "missing.jsonl"], ["missing.jsonl: cannot be read", "check the path"]),
        (["--test", "train=x"], ["a test set is named 'train'"]),
        (["--test", "a/t.jsonl", "--test", "b/t.jsonl"], ["have the same name", "NAME="]),
        (["--valid", "-"], ["- is standard input"]),
        (["--tokenizer", "missing.json"], ["missing.json: is not a tokenizers file"]),
        (["--report", "missing/x", "--on-error", "skip"], ["--report is missing/x"]),
    ],
)
def test_prepare_reports_mistakes_in_one_line(
    options: list[str], parts: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "papers.jsonl", jsonl() + b"not JSON\n" * ("--report" in options))
    assert_user_error(run("prepare", "corpus", "--train", path, *options), *parts)
    assert [entry.name for entry in tmp_path.iterdir()] == ["papers.jsonl"]


@pytest.mark.parametrize(
    "arguments", [["prepare"], ["prepare", "x"], ["stats"], ["sample"], ["no"]]
)
def test_wrong_arguments_show_the_usage(arguments: list[str], run: Run) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage: one2set" in done.err
    assert "Traceback" not in done.err


# --- stats ----------------------------------------------------------------------------------------


def test_stats_stand_beside_the_published_row(run: Run, papers: str, tmp_path: Path) -> None:
    known = write(tmp_path, "inspec.jsonl", jsonl())
    done = run("stats", papers, known)
    assert done.code == 0
    title, *rows = done.out.splitlines()
    assert title == "# Table 1"
    # Three documents have six phrases of eleven words; two phrases are absent.
    assert [row.split() for row in rows] == [
        ["set", "samples", "#KP", "|KP|", "%_absent"],
        [papers, "3", "2.00", "1.83", "33.33"],
        [known, "3", "2.00", "1.83", "33.33"],
        ["Inspec_in_the_paper", "500", "9.79", "2.48", "26.42"],
    ]


def test_stats_warns_of_documents_without_keyphrases(run: Run, papers: str, tmp_path: Path) -> None:
    tagged = write(tmp_path, "tagged.csv", b"title,abstract,tags\nA net,of nets,net\n")
    done = run("stats", papers, tagged)
    assert done.code == 0
    assert done.err.startswith(f"{tagged}: no keyphrases; ")
    assert run("stats", tagged, "--field", "keyphrases=tags").err == ""


def test_stats_as_json(run: Run, papers: str, tmp_path: Path) -> None:
    known = write(tmp_path, "nus.jsonl", jsonl())
    done = run("stats", papers, known, "--json")
    mine, theirs = map(json.loads, done.out.splitlines())
    assert (mine["name"], mine["samples"], mine["published"]) == (papers, 3, None)
    assert theirs["published"]["samples"] == 211
    assert mine["absent_percent"] == pytest.approx(100 / 3)


def test_stats_skips_and_lists(run: Run, tmp_path: Path) -> None:
    path, report = write(tmp_path, "a.jsonl", jsonl() + b"x\n"), tmp_path / "report.jsonl"
    assert_user_error(run("stats", path), "a.jsonl:4: is not JSON", "--on-error skip")
    done = run("stats", path, "--on-error", "skip", "--report", report)
    assert done.code == 0
    assert "1 record was skipped" in done.err
    assert json.loads(report.read_text())["line"] == 4


def test_output_in_a_pipe_is_plain_and_unbroken(tmp_path: Path) -> None:
    folder = tmp_path / ("a-very-long-name" * 8)
    folder.mkdir()
    path = write(folder, "papers.jsonl", jsonl())
    done = shell("stats", path)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert path in done.out
    assert "\x1b" not in shell("stats", "missing.jsonl").err


def test_a_closed_pipe_is_no_error(papers: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "one2set", "stats", papers]
    done = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_reported_in_one_line(papers: str) -> None:
    command = [sys.executable, "-m", "one2set", "stats", papers]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert_user_error(Done(done.returncode, "", done.stderr.decode()), "the disk is full")


def test_internal_errors_keep_their_traceback(papers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("one2set.data.corpus.statistics.compute_statistics", broken)
    monkeypatch.setattr(sys, "argv", ["one2set", "stats", papers])
    with pytest.raises(ZeroDivisionError):
        main()


# --- sample ---------------------------------------------------------------------------------------


def test_the_sample_is_copied_and_can_be_used(run: Run, tmp_path: Path) -> None:
    done = run("sample", tmp_path / "sample")
    assert done.code == 0
    names = ["README.md", "documents.jsonl", "predictions.jsonl"]
    assert sorted(path.name for path in (tmp_path / "sample").iterdir()) == names
    assert all(name in done.err for name in names)
    measured = json.loads(run("stats", tmp_path / "sample" / "documents.jsonl", "--json").out)
    assert measured["samples"] == 60


def test_the_sample_may_be_there_already(run: Run, tmp_path: Path) -> None:
    """Several pages of the documentation begin with it."""
    folder = tmp_path / "sample"
    assert run("sample", folder).code == 0
    (folder / "mine.txt").write_text("kept")
    again = run("sample", folder)
    assert again.code == 0
    assert "documents.jsonl" in again.err
    assert (folder / "mine.txt").read_text() == "kept"


def test_the_sample_replaces_nothing(run: Run, tmp_path: Path) -> None:
    assert_user_error(run("sample", tmp_path), "exists already")
    folder = tmp_path / "sample"
    run("sample", folder)
    (folder / "documents.jsonl").write_text("changed")
    assert_user_error(run("sample", folder), "exists already")
    assert (folder / "documents.jsonl").read_text() == "changed"
