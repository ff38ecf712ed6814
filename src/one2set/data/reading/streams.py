"""Bytes and lines from files, compressed files and standard input; and what to do with bad ones.

Everything streams. It does not know what the lines mean; `readers` does.
"""

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Self

import orjson

from one2set.data.reading.locations import is_remote, open_remote
from one2set.errors import ConfigError, DataError, missing_extra, shorten

STDIN = "-"
OnError = Literal["stop", "skip"]
_BUFFER = 1 << 17  # bytes
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
MAX_LINE = 1 << 27  # bytes of a line or of a text: what is in memory at once
# A block of Zstandard has at least 4 bytes and at most 128 kB of content, so that a piece never
# becomes more than 32 MB; it may refer back to as much as the window.
_ZSTD_PIECE, _ZSTD_WINDOW = 1 << 10, 1 << 28
_NAMED_FILES = 3  # that are left out, at most; folders may have very many
_OR_SKIP = "or pass --on-error skip to leave it out"


def count_bytes(paths: Iterable[str]) -> int:
    """The size of files and folders, for a progress bar; that of standard input is unknown."""
    total = 0
    for path in paths:
        below = (os.path.join(folder, name) for folder, _, all in os.walk(path) for name in all)
        total += sum(os.path.getsize(file) for file in (path, *below) if os.path.isfile(file))
    return total


class LeftOut(NamedTuple):
    """Files of folders whose format is not known."""

    number: int = 0
    first: tuple[str, ...] = ()  # their paths

    def add(self, path: str) -> "LeftOut":
        """With one more file."""
        first = (*self.first, printable(path)) if self.number < _NAMED_FILES else self.first
        return LeftOut(self.number + 1, first)


