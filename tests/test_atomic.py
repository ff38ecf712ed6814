"""Files and folders appear complete or not at all."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from one2set.atomic import atomic_file, atomic_folder
from one2set.errors import ConfigError


def dead_process() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fill(folder: Path, text: str) -> int:
    (folder / "below").mkdir()
    return (folder / "below" / "file").write_text(text)


def own_files(_: Path) -> set[str]:
    return {"below/file"}


def interrupt(_: object, error: BaseException) -> None:
    raise error


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with atomic_file(path) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one"
    with atomic_file(path) as file:
        file.write(b"two")
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["file"]


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(path)
    link.symlink_to(path)
    for name in (path, link):
        message = f"{name.name} is a device or a pipe; name a file"
        with pytest.raises(ConfigError, match=message), atomic_file(name):
            pass
    assert path.is_fifo()
    assert names(tmp_path) == ["link", "pipe"]


@pytest.mark.parametrize(
    "error", [ValueError(), KeyboardInterrupt(), OSError(errno.ENOSPC, "full")]
)
def test_an_interrupted_file_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(type(error)), atomic_file(path) as file:
        interrupt(file.write(b"new"), error)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_disk_that_is_full_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"), atomic_file(tmp_path / "file") as file:
        file.write(b"new")
    with pytest.raises(OSError, match="No space"), atomic_folder(tmp_path / "folder") as folder:
        fill(folder, "new")
    assert names(tmp_path) == []


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "corpus"
    with atomic_folder(path) as folder:
        fill(folder, "one")
        assert not path.exists()
    assert (path / "below" / "file").read_text() == "one"
    assert names(path.parent) == ["corpus"]


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
@pytest.mark.parametrize("overwrite", [True, False])
def test_an_interrupted_folder_leaves_nothing(
    error: BaseException, overwrite: bool, tmp_path: Path
) -> None:
    path = tmp_path / "corpus"
    if overwrite:
        path.mkdir()
        fill(path, "old")
    with (
        pytest.raises(type(error)),
        atomic_folder(path, own_files=own_files if overwrite else None) as folder,
    ):
        interrupt(fill(folder, "new"), error)
    assert names(tmp_path) == (["corpus"] if overwrite else [])
    assert not overwrite or (path / "below" / "file").read_text() == "old"


def test_a_folder_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    path.mkdir()
    fill(path, "old")
    with pytest.raises(ConfigError, match="exists already"), atomic_folder(path):
        pytest.fail("the block must not run")
    with atomic_folder(path, own_files=own_files) as folder:
        fill(folder, "new")
        assert (path / "below" / "file").read_text() == "old"
    assert (path / "below" / "file").read_text() == "new"
    assert names(tmp_path) == ["corpus"]


def test_the_old_folder_is_restored_if_renaming_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "corpus"
    path.mkdir()
    fill(path, "old")
    rename = Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if ".partial-" in self.name and not self.name.endswith(".old"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(KeyboardInterrupt), atomic_folder(path, own_files=own_files) as folder:
        fill(folder, "new")
    assert (path / "below" / "file").read_text() == "old"
    assert names(tmp_path) == ["corpus"]


@pytest.mark.parametrize("own_number", [True, False])
def test_leftovers_of_killed_processes_are_removed(own_number: bool, tmp_path: Path) -> None:
    # Containers give each run the same number, so that a left-over can bear our own.
    process = os.getpid() if own_number else dead_process()
    for name in (".corpus.partial-%d", ".corpus.partial-%d.old", ".file.partial-%d"):
        (tmp_path / (name % process)).mkdir()
    (tmp_path / f".corpus2.partial-{process}").mkdir()
    (tmp_path / ".corpus.partial-x").mkdir()
    (tmp_path / "corpus").mkdir()
    with atomic_folder(tmp_path / "corpus", own_files=own_files) as folder:
        fill(folder, "new")
    with atomic_file(tmp_path / "file") as file:
        file.write(b"new")
    left = [".corpus.partial-x", f".corpus2.partial-{process}", "corpus", "file"]
    assert names(tmp_path) == left


def test_files_of_running_processes_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / f".corpus.partial-{os.getppid()}").mkdir()
    with atomic_folder(tmp_path / "corpus") as folder:
        fill(folder, "ours")
    assert names(tmp_path) == [f".corpus.partial-{os.getppid()}", "corpus"]


def test_a_folder_is_restored_after_a_kill_during_replacement(tmp_path: Path) -> None:
    old = tmp_path / f".corpus.partial-{dead_process()}.old"
    old.mkdir()
    fill(old, "old")
    with (
        pytest.raises(ConfigError, match="exists already"),
        atomic_folder(tmp_path / "corpus"),
    ):
        pytest.fail("the block must not run")
    assert (tmp_path / "corpus" / "below" / "file").read_text() == "old"
    assert names(tmp_path) == ["corpus"]


def test_unwritable_paths_are_errors(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match=r"cannot be written \(.*\); choose another path"),
        atomic_file(tmp_path / "file" / "below"),
    ):
        pytest.fail("the block must not run")
    with (
        pytest.raises(ConfigError, match=r"cannot be written \(.*\); choose another path"),
        atomic_folder(Path("/proc/corpus")),
    ):
        pytest.fail("the block must not run")
    with (
        pytest.raises(ConfigError, match="is a folder; pass the path"),
        atomic_file(tmp_path),
    ):
        pytest.fail("the block must not run")


def test_the_current_folder_is_a_folder_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    monkeypatch.chdir(tmp_path / "corpus")
    with pytest.raises(ConfigError, match="corpus exists already"), atomic_folder(Path(".")):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("place", [".", "..", "/", "~", "~/.."])
def test_some_folders_are_never_replaced(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where all files in them are ours."""
    (tmp_path / "users" / "me").mkdir(parents=True)
    (tmp_path / "work" / "here").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "users" / "me"))
    monkeypatch.chdir(tmp_path / "work" / "here")
    path = Path(place).expanduser()
    with (
        pytest.raises(ConfigError, match=r"is or contains (home|the current folder)"),
        atomic_folder(path, own_files=lambda _: set()),
    ):
        pytest.fail("the block must not run")
    assert (tmp_path / "work" / "here").is_dir()
    assert (tmp_path / "users" / "me").is_dir()


