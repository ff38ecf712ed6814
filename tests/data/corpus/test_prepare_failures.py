"""`prepare` refuses invalid settings, and an interruption leaves no corpus."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.corpus.selection import Filters
from one2set.errors import ConfigError, DataError
from tests.data.corpora import make_documents, tree
from tests.data.formats import jsonl, write
from tests.processes import descendants, wait_until_ended

# --- What is refused ------------------------------------------------------------------------------


def test_an_existing_corpus_is_replaced_only_on_request(tmp_path: Path) -> None:
    output = tmp_path / "corpus"
    inputs = [
        Inputs(train=[write(tmp_path, f"{n}.jsonl", jsonl(make_documents(n)))]) for n in (5, 20)
    ]
    prepare(output, inputs[0])
    before = tree(output)
    with pytest.raises(ConfigError, match="corpus exists already; pass --overwrite to replace it"):
        prepare(output, inputs[1])
    with pytest.raises(DataError, match="cannot be read"):
        prepare(output, Inputs(train=["missing.jsonl"]), overwrite=True)
    assert tree(output) == before
    prepare(output, inputs[1], overwrite=True)
    assert tree(output) != before
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


@pytest.mark.parametrize("name", ["precious", "file"])
def test_a_folder_that_is_not_a_corpus_is_never_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    for path in (tmp_path / "precious" / "thesis.tex", tmp_path / "file"):
        path.write_text("years of work")
    before = tree(tmp_path)
    with pytest.raises(ConfigError, match="exists and is not a corpus; name another"):
        prepare(tmp_path / name, Inputs(train=["-"]), overwrite=True)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["train", "valid", "exclude", "a/b", "..", "", "a b"])
def test_names_that_a_test_set_cannot_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"a test set is named '{name}'.*pass --test NAME=FILE"):
        prepare(tmp_path / "corpus", Inputs(train=["a.jsonl"], tests={name: "t.jsonl"}))


@pytest.mark.parametrize("name", ["kp20k-500", "20news", "a_b", "naïve"])
def test_names_that_a_test_set_can_have(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", jsonl(make_documents(3)))
    prepare(tmp_path / "corpus", Inputs(train=[path], tests={name: path}))
    assert len(Corpus(tmp_path / "corpus").split(name)) == 3


@pytest.mark.parametrize(
    ("inputs", "hold_out", "what"),
    [
        (Inputs(train=[]), 0, "no training data was named; pass --train"),
        (Inputs(train=["a"], valid=["v"]), 0.1, "--hold-out is 0.1 and --valid is v; pass one"),
        (Inputs(train=["a"], valid=["-"]), 0, "- is standard input or a pipe.*pass a file"),
        (Inputs(train=["a"], tests={"t": "/dev/null"}), 0, "/dev/null is standard input or a pipe"),
        (Inputs(train=["a"], exclude=["-"]), 0, "can be read only once"),
        (Inputs(train=["-", "-"]), 0, "can be read only once"),
    ],
)
def test_settings_that_disagree(inputs: Inputs, hold_out: float, what: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=what):
        prepare(tmp_path / "corpus", inputs, filters=Filters(hold_out=hold_out))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [0, -2])
def test_no_workers(workers: int, tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", jsonl(make_documents(3)))
    with pytest.raises(ConfigError, match="--workers is"):
        prepare(tmp_path / "corpus", Inputs(train=[path]), workers=workers)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


# --- Interruptions --------------------------------------------------------------------------------


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("one2set.data.corpus.prepare.write_shard", full)
    path = write(tmp_path, "a.jsonl", jsonl(make_documents(3)))
    with pytest.raises(OSError, match="No space"):
        prepare(tmp_path / "corpus", Inputs(train=[path]))
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file, and the corpus that it makes when nothing interrupts it."""
    folder = tmp_path_factory.mktemp("finished")
    source = folder / "a.jsonl"
    source.write_bytes(jsonl(make_documents(1500)))
    prepare(folder / "corpus", Inputs(train=[str(source)]))
    return source, folder / "corpus"


def start(output: Path, source: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "one2set", "prepare", str(output), "--train", str(source)]
    return subprocess.Popen(
        [*command, "--workers", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def partials(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "partial" in path.name]


def check_again(output: Path, source: Path, corpus: Path) -> None:
    """After an interruption: nothing under the name, and a second run makes the same corpus."""
    assert not output.exists()
    prepare(output, Inputs(train=[str(source)]))
    assert not partials(output.parent)
    assert tree(output) == tree(corpus)


def feed(pipe: Path, data: bytes) -> None:
    """Write into a pipe, and keep it open until its reader has gone."""
    with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
        file.write(data)
        while True:
            time.sleep(0.01)
            file.write(b"\n")  # an empty line is no record


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_an_interrupted_run_leaves_no_corpus_and_can_be_run_again(
    how: signal.Signals, share: float, finished: tuple[Path, Path], tmp_path: Path
) -> None:
    # The input is a pipe that stops before its end: the run is always interrupted in its midst.
    source, corpus = finished
    output, pipe = tmp_path / "corpus", tmp_path / "a.jsonl"
    os.mkfifo(pipe)
    data = source.read_bytes()
    feeder = threading.Thread(target=feed, args=(pipe, data[: int(len(data) * share)]))
    feeder.start()
    process = start(output, pipe)
    num_workers = 2 if share else 0
    while len(workers := descendants(process.pid)) < num_workers or not partials(tmp_path):
        assert process.poll() is None
        time.sleep(0.01)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to the workers too
    else:
        process.send_signal(how)
    _, error = process.communicate(timeout=60)
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))  # lets the feeder go that met no reader
    feeder.join()

    assert process.returncode != 0
    assert b"Traceback" not in error
    assert wait_until_ended(workers)
    assert how != signal.SIGINT or not partials(tmp_path)
    check_again(output, source, corpus)


def test_a_run_killed_while_it_works_leaves_no_corpus(
    finished: tuple[Path, Path], tmp_path: Path
) -> None:
    source, corpus = finished
    began = time.perf_counter()
    whole = start(tmp_path / "whole", source)
    whole.communicate()
    seconds = time.perf_counter() - began
    assert whole.returncode == 0
    assert tree(tmp_path / "whole") == tree(corpus)

    for moment in (0.4, 0.7, 0.95):
        output = tmp_path / str(moment)
        process = start(output, source)
        time.sleep(seconds * moment)
        workers = descendants(process.pid)
        process.kill()
        process.communicate()
        assert wait_until_ended(workers)
        if output.exists():  # it was faster this time
            assert tree(output) == tree(corpus)
        else:
            check_again(output, source, corpus)
