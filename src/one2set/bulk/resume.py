"""Unfinished output, which another process can resume after a kill.

    OUT.partial/            OUT/.partial if the folder OUT exists, perhaps as a mount point
        .one2set.jsonl      the journal: settings, and digests of the input as it is read
        00000.lines         finished lines of the part that is being written
        part-00000.jsonl …  finished parts of `PART` lines, if OUT is a folder

Complete lines are done, however the process that wrote them ended. When all are written, they are
packed and get their final name. The journal stays, in a folder under its name and beside a file
as `.OUT.one2set.jsonl`: by it `--resume` knows whether an output is complete.
"""

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson

from one2set.bulk.output_formats import Format, pack
from one2set.errors import ConfigError, DataError

PART = 1 << 15  # lines
_SECONDS_BETWEEN_SYNCS = 5.0
_LONGEST_NAME = 255  # bytes of a file name
_JOURNAL, _PARTIAL_FOLDER = ".one2set.jsonl", ".partial"
_PART_NAME = re.compile(r"part-\d{5,}\.\w+")
_UNFINISHED_NAME = re.compile(rf"\d{{5,}}\.lines|{_PART_NAME.pattern}|\..*\.partial-\d+")


@dataclass(frozen=True, slots=True)
class ResumeState:
    """What earlier runs have done: a number of documents, and digests of the input up to the ends
    of its chunks, by number of documents."""

    done: int = 0
    digests: Mapping[int, str] = field(default_factory=dict)
    complete: bool = False  # no more documents can be added


class Journal:
    """What an output is made of. Its entries are written before the lines that they describe."""

    def __init__(self, file: IO[bytes], settings: Mapping[str, Any], *, overwrite: bool) -> None:
        """Continue the journal in a file. An empty one gets these settings; others must have the
        same."""
        self._file = file
        entries, size = _read_journal(file)
        file.seek(size)
        file.truncate()
        if entries is None:
            entries = _Entries(_plain(settings), overwrite=overwrite)
            self._append({"settings": entries.settings, "overwrite": overwrite})
        elif differences := _differences(entries.settings, _plain(settings)):
            raise ConfigError(
                f"{Path(file.name).parent} was started with other settings: {differences}; "
                "resume it with those, or pass --overwrite to start again"
            )
        self.entries = entries

    def add(self, end: int, digest: str) -> None:
        """Add the digest of the input up to a number of documents."""
        if self.entries.digests.get(end) != digest:
            self._append({"end": end, "digest": digest})
            self.entries.digests[end] = digest

    def mark(self, name: str) -> None:
        """Add a mark: `complete` or `cleared`."""
        self._append({name: True})
        self.sync()
        setattr(self.entries, name, True)

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def _append(self, entry: Mapping[str, Any]) -> None:
        self._file.write(orjson.dumps(entry) + b"\n")
        self._file.flush()


@dataclass(slots=True)
class _Entries:
    """The entries of a journal."""

    settings: dict[str, Any]
    overwrite: bool = False  # an existing output may be replaced
    digests: dict[int, str] = field(default_factory=dict)
    complete: bool = False  # all lines are written
    cleared: bool = False  # files of a replaced output are gone


def _read_journal(file: IO[bytes]) -> tuple[_Entries | None, int]:
    """The entries of a journal, and its size up to the last complete one."""
    entries, size = None, 0
    for line in file:
        if not line.endswith(b"\n"):
            break  # whole or not: the next entry would be glued to it
        try:
            entry = orjson.loads(line)
            if entries is None:
                entries = _Entries(dict(entry["settings"]), bool(entry["overwrite"]))
            elif "end" in entry:
                entries.digests[int(entry["end"])] = str(entry["digest"])
            else:
                entries.complete |= "complete" in entry
                entries.cleared |= "cleared" in entry
        except (ValueError, KeyError, TypeError):
            break  # torn by a power failure, like all that follows
        size += len(line)
    return entries, size


