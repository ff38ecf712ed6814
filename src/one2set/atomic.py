"""Files and folders that appear complete or not at all, whatever interrupts the writing."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from one2set.errors import ConfigError


@contextmanager
def complete_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; it takes its name, replacing what had it, when the block ends well."""
    path = path.resolve()
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; name a file")
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
def complete_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to fill; it takes its name when the block ends well."""
    path = path.resolve()
    partial = _partial(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists already; remove it or name another place")
    try:
        with _writable(path):
            partial.mkdir()
        yield partial
        for folder, _, names in os.walk(partial):
            for name in names:
                _sync(Path(folder, name))
            _sync(Path(folder))
        if path.exists():
            # Two renames: the old one is whole until the new one is.
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
            f"{path} cannot be written ({error.strerror}); name another place"
        ) from None


def _partial(path: Path) -> Path:
    """A hidden name beside the final one, with our process's number. What killed processes left
    under such names is removed."""
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
    # We write nothing twice at a time: our own number was another's, as containers repeat them.
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
