"""Unfinished outputs: what is kept, who may write, and what may be replaced."""

import gzip
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from one2set.bulk import resume as module
from one2set.bulk.resume import (
    Journal,
    ResumeState,
    Unfinished,
    find_finished,
    unfinished_output,
)
from one2set.errors import ConfigError, DataError

SETTINGS = {"options": {"beam": 1}}
JOURNAL = ".one2set.jsonl"


def output(
    path: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    is_folder: bool = False,
    settings: Mapping[str, Any] = SETTINGS,
) -> AbstractContextManager[Unfinished]:
    return unfinished_output(
        path,
        is_folder=is_folder,
        settings=settings,
        resume=resume,
        overwrite=overwrite,
        format="jsonl",
    )


def add(unfinished: Unfinished, *lines: bytes) -> None:
    """Add each line as a chunk of its own."""
    done = unfinished.state.done
    for number, line in enumerate(lines, done + 1):
        unfinished.add([line], end=number, digest=f"d{number}")


def write(path: Path, *lines: bytes, **how: Any) -> int:
    """Write lines as one run; how many were done before."""
    with output(path, **how) as unfinished:
        add(unfinished, *lines)
    return unfinished.state.done


def interrupt(path: Path, *lines: bytes, **how: Any) -> None:
    """Write lines as a run that does not come to its end."""
    with suppress(KeyboardInterrupt), output(path, **how) as unfinished:
        add(unfinished, *lines)
        raise KeyboardInterrupt


def finished(path: Path, settings: Mapping[str, Any] = SETTINGS) -> ResumeState | None:
    """The state of a complete output of the kind that is there."""
    return find_finished(path, settings, is_folder=path.is_dir())


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name[0] != ".")


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "p.txt"
    with output(path) as unfinished:
        add(unfinished, b"a\n")
        assert not path.exists()
        assert (path.parent / "p.txt.partial" / "00000.lines").read_bytes() == b"a\n"
    assert path.read_bytes() == b"a\n"
    assert sorted(os.listdir(path.parent)) == [f".p.txt{JOURNAL}", "p.txt"]


@pytest.mark.parametrize("tail", [b"", b"tor", b"\0\0\0", b"\0\0\n\0\0", b"c\0d\n"])
def test_complete_lines_are_kept_and_a_torn_tail_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n", b"bb\n")
    with (tmp_path / "p.txt.partial" / "00000.lines").open("ab") as file:
        file.write(tail)
    assert not path.exists()
    assert write(path, b"c\n", resume=True) == 2
    assert path.read_bytes() == b"a\nbb\nc\n"


@pytest.mark.parametrize(
    "tail", [b'{"end": 3, "dig', b'{"end": 3, "digest": "d3"}', b"\0\0\0", b"[]\n", b"{}\n\0"]
)
def test_a_torn_journal_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n", b"bb\n")
    with (tmp_path / "p.txt.partial" / JOURNAL).open("ab") as file:
        file.write(tail)
    with output(path, resume=True) as unfinished:
        assert unfinished.state == ResumeState(2, {1: "d1", 2: "d2"})
        add(unfinished, b"c\n")
    assert path.read_bytes() == b"a\nbb\nc\n"


def test_lines_without_an_entry_in_the_journal_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n", b"bb\n")
    journal = tmp_path / "p.txt.partial" / JOURNAL
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:2]))
    assert write(path, b"BB\n", resume=True) == 1
    assert path.read_bytes() == b"a\nBB\n"


def test_nothing_is_replaced_without_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    write(path, b"old\n")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        write(path, b"new\n")
    write(path, b"new\n", overwrite=True)
    assert path.read_bytes() == b"new\n"


