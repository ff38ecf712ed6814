"""Atomic writes: a file or folder appears complete or not at all."""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO

from one2set.errors import ConfigError

# Returns the names, relative to a folder, of its files that one2set wrote.
OwnFiles = Callable[[Path], Collection[str]]
_LEFTOVER = r"\.partial-(\d+)(\.old)?"  # what follows the name: the process, and what it replaces


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file; it replaces `path` when the block ends without an error."""
    if path.is_dir():
        raise ConfigError(f"{path.resolve()} is a folder; pass the path of a file")
    if path.exists() and not path.is_file():  # it would be replaced by a file, even /dev/null
        raise ConfigError(f"{path} is a device or a pipe; name a file")
    path = path.resolve()
    with _reserve_partial(path) as partial:
        try:
            with _writable(path):
                file = partial.open("xb")
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
            _sync(path.parent)
        except BaseException:
            with suppress(OSError):  # a disk that cannot be written keeps it
                partial.unlink(missing_ok=True)
            raise


@contextmanager
def atomic_folder(path: Path, *, own_files: OwnFiles | None = None) -> Iterator[Path]:
    """Make a temporary folder; it becomes `path` when the block ends without an error.

    With `own_files`, it may replace a folder that is empty or has only files of ours.
    """
    path = path.resolve()
    _check_replaceable(path, own_files)
    with _reserve_partial(path) as partial:
        _check_replaceable(path, own_files)  # a folder whose replacement was killed may be back
        try:
            with _writable(path):
                partial.mkdir()
            yield partial
            for folder, _, names in os.walk(partial):
                for name in names:
                    _sync(Path(folder, name))
                _sync(Path(folder))
            _check_replaceable(path, own_files)  # it may have changed meanwhile
            _replace_folder(path, partial)
            _sync(path.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def _replace_folder(path: Path, new: Path) -> None:
    """Rename a new folder to `path`. An old one stays complete until the new one is in place."""
    if not path.exists():
        new.rename(path)
        return
    old = path.with_name(f"{new.name}.old")
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise
    shutil.rmtree(old)


def list_files(folder: Path) -> set[str]:
    """The names of all files below a folder, relative to it. Links are files."""
    paths = set()
    for place, folders, names in os.walk(folder):
        links = (name for name in folders if os.path.islink(os.path.join(place, name)))
        paths |= {os.path.relpath(os.path.join(place, name), folder) for name in (*names, *links)}
    return paths


def _check_replaceable(path: Path, own_files: OwnFiles | None) -> None:
    """Refuse to replace what we must not: only empty folders and our own files are replaced."""
    if not path.exists():
        return
    if own_files is None:
        raise ConfigError(f"{path} exists already; remove it or choose another path")
    if not path.is_dir():
        raise ConfigError(f"{path} is a file; name a folder")
    for kind, place in (("the current folder", os.getcwd()), ("home", os.path.expanduser("~"))):
        if Path(place).resolve().is_relative_to(path):
            raise ConfigError(f"{path} is or contains {kind}, which is not replaced; name another")
    if os.path.ismount(path):
        raise ConfigError(f"{path} is a mount point, which is not replaced; name a folder in it")
    own = set(own_files(path))
    if foreign := sorted(list_files(path) - own):
        raise ConfigError(
            f"{path} has files that one2set did not write there ({', '.join(foreign[:3])}), so it "
            "is not replaced; remove it yourself, or choose another path"
        )


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written ({error.strerror}); choose another path"
        ) from None


_in_use: set[Path] = set()  # the paths that this process is writing
_in_use_lock = Lock()


@contextmanager
def _reserve_partial(path: Path) -> Iterator[Path]:
    """A hidden path beside the final one, with our process id, for this thread alone. Leftovers of
    killed processes are removed."""
    with _in_use_lock:
        if path in _in_use:
            raise ConfigError(
                f"{path} is being written by another thread; write to different paths, or in turn"
            )
        _in_use.add(path)
    try:
        with _writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path.parent, re.compile(rf"\.({re.escape(path.name)}){_LEFTOVER}"), _alive_elsewhere)
        yield path.with_name(f".{path.name}.partial-{os.getpid()}")
    finally:
        with _in_use_lock:
            _in_use.remove(path)


def clear_leftovers(folder: Path) -> None:
    """Remove what killed processes have left in a folder, and put back what they were replacing.
    No other process may be writing there."""
    _clear(folder, re.compile(rf"\.(.+){_LEFTOVER}"), lambda _: False)


def _clear(folder: Path, pattern: re.Pattern[str], is_alive: Callable[[int], bool]) -> None:
    for leftover in folder.iterdir() if folder.exists() else ():
        match = pattern.fullmatch(leftover.name)
        if match and not is_alive(int(match[2])):
            if match[3] and not (folder / match[1]).exists():
                leftover.rename(folder / match[1])  # killed between the two renames
            elif leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()


def _alive_elsewhere(process: int) -> bool:
    # A leftover with our own id is from an earlier process: containers reuse ids.
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
