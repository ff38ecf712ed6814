"""Bytes and lines from files, compressed files and standard input; and what to do with bad ones.

Everything streams. It does not know what the lines mean; `readers` does.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, Self

import orjson

from one2set.errors import DataError, missing_extra

STDIN = "-"
OnError = Literal["stop", "skip"]
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
COMPRESSED = (".gz", ".zst")
_MENDED = "or pass --on-error skip to leave it out"


class Problems:
    """What happens to input that cannot be used: stop at it, or skip it, count it and list it.

    With `skip`, each is a line of the `report` file: path, line, what is wrong, what to do.
    """

    def __init__(self, on_error: OnError = "stop", report: Path | None = None) -> None:
        self.on_error, self.report, self.count = on_error, report, 0
        self._file: IO[bytes] | None = None

    def met(self, what: str, *, fix: str, path: str, line: int | None = None) -> None:
        """Raise the problem, or write it down."""
        if self.on_error == "stop":
            raise DataError(what, fix=f"{fix}, {_MENDED}", path=path, line=line)
        self.count += 1
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
        self._file, self._ready, self._inside = file, b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
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
            self._ready = self._frame.decompress(chunk)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


@contextmanager
def open_stream(path: str) -> Iterator[IO[bytes]]:
    """A file's bytes, uncompressed; compression is known by its first bytes, not by the name."""
    try:
        file = sys.stdin.buffer if path == STDIN else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", fix="check the path", path=path
        ) from None
    start: bytes = file.peek(4)  # type: ignore[attr-defined]
    try:
        if start.startswith(_GZIP):
            yield gzip.GzipFile(fileobj=file)  # type: ignore[misc]
        elif start.startswith(_ZSTD):
            yield io.BufferedReader(_ZstdStream(file), 1 << 17)  # type: ignore[misc]
        else:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path, error) from None
    except Exception as error:
        # zstandard is optional, so its error class cannot be named in an except clause.
        if type(error).__name__ == "ZstdError":
            raise _damaged(path, error) from None
        raise
    finally:
        if path != STDIN:
            file.close()


def _damaged(path: str, error: Exception) -> DataError:
    return DataError(
        f"compressed data is damaged or cut off ({error})",
        fix="copy or download the file again",
        path=path,
    )


def read_lines(path: str, problems: Problems) -> Iterator[tuple[int, str | None]]:
    """Numbered lines of UTF-8 text, without their ends; None for one that is not UTF-8."""
    with open_stream(path) as stream:
        for number, line in enumerate(stream, 1):
            text = decode(line, path, number, problems)
            yield number, None if text is None else text.rstrip("\r\n")


def decode(data: bytes, path: str, line: int | None, problems: Problems) -> str | None:
    """Strict UTF-8, without a byte order mark at the start of the file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problems.met(
            f"byte 0x{data[error.start]:02x} at column {error.start + 1} is not UTF-8",
            fix="save the file as UTF-8 (for example: iconv -f latin1 -t utf-8)",
            path=path,
            line=line,
        )
        return None
    return text.removeprefix("\ufeff") if line in (None, 1) else text