def test_an_interrupted_output_is_not_overwritten_without_a_flag(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n")
    lines = tmp_path / "p.txt.partial" / "00000.lines"
    with pytest.raises(ConfigError, match="pass --resume"):
        write(path, b"b\n")
    with pytest.raises(
        ConfigError, match=r"other settings: options beam was 1, is 2; .*--overwrite to start again"
    ):
        write(path, resume=True, settings={"options": {"beam": 2}})
    assert lines.read_bytes() == b"a\n"
    write(path, b"b\n", overwrite=True)
    assert path.read_bytes() == b"b\n"
    assert visible(tmp_path) == ["p.txt"]


def test_differences_are_reported_briefly(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    interrupt(path, b"a\n", settings={"model": {"a": "x" * 500}, "top": None})
    with pytest.raises(ConfigError) as caught:
        write(path, resume=True, settings={"model": {"b": 1}, "top": 5, "new": [1]})
    message = str(caught.value)
    assert 'model a was "xxx' in message
    assert "model b was null, is 1, new was null, is [1], top was null, is 5;" in message
    assert len(message) < 500


@pytest.mark.parametrize("settings", [SETTINGS, {"beam": 2}])
def test_two_processes_cannot_write_one_output(tmp_path: Path, settings: Any) -> None:
    """Whatever their settings, and with --overwrite too."""
    path = tmp_path / "p.txt"
    with output(path) as unfinished:
        add(unfinished, b"a\n")
        for how in ({"resume": True}, {"overwrite": True}, {}):
            with pytest.raises(ConfigError, match="another process is writing"):
                write(path, settings=settings, **how)
    assert path.read_bytes() == b"a\n"


def test_names_may_contain_glob_characters(tmp_path: Path) -> None:
    interrupt(tmp_path / "out1.jsonl", b"a\n")
    write(tmp_path / "out[1].jsonl", b"b\n", overwrite=True)
    assert write(tmp_path / "out1.jsonl", b"c\n", resume=True) == 1
    assert (tmp_path / "out[1].jsonl").read_bytes() == b"b\n"


def test_unwritable_outputs_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        write(tmp_path / "file" / "p.txt")
    with pytest.raises(ConfigError, match="too long a name"):
        write(tmp_path / ("p" * 250))
    with pytest.raises(ConfigError, match="is a file; name another"):
        write(tmp_path / "file", is_folder=True, overwrite=True)
    assert visible(tmp_path) == ["file"]


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for is_folder in (False, True):
        with pytest.raises(ConfigError, match="pipe is a device or a pipe; name a file, or leave"):
            write(path, b"a\n", is_folder=is_folder, overwrite=True)
    assert path.is_fifo()
    assert visible(tmp_path) == ["pipe"]


def test_foreign_partial_folders_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "p.txt.partial"
    other.mkdir()
    (other / "thesis.tex").touch()
    for how in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(ConfigError, match="is not an unfinished output"):
            write(tmp_path / "p.txt", **how)
    assert os.listdir(other) == ["thesis.tex"]
    (other / "thesis.tex").unlink()
    interrupt(tmp_path / "p.txt", b"a\n")
    (other / "thesis.tex").touch()
    with pytest.raises(ConfigError, match="contains files that one2set did not write"):
        write(tmp_path / "p.txt", overwrite=True)
    assert (other / "thesis.tex").exists()


def test_an_output_without_lines_leaves_nothing(tmp_path: Path) -> None:
    interrupt(tmp_path / "p.txt")
    interrupt(tmp_path / "parts", is_folder=True)
    assert not list(tmp_path.iterdir())


def test_lines_are_packed_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "p.txt.gz"
    interrupt(path, b"a\n")
    write(path, b"b\n", resume=True)
    assert gzip.decompress(path.read_bytes()) == b"a\nb\n"
    assert visible(tmp_path) == ["p.txt.gz"]


@pytest.mark.parametrize("removed", ["p.txt.partial", "p.txt.partial/00000.lines", ""])
def test_a_removed_output_is_noticed_at_the_next_write(tmp_path: Path, removed: str) -> None:
    folder = tmp_path / "there"
    with suppress(KeyboardInterrupt), output(folder / "p.txt") as unfinished:
        add(unfinished, b"a\n")
        target = folder / removed
        target.unlink() if target.is_file() else shutil.rmtree(target)
        with pytest.raises(DataError, match="was removed while it was being written; start again"):
            unfinished.add([b"b\n"], end=2, digest="d2")
        raise KeyboardInterrupt


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_an_output_that_appears_meanwhile_is_not_replaced(
    tmp_path: Path, is_folder: bool, name: str
) -> None:
    path = tmp_path / name
    theirs = path / "theirs" if is_folder else path

    def write_meanwhile() -> None:
        with output(path, is_folder=is_folder) as unfinished:
            add(unfinished, b"a\n")
            theirs.parent.mkdir(exist_ok=True)
            theirs.write_text("mine")

    with pytest.raises(ConfigError, match=r"appeared while it was being made.*pass --resume"):
        write_meanwhile()
    assert theirs.read_text() == "mine"
    theirs.unlink()
    assert write(path, resume=True, is_folder=is_folder) == 1
    assert visible(tmp_path) == [name]
    if is_folder:
        assert parts_of(path) == {"part-00000.jsonl": b"a\n"}
    else:
        data = path.read_bytes()
        assert (gzip.decompress(data) if name.endswith("gz") else data) == b"a\n"


def test_an_interrupted_replacement_is_resumed(tmp_path: Path) -> None:
    """--resume needs no second --overwrite."""
    path = tmp_path / "p.txt"
    write(path, b"old\n")
    interrupt(path, b"new\n", overwrite=True)
    assert path.read_bytes() == b"old\n"
    assert finished(path) is None
    assert write(path, b"er\n", resume=True) == 1
    assert path.read_bytes() == b"new\ner\n"


def test_only_an_output_of_the_same_settings_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    assert finished(path) is None
    write(path, b"a\n", b"b\n")
    assert finished(path) == ResumeState(2, {1: "d1", 2: "d2"}, complete=True)
    with pytest.raises(ConfigError, match="made with other settings: options beam was 1, is 2"):
        finished(path, {"options": {"beam": 2}})
    other = tmp_path / "mine.txt"
    other.write_text("mine")
    with pytest.raises(ConfigError, match="no record of what it was made of"):
        finished(other)


# --- Folders of parts -----------------------------------------------------------------------------


def parts_of(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in visible(path)}


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_of_parts_continued_wherever_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """An empty folder that is there already, perhaps as a mount point, stays the same folder."""
    monkeypatch.setattr(module, "PART", 3)
    lines = [b"%d\n" % number for number in range(8)]
    whole = {
        "part-00000.jsonl": b"0\n1\n2\n",
        "part-00001.jsonl": b"3\n4\n5\n",
        "part-00002.jsonl": b"6\n7\n",
    }
    for cut in range(9):
        path = tmp_path / str(cut)
        if exists:
            path.mkdir()
        before = path.stat().st_ino if exists else None
        interrupt(path, *lines[:cut], is_folder=True)
        assert path.exists() == exists
        assert not exists or not visible(path)
        assert write(path, *lines[cut:], resume=True, is_folder=True) == cut
        assert parts_of(path) == whole
        assert not exists or path.stat().st_ino == before
        digests = {number: f"d{number}" for number in range(1, 9)}
        assert finished(path) == ResumeState(8, digests, complete=True)
        assert os.listdir(tmp_path) == [path.name]
        assert sorted(os.listdir(path)) == [JOURNAL, *whole]
        shutil.rmtree(path)


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_folder_and_a_file_do_not_resume_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    """A slash that was forgotten must not lose the finished parts."""
    monkeypatch.setattr(module, "PART", 2)
    path = tmp_path / "out"
    interrupt(path, b"1\n", b"2\n", b"3\n", is_folder=is_folder)
    with pytest.raises(
        ConfigError, match=r"with other settings: output was .*resume it with those"
    ):
        write(path, b"4\n", resume=True, is_folder=not is_folder)
    assert write(path, b"4\n", resume=True, is_folder=is_folder) == 3
    files = parts_of(path).values() if is_folder else [path.read_bytes()]
    assert b"".join(files) == b"1\n2\n3\n4\n"
    with pytest.raises(ConfigError, match=r"is complete, but was made with .*: output was"):
        find_finished(path, SETTINGS, is_folder=not is_folder)


def test_an_unfinished_file_that_has_lost_its_lines_is_not_removed(tmp_path: Path) -> None:
    path, folder = tmp_path / "p.txt", tmp_path / "p.txt.partial"
    interrupt(path, b"a\n")
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"complete":true}\n')
    (folder / "00000.lines").rename(folder / "part-00000.jsonl")
    with pytest.raises(
        DataError, match=r"p\.txt\.partial: is damaged: it has no lines; pass --over"
    ):
        write(path, resume=True)
    assert (folder / "part-00000.jsonl").read_bytes() == b"a\n"


def test_full_parts_leave_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 1)
    interrupt(tmp_path / "p", b"a\n", b"b\n", is_folder=True)
    assert write(tmp_path / "p", resume=True, is_folder=True) == 2
    assert parts_of(tmp_path / "p") == {"part-00000.jsonl": b"a\n", "part-00001.jsonl": b"b\n"}


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_without_lines_can_be_replaced(tmp_path: Path, exists: bool) -> None:
    """All documents may have been skipped."""
    path = tmp_path / "p"
    if exists:
        path.mkdir()
    write(path, is_folder=True)
    assert os.listdir(path) == [JOURNAL]
    write(path, b"a\n", is_folder=True, overwrite=True)
    assert parts_of(path) == {"part-00000.jsonl": b"a\n"}


