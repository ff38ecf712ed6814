"""Atomic writes: a file or folder appears complete or not at all."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from one2set.errors import ConfigError


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file; it replaces `path` when the block ends without an error."""
    path = path.resolve()
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; pass the path of a file")
    partial = _partial(path)
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
        partial.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Make a temporary folder; it becomes `path` when the block ends without an error."""
    path = path.resolve()
    partial = _partial(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists already; remove it or choose another path")
    try:
        with _writable(path):
            partial.mkdir()
        yield partial
        for folder, _, names in os.walk(partial):
            for name in names:
                _sync(Path(folder, name))
            _sync(Path(folder))
        if path.exists():
            # Two renames, so that the old folder stays complete until the new one is in place.
            old = path.with_name(f"{partial.name}.old")
            path.rename(old)
            try:
                partial.rename(path)
            except BaseException:
                old.rename(path)
                raise
            shutil.rmtree(old)
        else:
            partial.rename(path)
        _sync(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written ({error.strerror}); choose another path"
        ) from None


def _partial(path: Path) -> Path:
    """A hidden path beside the final one, with our process id. Leftovers of killed processes are
    removed."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    left_over = re.compile(rf"\.{re.escape(path.name)}\.partial-(\d+)(\.old)?")
    for other in path.parent.iterdir():
        match = left_over.fullmatch(other.name)
        if match and not _alive_elsewhere(int(match[1])):
            if match[2] and not path.exists():
                other.rename(path)  # killed between the two renames
            elif other.is_dir():
                shutil.rmtree(other)
            else:
                other.unlink()
    return path.with_name(f".{path.name}.partial-{os.getpid()}")


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