class Unfinished:
    """Lines in a folder of their own, from which `_deliver` makes the output."""

    def __init__(self, folder: Path, journal: Journal, format: Format, part: int | None) -> None:
        """Continue what is in the folder. `part` is the number of lines of a part; None for one
        part of any size."""
        self._folder, self._journal, self._format, self._part = folder, journal, format, part
        self._number = len(_parts(folder))
        self._file: IO[bytes] | None = None
        if journal.entries.complete:  # killed at the very end
            digests = journal.entries.digests
            self.state = ResumeState(max(digests, default=0), digests, complete=True)
            return
        for stale in range(self._number):  # killed after packing
            self._lines_path(stale).unlink(missing_ok=True)
        packed = self._number * (part or 0)
        covered = max(journal.entries.digests, default=0)
        if packed > covered:
            fix = "pass --overwrite to start again"
            raise DataError("is damaged: its journal is too short", fix=fix, path=folder)
        self._synced = time.monotonic()
        self._file = self._open()
        self._count = _keep_complete_lines(self._file, covered - packed)
        self.state = ResumeState(packed + self._count, dict(journal.entries.digests))

    def add(self, lines: Sequence[bytes], *, end: int, digest: str) -> None:
        """Write lines of a chunk of the input; `digest` is that of the input up to its `end`."""
        if self._file is None:
            assert not lines, "a source has no more documents for a complete state"
            return
        self._journal.add(end, digest)
        for line in lines:
            if self._count == self._part:
                self._pack(self._file)
                self._file, self._count = self._open(), 0
            self._file.write(line)
            self._count += 1
        self._file.flush()
        self._check_there(self._file)
        if time.monotonic() - self._synced > _SECONDS_BETWEEN_SYNCS:
            self._sync(self._file)

    def finish(self) -> None:
        """Note that all lines are there."""
        if self._file is None:
            return
        self._sync(self._file)
        self._file.close()
        # Before the last part is packed: it may be short, so that the number of parts would not
        # tell a later run how many lines there are.
        self._journal.mark("complete")

    def close(self) -> None:
        """Close the file of lines. The folder is removed if there is nothing to resume."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        something = self._number or _size(self._lines_path(0)) or self._journal.entries.complete
        if not something:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _open(self) -> IO[bytes]:
        path = self._lines_path(self._number)
        return path.open("r+b" if path.exists() else "x+b")

    def _pack(self, file: IO[bytes]) -> None:
        self._sync(file)
        file.close()
        _pack_part(self._lines_path(self._number), self._format)
        self._number += 1

    def _sync(self, file: IO[bytes]) -> None:
        self._journal.sync()
        file.flush()
        os.fsync(file.fileno())
        self._synced = time.monotonic()

    def _lines_path(self, number: int) -> Path:
        return self._folder / f"{number:05}.lines"

    def _check_there(self, file: IO[bytes]) -> None:
        path = self._lines_path(self._number)
        if not _is_at(file, path):
            raise DataError("was removed while it was being written", fix="start again", path=path)


@contextmanager
def unfinished_output(
    path: Path,
    *,
    is_folder: bool,
    settings: Mapping[str, Any],
    resume: bool,
    overwrite: bool,
    format: Format,
) -> Iterator[Unfinished]:
    """Open an output to write. It gets its name when the block ends without an error; otherwise a
    run with equal settings (plain values) can resume it."""
    path = Path(os.path.abspath(path))
    folder = _unfinished_folder(path)
    if not (resume and _holds_anything(folder)):
        _check_target(path, is_folder=is_folder, overwrite=overwrite)
    with _locked(folder) as file:
        _clear_or_refuse_unfinished(folder, path, resume=resume, overwrite=overwrite)
        journal = Journal(file, _with_kind(settings, is_folder), overwrite=overwrite)
        output = Unfinished(folder, journal, format, PART if is_folder else None)
        try:
            yield output
            output.finish()
            _deliver(folder, path, journal, format, is_folder=is_folder)
        finally:
            output.close()


def find_finished(
    path: Path, settings: Mapping[str, Any], *, is_folder: bool
) -> ResumeState | None:
    """The state of a complete output; None if there is none. Raises an error if it was made with
    other settings, or is not known to be complete."""
    path = Path(os.path.abspath(path))
    if _holds_anything(_unfinished_folder(path)) or not path.exists():
        return None
    if path.is_dir() and not any(path.iterdir()):
        return None
    journal = path / _JOURNAL if path.is_dir() else _journal_beside(path)
    try:
        with journal.open("rb") as file:
            entries, _ = _read_journal(file)
    except OSError:
        entries = None
    if entries is None or not entries.complete:
        raise ConfigError(
            f"{path} exists, and there is no record of what it was made of; pass --overwrite to "
            "make it again, or name another output"
        )
    if differences := _differences(entries.settings, _plain(_with_kind(settings, is_folder))):
        raise ConfigError(
            f"{path} is complete, but was made with other settings: {differences}; pass "
            "--overwrite to make it again, or name another output"
        )
    return ResumeState(max(entries.digests, default=0), entries.digests, complete=True)


def _with_kind(settings: Mapping[str, Any], is_folder: bool) -> dict[str, Any]:
    """Settings, with what the output is: `-o out` and `-o out/` share the folder `out.partial`, but
    must not resume each other."""
    return {**settings, "output": "a folder, OUT/" if is_folder else "a file, OUT"}


def _unfinished_folder(path: Path) -> Path:
    beside = path.with_name(f"{path.name}.partial") if path.name else path / _PARTIAL_FOLDER
    return path / _PARTIAL_FOLDER if path.is_dir() and not _holds_anything(beside) else beside


def _holds_anything(folder: Path) -> bool:
    """Whether there is an unfinished output. A kill at the very end leaves an empty folder."""
    try:
        return any(folder.iterdir())
    except OSError:
        return folder.exists()  # and cannot be read, which is reported when it is locked


def _check_target(path: Path, *, is_folder: bool, overwrite: bool) -> None:
    """Refuse to replace an output without --overwrite, or anything that one2set did not write."""
    if len(os.fsencode(f".{path.name}{_JOURNAL}")) > _LONGEST_NAME:
        raise ConfigError(f"{path} has too long a name; name another output")
    if not path.exists():
        return
    if not path.is_file() and not path.is_dir():
        raise ConfigError(
            f"{path} is a device or a pipe; name a file, or leave out --output to write to "
            "standard output"
        )
    if path.is_dir() != is_folder:
        kind = "a folder" if path.is_dir() else "a file"
        raise ConfigError(f"{path} is {kind}; name another output")
    names = {file.name for file in path.iterdir()} - {_PARTIAL_FOLDER} if is_folder else {path.name}
    if is_folder and names and (_JOURNAL not in names or _find_foreign(names)):
        raise ConfigError(
            f"{path} contains files that one2set did not write; move them elsewhere, or name "
            "another folder"
        )
    if names and not overwrite:
        raise ConfigError(f"{path} exists already; pass --overwrite, or name another output")


def _find_foreign(names: set[str]) -> set[str]:
    return {name for name in names if name != _JOURNAL and not _PART_NAME.fullmatch(name)}


@contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    """Open the journal of a folder, and lock it: no other process can write there within the
    block. Both are created where they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        journal = folder / _JOURNAL
        if not journal.exists() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} exists and is not an unfinished output of one2set; rename it, or name "
                "another output"
            )
        file = journal.open("a+b")
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written ({error.strerror})") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another process is writing {folder}; wait until it ends") from None
        if not _is_at(file, journal):
            raise ConfigError(
                f"another process has just finished {folder}; check its output, then run this again"
            )
        file.seek(0)
        yield file


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still there under its name."""
    return path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno()))


def _clear_or_refuse_unfinished(folder: Path, path: Path, *, resume: bool, overwrite: bool) -> None:
    """Remove what an interrupted run left if the user wants to start again. Refuse it if it is
    neither to be removed nor to be resumed."""
    names = {file.name for file in folder.iterdir()}
    started = len(names) > 1 or _size(folder / _JOURNAL)
    if resume or not started:
        return
    known = (name in (_JOURNAL, path.name) or _UNFINISHED_NAME.fullmatch(name) for name in names)
    if not all(known):
        raise ConfigError(
            f"{folder} contains files that one2set did not write; move them elsewhere, or name "
            "another output"
        )
    if not overwrite:
        raise ConfigError(
            f"{folder} was left by an interrupted run; pass --resume to continue it, "
            "or --overwrite to start again"
        )
    for name in names - {_JOURNAL}:
        (folder / name).unlink()
    os.truncate(folder / _JOURNAL, 0)


def _deliver(
    folder: Path, path: Path, journal: Journal, format: Format, *, is_folder: bool
) -> None:
    """Turn complete lines into the output. Can be repeated after a kill, at any point."""
    overwrite = journal.entries.overwrite
    if is_folder:
        for lines in folder.glob("*.lines"):
            if _size(lines):
                _pack_part(lines, format)
            else:
                lines.unlink()
        _deliver_parts(folder, path, journal)
        return
    lines, packed = folder / "00000.lines", folder / path.name
    if not any(file.exists() for file in (lines, packed, path)):
        fix = "pass --overwrite to start again"
        raise DataError("is damaged: it has no lines", fix=fix, path=folder)
    if lines.exists():
        pack(lines, packed, format)
    if packed.exists():
        try:
            _check_target(path, is_folder=False, overwrite=overwrite)
        except ConfigError as error:
            raise _appeared(path, folder) from error
        _journal_beside(path).unlink(missing_ok=True)
        packed.replace(path)
    (folder / _JOURNAL).replace(_journal_beside(path))
    shutil.rmtree(folder)


def _deliver_parts(folder: Path, path: Path, journal: Journal) -> None:
    if not journal.entries.cleared:
        try:
            _check_target(path, is_folder=True, overwrite=journal.entries.overwrite)
        except ConfigError as error:
            raise _appeared(path, folder) from error
        if not path.exists():
            folder.rename(path)
            return
        for old in (*_parts(path), path / _JOURNAL):
            old.unlink(missing_ok=True)
        journal.mark("cleared")
    for part in _parts(folder):
        part.rename(path / part.name)
    (folder / _JOURNAL).rename(path / _JOURNAL)
    shutil.rmtree(folder)


def _appeared(path: Path, folder: Path) -> ConfigError:
    return ConfigError(
        f"{path} appeared while it was being made, and is not replaced; move it away and pass "
        f"--resume: all lines are in {folder}"
    )


def _pack_part(lines: Path, format: Format) -> None:
    """Convert a file of lines to the part with its number."""
    pack(lines, lines.with_name(f"part-{lines.stem}.{format}"), format)


def _parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _PART_NAME.fullmatch(path.name))


def _journal_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}{_JOURNAL}")


def _keep_complete_lines(file: IO[bytes], most: int) -> int:
    """Keep the complete lines of a file up to a number, and truncate the rest. Returns
    their number."""
    done = end = 0
    for line in file:
        # After a power failure a file can end in zeros.
        if done == most or not line.endswith(b"\n") or b"\0" in line:
            break
        done, end = done + 1, end + len(line)
    file.seek(end)
    file.truncate()
    return done


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they come back from JSON."""
    plain: dict[str, Any] = orjson.loads(orjson.dumps(settings))
    return plain


def _differences(old: Any, new: Any, name: str = "") -> str:
    """What differs between settings, in words; "" if nothing does."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = sorted(old.keys() | new.keys())
        parts = (_differences(old.get(key), new.get(key), f"{name}{key} ") for key in names)
        return ", ".join(filter(None, parts))
    return "" if old == new else f"{name}was {_shown(old)}, is {_shown(new)}"


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 40 else f"{text[:39]}…"