def test_a_folder_replaces_only_folders_of_one2set(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    write(path, b"a\n", is_folder=True)
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        write(path, is_folder=True)
    write(path, b"b\n", is_folder=True, overwrite=True)
    assert parts_of(path) == {"part-00000.jsonl": b"b\n"}
    (path / "thesis.txt").touch()
    with pytest.raises(ConfigError, match="contains files that one2set did not write"):
        write(path, is_folder=True, overwrite=True)
    assert (path / "thesis.txt").exists()
    (path / "thesis.txt").unlink()
    (path / JOURNAL).unlink()  # parts of another program
    with pytest.raises(ConfigError, match="contains files that one2set did not write"):
        write(path, is_folder=True, overwrite=True)


def test_the_current_folder_can_be_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path(), b"a\n", is_folder=True)
    assert parts_of(tmp_path) == {"part-00000.jsonl": b"a\n"}


class KillError(Exception):
    """A kill at some point of the end of a run."""


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz"])
def test_a_kill_while_the_output_is_completed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool, old: bool, name: str
) -> None:
    """Before every change of the file system from the last line on, a run dies; the next one
    resumes and comes to the same output."""
    monkeypatch.setattr(module, "PART", 2)
    lines = [b"1\n", b"2\n", b"3\n"]
    count = left = 0

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == -1:
                raise KillError
            return change(*arguments, **named)

        return changed

    while True:
        path = tmp_path / f"{count}" / name
        if old:
            write(path, *[b"old\n"] * 5, is_folder=is_folder)
        left = count
        with monkeypatch.context() as patch:
            for change in ("replace", "rename", "unlink"):
                patch.setattr(Path, change, counted(getattr(Path, change)))
            patch.setattr(Journal, "mark", counted(Journal.mark))
            patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
            killed = True
            with suppress(KillError):
                write(path, *lines, is_folder=is_folder, overwrite=old)
                killed = False
        if not killed:
            break
        if finished(path) is None:
            with output(path, resume=True, is_folder=is_folder) as unfinished:
                add(unfinished, *lines[unfinished.state.done :])
        state = finished(path)
        assert state is not None
        assert state.done == 3
        for left_empty in (path / ".partial", path.with_name(f"{name}.partial")):
            if left_empty.exists():
                left_empty.rmdir()  # fails if there is anything in it
        assert visible(path.parent) == [name]
        if is_folder:
            whole = {"part-00000.jsonl": b"1\n2\n", "part-00001.jsonl": b"3\n"}
            assert parts_of(path) == whole
        else:
            data = path.read_bytes()
            assert (gzip.decompress(data) if name.endswith("gz") else data) == b"".join(lines)
        count += 1
    assert count > 2


@pytest.mark.parametrize("is_folder", [False, True])
def test_an_empty_partial_folder_is_none(tmp_path: Path, is_folder: bool) -> None:
    """It is left by a kill at the very end, or at the very beginning."""
    path = tmp_path / "p"
    beside = tmp_path / "p.partial"
    beside.mkdir()
    assert finished(path) is None
    assert write(path, b"a\n", is_folder=is_folder, resume=True) == 0
    beside.mkdir()
    state = finished(path)
    assert state is not None
    assert state.done == 1
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        write(path, b"b\n", is_folder=is_folder, resume=True)
    write(path, b"b\n", is_folder=is_folder, overwrite=True)
    assert (path / "part-00000.jsonl" if is_folder else path).read_bytes() == b"b\n"


def test_a_journal_records_the_settings_of_an_output(tmp_path: Path) -> None:
    write(tmp_path / "p.txt", b"a\n")
    journal = (tmp_path / f".p.txt{JOURNAL}").read_bytes()
    rows = [orjson.loads(line) for line in journal.splitlines()]
    assert rows == [
        {"settings": {**SETTINGS, "output": "a file, OUT"}, "overwrite": False},
        {"end": 1, "digest": "d1"},
        {"complete": True},
    ]