class ErrorPolicy:
    """What to do with input that cannot be used. It also counts the bytes read, for progress.

    Args:
        on_error: "stop" raises the first problem; so does None, for callers whose users have no
            choice. "skip" leaves the record out and counts it in `skipped`.
        report_file: With "skip", a JSONL file that gets a line for each problem: path, line, what
            is wrong and what to do. An existing file is replaced only if it is such a report; a
            block without problems empties it.
        max_line: Lines and text files of more bytes than this are rejected.
        leave_out_unknown: With "stop", leave out the files of a folder whose format is not known,
            and count them in `left_out`, for callers that name them to their users.
    """

    def __init__(
        self,
        on_error: OnError | None = None,
        report_file: Path | None = None,
        *,
        max_line: int = MAX_LINE,
        leave_out_unknown: bool = False,
    ) -> None:
        self.on_error, self.report_file, self.max_line = on_error, report_file, max_line
        if report_file is not None and on_error != "skip":
            raise ConfigError(
                f"--report is {report_file}, but no record is skipped; add --on-error skip"
            )
        self._has_old = report_file is not None and _check_report(report_file)
        self.skipped, self.bytes_read = 0, 0
        self.left_out, self._leave_out_unknown = LeftOut(), leave_out_unknown
        self._file: IO[bytes] | None = None

    def report(self, what: str, *, fix: str, path: str, line: int | None = None) -> None:
        """Raise a problem, or count it and write it to the report file."""
        if self.on_error != "skip":
            choice = f", {_OR_SKIP}" if self.on_error == "stop" else ""
            raise DataError(what, fix=f"{fix}{choice}", path=path, line=line)
        self.skipped += 1
        if self.report_file is not None:
            if self._file is None:
                self._file = _create(self.report_file)
            what, fix = shorten(what, 1_000), shorten(fix, 500)
            row = {"path": printable(path), "line": line, "what": what, "fix": fix}
            self._file.write(orjson.dumps(row) + b"\n")
            self._file.flush()  # a program may read it before it leaves the block

    def report_unknown_format(self, what: str, *, fix: str, path: str) -> None:
        """Report a file of a folder, or leave it out."""
        if self.on_error == "stop" and self._leave_out_unknown:
            self.left_out = self.left_out.add(path)
        else:
            self.report(what, fix=fix, path=path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._has_old and error is None and not self.skipped and self.report_file is not None:
            self._file = _create(self.report_file)  # empty: the old problems are fixed
        if self._file is not None:
            self._file.close()
            self._file = None


def _check_report(report: Path) -> bool:
    """Refuse to replace a file that is not a report of ours. Return whether there is one."""
    try:
        with report.open("rb") as file:
            first = file.readline(1 << 16) if report.is_file() else b""
        is_ours = not first or orjson.loads(first).keys() == {"path", "line", "what", "fix"}
    except OSError:
        return False  # there is none, or writing it will fail
    except (ValueError, AttributeError):
        is_ours = False
    if not is_ours:
        raise ConfigError(
            f"--report is {report}, which exists and is not a report of skipped records; "
            "name another file"
        )
    return first != b""


def _create(report: Path) -> IO[bytes]:
    _check_report(report)
    try:
        return report.open("wb")
    except OSError as error:
        raise ConfigError(
            f"--report is {report}, which cannot be written ({error.strerror}); name another file"
        ) from None


def printable(path: str) -> str:
    """A path as Unicode, also where its name has bytes that are not."""
    return os.fsencode(path).decode("utf-8", "replace")


def label(path: str) -> str:
    """What a file is called in the ids of its documents."""
    return "stdin" if path == STDIN else printable(os.path.basename(path))


def is_pipe(path: str) -> bool:
    """Whether this can be read only once: standard input, a named pipe, /dev/fd/63."""
    return path == STDIN or (
        os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    )


class _CountedFile(io.FileIO):
    """A file that counts the bytes read of it in the error policy, for progress and time left."""

    def __init__(self, path: str, errors: ErrorPolicy) -> None:
        super().__init__(path)
        self._errors = errors

    @classmethod
    def buffered(cls, path: str, errors: ErrorPolicy) -> IO[bytes]:
        return io.BufferedReader(cls(path, errors), _BUFFER)

    def readinto(self, buffer: Any) -> int | None:
        size = super().readinto(buffer)
        self._errors.bytes_read += size or 0
        return size

    def readall(self) -> bytes:
        data = super().readall() or b""
        self._errors.bytes_read += len(data)
        return data


class _ZstdStream(io.RawIOBase):
    """Zstandard frames as a raw stream. Unlike the library's own reader, a cut-off file is an
    error: half a corpus must not pass for a whole one."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError:
            raise missing_extra("zstandard", extra="data", purpose="reading .zst files") from None
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._decompressor.decompressobj()
        self._file, self._ready, self._inside = file, memoryview(b""), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            chunk = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._inside = self._decompressor.decompressobj(), False
            chunk = chunk or self._file.read(_ZSTD_PIECE)
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


class _Utf16Stream(io.RawIOBase):
    """UTF-16 as a raw stream of UTF-8: programs on Windows write it, and all readers want UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._ready, self._ended = file, b"", False
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            chunk = self._file.read(_BUFFER)
            self._ended = not chunk
            text = self._decoder.decode(chunk, self._ended)
            self._ready = text.encode("utf-8", "replace")
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class _RejoinedStream(io.RawIOBase):
    """A stream of which the start was read, from its start."""

    def __init__(self, start: bytes, rest: Any) -> None:
        """`rest` is a buffered stream; None if it has ended: a terminal would ask for more."""
        self._start, self._rest = start, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._start and self._rest is not None:
            self._start = self._rest.read1(len(buffer))
        size = min(len(buffer), len(self._start))
        buffer[:size] = self._start[:size]
        self._start = self._start[size:]
        return size


def _decode_start(file: IO[bytes]) -> io.BufferedIOBase:
    """Compression and UTF-16 are known by the first bytes, not by the name."""
    start: bytes = file.peek(4)  # type: ignore[attr-defined]
    if len(start) < 4:  # the file is short, or a pipe that is filled slowly
        start = file.read(4)
        file = io.BufferedReader(_RejoinedStream(start, file), _BUFFER)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(_ZSTD):
        return io.BufferedReader(_ZstdStream(file), _BUFFER)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return io.BufferedReader(_Utf16Stream(file), _BUFFER)
    assert isinstance(file, io.BufferedIOBase)
    return file


class _Peeked(NamedTuple):
    """A pipe whose start was read."""

    file: IO[bytes]
    stream: io.BufferedIOBase  # from the start
    start: bytes


# Pipes cannot be opened again, so their next reader takes them from here.
_peeked: dict[str, _Peeked] = {}


def peek(path: str) -> bytes:
    """The first bytes of a file, uncompressed. The next reader gets them too."""
    if path in _peeked:
        return _peeked[path].start
    start, has_ended = b"", False
    ignored = ErrorPolicy("skip")  # a damaged file is reported when it is read
    with open_stream(path, ignored, keep=is_pipe(path)) as stream:
        # A pipe may be filled slowly, so that one read is not enough.
        while len(start) < _BUFFER and not has_ended:
            part = stream.read1(_BUFFER - len(start))
            start, has_ended = start + part, not part
    if path in _peeked:
        file, stream, _ = _peeked[path]
        rejoined = _RejoinedStream(start, None if has_ended else stream)
        _peeked[path] = _Peeked(file, io.BufferedReader(rejoined, _BUFFER), start)
    return start


@contextmanager
def open_stream(
    path: str, errors: ErrorPolicy, *, keep: bool = False
) -> Iterator[io.BufferedIOBase]:
    """The bytes of a file, or of standard input, uncompressed. Where compressed data is damaged
    the stream ends, and the damage is reported. With `keep` it stays open for the next reader."""
    file: IO[bytes] | None = None
    try:
        if path in _peeked:
            file, stream, _ = _peeked.pop(path)
        else:
            file = _open(path, errors)
            stream = _decode_start(file)
        if keep:
            _peeked[path] = _Peeked(file, stream, b"")
        yield stream
    except OSError as error:
        if not isinstance(error, gzip.BadGzipFile):
            what = f"cannot be read ({error.strerror or error})"
            raise DataError(what, fix="check the path", path=path) from None
        _report_damage(path, error, errors)
    except (EOFError, zlib.error) as error:
        _report_damage(path, error, errors)
    except Exception as error:
        # zstandard is optional, so its error class cannot be named in an except clause.
        if type(error).__name__ != "ZstdError":
            raise
        _report_damage(path, error, errors)
    finally:
        if file is not None and not keep and path != STDIN:
            file.close()


def _open(path: str, errors: ErrorPolicy) -> IO[bytes]:
    if path == STDIN:
        if sys.stdin is None:  # as in `one2set generate - <&-`, or below a service
            raise DataError("standard input is closed", fix="pass a file", path=path)
        return sys.stdin.buffer
    return open_remote(path) if is_remote(path) else _CountedFile.buffered(path, errors)


def _report_damage(path: str, error: Exception, errors: ErrorPolicy) -> None:
    what = f"compressed data is damaged or cut off ({error})"
    fix = "copy or download the file again"
    if "too much memory" in str(error):
        what = f"needs a window of more than {_ZSTD_WINDOW >> 20} MB to be decompressed"
        fix = f"compress it again with zstd --long={_ZSTD_WINDOW.bit_length() - 1} or less"
    errors.report(what, fix=fix, path=path)


def read_lines(path: str, errors: ErrorPolicy) -> Iterator[tuple[int, str | None]]:
    """Numbered lines of UTF-8 text, without their ends; None for one that is not UTF-8 or too
    long."""
    with open_stream(path, errors) as stream:
        for number in count(1):
            line = stream.readline(errors.max_line + 1)
            if not line:
                return
            text = None
            if len(line) > errors.max_line:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(1 << 16)
                _report_length("a line", path, number, errors)
            else:
                text = decode(line, path, number, errors)
            yield number, None if text is None else text.rstrip("\r\n")


def read_text(path: str, errors: ErrorPolicy) -> str | None:
    """The whole of a file of UTF-8 text; None for one that is not UTF-8 or too long."""
    text = None
    with open_stream(path, errors) as stream:
        data = stream.read(errors.max_line + 1)
        if len(data) > errors.max_line:
            _report_length("the text", path, None, errors)
        else:
            text = decode(data, path, None, errors)
    return text


def _report_length(what: str, path: str, line: int | None, errors: ErrorPolicy) -> None:
    what = f"{what} has more than {errors.max_line:,} bytes"
    errors.report(what, fix="split it, or raise --max-line", path=path, line=line)


def decode(data: bytes, path: str, line: int | None, errors: ErrorPolicy) -> str | None:
    """Strict UTF-8 without NUL, and without a byte order mark at the start of the file."""
    try:
        text = data.decode("utf-8")
        at, what = data.find(0), "is NUL: this is another encoding, or no text"
    except UnicodeDecodeError as error:
        text, at, what = "", error.start, "is not UTF-8"
    if at < 0:
        return text.removeprefix("\ufeff") if line in (None, 1) else text
    errors.report(
        f"byte 0x{data[at]:02x} at column {at + 1} {what}",
        fix=f"save the file as UTF-8 (for example: iconv -f {_guess_encoding(data)} -t utf-8)",
        path=path,
        line=line,
    )
    return None


def _guess_encoding(data: bytes) -> str:
    """The encoding to suggest in the message: every other byte of English in UTF-16 is NUL."""
    if 3 * data.count(0) > len(data):
        return "utf-16be" if data.startswith(b"\0") else "utf-16le"
    return "windows-1252"
