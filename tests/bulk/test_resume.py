"""What is being written: complete lines, torn ones, and who may write."""

import gzip
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from one2set.bulk import resume
from one2set.bulk.resume import ResumeState, partial_file, partial_folder
from one2set.errors import ConfigError

SETTINGS = {"beam": 1}


def partial_of(path: Path) -> Path:
    (found,) = path.parent.glob(f"{path.name}.partial-*")
    return found


def write(path: Path, *lines: bytes, resume: bool = False, overwrite: bool = False) -> int:
    """Write lines as one run; how many were done before."""
    with partial_file(path, settings=SETTINGS, resume=resume, overwrite=overwrite) as file:
        for line in lines:
            file.write(line)
    return file.state.done


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


def test_where_nothing_was_written_nothing_is_left(tmp_path: Path) -> None:
    interrupt(tmp_path / "p.txt")
    with suppress(KeyboardInterrupt), folder(tmp_path / "parts"):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_lines_are_packed_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "p.txt.gz"
    interrupt(path, b"a\n")
    assert partial_of(path).read_bytes() == b"a\n"
    write(path, b"b\n", resume=True)
    assert gzip.decompress(path.read_bytes()) == b"a\nb\n"
    assert [other.name for other in tmp_path.iterdir()] == ["p.txt.gz"]


def folder(
    path: Path, *, resume: bool = True, overwrite: bool = False
) -> "AbstractContextManager[resume.Parts]":
    return partial_folder(
        path, settings=SETTINGS, resume=resume, overwrite=overwrite, format="jsonl"
    )


def parts_of(path: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in sorted(path.iterdir())}


def test_a_folder_of_parts_continued_wherever_it_was_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume, "PART", 3)
    lines = [b"%d\n" % number for number in range(8)]
    whole = {
        "part-00000.jsonl": b"0\n1\n2\n",
        "part-00001.jsonl": b"3\n4\n5\n",
        "part-00002.jsonl": b"6\n7\n",
    }
    for cut in range(9):
        path = tmp_path / str(cut)
        with suppress(KeyboardInterrupt), folder(path) as parts:
            for line in lines[:cut]:
                parts.write(line)
            raise KeyboardInterrupt
        assert not path.exists()
        with folder(path) as parts:
            assert parts.state.done == cut
            state = b"".join(parts.state.read())
            assert state == b"".join(lines[parts.state.packed : cut])
            for line in lines[cut:]:
                parts.write(line)
        assert parts_of(path) == whole
        assert not list(tmp_path.glob("*.partial-*"))


def test_full_parts_leave_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "PART", 1)
    with suppress(KeyboardInterrupt), folder(tmp_path / "p") as parts:
        parts.write(b"a\n")
        parts.write(b"b\n")
        raise KeyboardInterrupt
    with folder(tmp_path / "p") as parts:
        assert parts.state[:2] == (1, 1)
    assert parts_of(tmp_path / "p") == {"part-00000.jsonl": b"a\n", "part-00001.jsonl": b"b\n"}


def test_a_folder_replaces_only_what_is_its_like(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.mkdir()
    with folder(path) as parts:  # an empty one is as good as none
        parts.write(b"a\n")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"), folder(path):
        pass
    with folder(path, resume=False, overwrite=True) as parts:
        assert parts.state == ResumeState()
        parts.write(b"b\n")
        with pytest.raises(ConfigError, match="another process"), folder(path, overwrite=True):
            pass
    assert parts_of(path) == {"part-00000.jsonl": b"b\n"}
    (path / "thesis.txt").touch()
    with (
        pytest.raises(ConfigError, match="contains other files"),
        folder(path, resume=False, overwrite=True),
    ):
        pass
    assert (path / "thesis.txt").exists()