def test_a_mount_point_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == tmp_path / "disk")
    (tmp_path / "disk").mkdir()
    with (
        pytest.raises(ConfigError, match="is a mount point"),
        atomic_folder(tmp_path / "disk", own_files=own_files),
    ):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("foreign", ["thesis.tex", ".git/HEAD", "below/other", "link"])
def test_a_folder_with_anything_foreign_is_never_replaced(foreign: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    path.mkdir()
    fill(path, "old")
    added = path / foreign
    added.parent.mkdir(exist_ok=True)
    if foreign == "link":
        added.symlink_to(tmp_path)
    else:
        added.write_text("mine")
    with (
        pytest.raises(ConfigError, match=f"did not write there .{foreign}.*remove it yourself"),
        atomic_folder(path, own_files=own_files),
    ):
        pytest.fail("the block must not run")
    added.unlink()
    with (
        pytest.raises(ConfigError, match="did not write there"),
        atomic_folder(path, own_files=own_files),
    ):
        added.write_text("mine")  # meanwhile
    assert added.read_text() == "mine"
    assert (path / "below" / "file").read_text() == "old"
    assert names(tmp_path) == ["corpus"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("mine")
    with (
        pytest.raises(ConfigError, match="is a file; name a folder"),
        atomic_folder(tmp_path / "corpus", own_files=own_files),
    ):
        pytest.fail("the block must not run")


def test_an_unwritable_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither creating nor removing a file is possible there."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with (
        pytest.raises(ConfigError, match=r"cannot be written \(Read-only file system\)"),
        atomic_file(tmp_path / "file"),
    ):
        pytest.fail("the block must not run")


def test_two_threads_cannot_write_the_same_path_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with atomic_file(path) as file:
        file.write(b"first")
        with (
            ThreadPoolExecutor(1) as other,
            pytest.raises(ConfigError, match="is being written by another thread"),
        ):
            other.submit(lambda: atomic_file(path).__enter__()).result()
    assert path.read_bytes() == b"first"
    with atomic_file(path) as file:
        file.write(b"second")
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["file"]
