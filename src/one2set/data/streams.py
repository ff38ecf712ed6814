"""Bytes and lines from files, compressed files and standard input; and what to do with bad ones.

Everything streams. It does not know what the lines mean; `readers` does.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Literal, Self

import orjson

from one2set.errors import DataError, missing_extra

STDIN = "-"
OnError = Literal["stop", "skip"]
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
COMPRESSED = (".gz", ".zst")
_MENDED = "or pass --on-error skip to leave it out"


class Intake:
    """How input is taken in: what happens to what cannot be used, and how far reading has come.

    With `stop` the first problem is raised. With `skip` each is counted and becomes a line of the
    `report` file: path, line, what is wrong, what to do.
    """

    def __init__(self, on_error: OnError = "stop", report: Path | None = None) -> None:
        self.on_error, self.report = on_error, report
        self.skipped, self.bytes_read = 0, 0
        self._file: IO[bytes] | None = None

    def met(self, what: str, *, fix: str, path: str, line: int | None = None) -> None:
        """Raise the problem, or write it down."""
        if self.on_error == "stop":
            raise DataError(what, fix=f"{fix}, {_MENDED}", path=path, line=line)
        self.skipped += 1
        if self.report is not None:
            if self._file is None:
                self._file = self.report.open("wb")
            row = {"path": path, "line": line, "what": what, "fix": fix}
            self._file.write(orjson.dumps(row) + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class _CountedFile(io.FileIO):
    """A file that tells its intake how much of it has been read, for progress and time left."""

    def __init__(self, path: str, intake: Intake) -> None:
        super().__init__(path)
        self._intake = intake

    def readinto(self, buffer: Any) -> int | None:
        size = super().readinto(buffer)
        self._intake.bytes_read += size or 0
        return size

    def readall(self) -> bytes:
        data = super().readall() or b""
        self._intake.bytes_read += len(data)
        return data


class _ZstdStream(io.RawIOBase):
    """Zstandard frames as a raw stream. Unlike the library's own reader, a cut-off file is an
    error: half a corpus must not pass for a whole one."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError:
            raise missing_extra("zstandard", extra="data", purpose="reading .zst files") from None
        # Frames may have been written with --long: allow any window that the format knows.
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
        self._frame = self._decompressor.decompressobj()
        self._file, self._ready, self._inside = file, memoryview(b""), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._inside = self._decompressor.decompressobj(), False
            chunk = chunk or self._file.read(1 << 17)
            if not chunk:
                if self._inside:
                    raise EOFError("the zstd stream ends inside a frame")
                return 0
            self._inside = True
            self._ready = memoryview(self._frame.decompress(chunk))
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


def _uncompressed(file: IO[bytes]) -> io.BufferedIOBase:
    """Compression is known by the first bytes, not by the name."""
    start: bytes = file.peek(4)  # type: ignore[attr-defined]
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(_ZSTD):
        return io.BufferedReader(_ZstdStream(file), 1 << 17)
    assert isinstance(file, io.BufferedIOBase)
    return file


# Standard input cannot be read twice: who looks at its start and who reads it share one stream.
_standard_input = lru_cache(maxsize=1)(_uncompressed)


@contextmanager
def open_stream(path: str, intake: Intake) -> Iterator[io.BufferedIOBase]:
    """The bytes of a file, or of standard input, uncompressed."""
    try:
        if path == STDIN:
            yield _standard_input(sys.stdin.buffer)
        else:
            with io.BufferedReader(_CountedFile(path, intake), 1 << 17) as file:
                yield _uncompressed(file)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise _damaged(path, error) from None
        what = f"cannot be read ({error.strerror or error})"
        raise DataError(what, fix="check the path", path=path) from None
    except (EOFError, zlib.error) as error:
        raise _damaged(path, error) from None
    except Exception as error:
        # zstandard is optional, so its error class cannot be named in an except clause.
        if type(error).__name__ == "ZstdError":
            raise _damaged(path, error) from None
        raise


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(
        f"compressed data is damaged or cut off ({error})",
        fix="copy or download the file again",
        path=path,
    )


def read_lines(path: str, intake: Intake) -> Iterator[tuple[int, str | None]]:
    """Numbered lines of UTF-8 text, without their ends; None for one that is not UTF-8."""
    with open_stream(path, intake) as stream:
        for number, line in enumerate(stream, 1):
            text = decode(line, path, number, intake)
            yield number, None if text is None else text.rstrip("\r\n")


def decode(data: bytes, path: str, line: int | None, intake: Intake) -> str | None:
    """Strict UTF-8, without a byte order mark at the start of the file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        intake.met(
            f"byte 0x{data[error.start]:02x} at column {error.start + 1} is not UTF-8",
            fix="save the file as UTF-8 (for example: iconv -f latin1 -t utf-8)",
            path=path,
            line=line,
        )
        return None
    return text.removeprefix("\ufeff") if line in (None, 1) else text
