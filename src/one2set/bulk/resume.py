"""Unfinished output, which another process can resume after a kill.

Lines go to a file such as `predictions.jsonl.partial-0f1e…`; the suffix is a fingerprint of the
settings. Complete lines in it are done, however the process that wrote them ended. When all lines
are written, they are packed and get the final name. An output folder also has such a name until it
is complete; it holds parts of `PART` lines.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from one2set.bulk.output_formats import Format, pack
from one2set.config import fingerprint
from one2set.errors import ConfigError

PART = 1 << 15  # lines
_SECONDS_BETWEEN_SYNCS = 5.0


class ResumeState(NamedTuple):
    """What an earlier run has written: lines in packed parts, and lines in a file."""

    packed: int = 0
    lines: int = 0
    file: Path | None = None

    @property
    def done(self) -> int:
        return self.packed + self.lines

    def read(self) -> Iterator[bytes]:
        """The lines of the file."""
        if self.file is not None:
            with self.file.open("rb") as file:
                yield from islice(file, self.lines)


class Partial:
    """A file of lines; an earlier run may have written some of them."""

    def __init__(self, file: IO[bytes]) -> None:
        """Keep the complete lines of a file and truncate the rest."""
        self._file = file
        done = end = 0
        for line in file:
            # After a power failure a file can end in zeros.
            if not line.endswith(b"\n") or b"\0" in line:
                break
            done, end = done + 1, end + len(line)
        file.seek(end)
        file.truncate()
        self.state = ResumeState(lines=done, file=Path(file.name))
        self._synced = time.monotonic()

    def write(self, line: bytes) -> None:
        self._file.write(line)
        if time.monotonic() - self._synced > _SECONDS_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> None:
        """Flush to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


class Parts:
    """A folder of files with `PART` lines each, except the last."""

    def __init__(self, folder: Path, format: Format, stack: ExitStack) -> None:
        self._folder, self._format, self._stack = folder, format, stack
        self._number = sum(1 for _ in folder.glob(f"part-*.{format}"))
        self.state = ResumeState(packed=self._number * PART)
        self._part: Partial | None = None
        if list(folder.glob("part-*.partial-*")):
            self._part = self._open()
            self.state = self._part.state._replace(packed=self.state.packed)
        self._count = self.state.lines

    def write(self, line: bytes) -> None:
        if self._part is None or self._count == PART:
            self._close()
            self._part, self._count = self._open(), 0
        self._part.write(line)
        self._count += 1

    def _open(self) -> Partial:
        path = self._folder / f"part-{self._number:05}.{self._format}"
        part = partial_file(path, settings={}, resume=True, overwrite=False, format=self._format)
        return self._stack.enter_context(part)

    def _close(self) -> None:
        if self._part is not None:
            self._stack.close()  # without an error: the part is packed
            self._number += 1


@contextmanager
def partial_file(
    path: Path,
    *,
    settings: Mapping[str, Any],
    resume: bool,
    overwrite: bool,
    format: Format = "jsonl",
) -> Iterator[Partial]:
    """Open a file to write. It gets its name when the block ends without an error; otherwise a run
    with equal settings (plain values) can resume it."""
    partial, others = _names(path, settings, resume, overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = partial.open("r+b" if partial.exists() else "x+b")
    except OSError as error:
        raise ConfigError(f"{partial} cannot be written ({error.strerror})") from None
    with file:
        _lock(file.fileno(), partial)
        if not resume:
            file.truncate()
        _remove(others)
        lines = Partial(file)
        try:
            yield lines
        except BaseException:
            file.flush()
            if not os.fstat(file.fileno()).st_size:
                partial.unlink()  # there is nothing to resume
            raise
        lines.sync()
        pack(partial, path, format)


@contextmanager
def partial_folder(
    path: Path, *, settings: Mapping[str, Any], resume: bool, overwrite: bool, format: Format
) -> Iterator[Parts]:
    """Like `partial_file`, for a folder of parts."""
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
    partial, others = _names(path, settings, resume, overwrite)
    if path.exists() and not _holds_parts(path):
        raise ConfigError(f"{path} contains other files; remove it, or name another folder")
    try:
        if not resume and partial.exists():
            shutil.rmtree(partial)
        partial.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{partial} cannot be written ({error.strerror})") from None
    handle = os.open(partial, os.O_RDONLY)
    try:
        _lock(handle, partial)
        _remove(others)
        with ExitStack() as stack:
            yield Parts(partial, format, stack)
        if path.exists():
            shutil.rmtree(path)
        partial.rename(path)
    finally:
        os.close(handle)
        if partial.exists() and not any(partial.iterdir()):
            partial.rmdir()


def _names(
    path: Path, settings: Mapping[str, Any], resume: bool, overwrite: bool
) -> tuple[Path, list[Path]]:
    """The name of the unfinished output, and the leftovers of runs with other settings."""
    partial = path.with_name(f"{path.name}.partial-{fingerprint(settings)}")
    others = [other for other in path.parent.glob(f"{path.name}.partial-*") if other != partial]
    if not overwrite:
        if path.exists():
            raise ConfigError(f"{path} exists already; pass --overwrite, or name another file")
        if others:
            raise ConfigError(
                f"{others[0]} was started with another model, input or options; "
                "resume it with those, or pass --overwrite to start again"
            )
        if partial.exists() and not resume:
            raise ConfigError(
                f"{partial} was left by an interrupted run; pass --resume to continue it, "
                "or --overwrite to start again"
            )
    return partial, others


def _holds_parts(folder: Path) -> bool:
    return folder.is_dir() and all(each.name.startswith("part-") for each in folder.iterdir())


def _lock(handle: int, partial: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ConfigError(f"another process is writing {partial}; wait until it ends") from None


def _remove(others: list[Path]) -> None:
    for other in others:
        if other.is_dir():
            shutil.rmtree(other)
        else:
            other.unlink()
