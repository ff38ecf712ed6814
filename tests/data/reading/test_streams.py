"""Compressed files and pipes have the same bytes, and damaged ones are reported."""

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.reading.streams import (
    STDIN,
    ErrorPolicy,
    OnError,
    count_bytes,
    is_pipe,
    label,
    open_stream,
    peek,
    printable,
    read_lines,
    read_text,
)
from one2set.errors import ConfigError, DataError
from tests.data.formats import COMPRESSIONS, write

TEXT = "".join(f"line {n}, naïve\n" for n in range(20_000)).encode()


def stdin_of(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)))


def read_all(path: str, errors: ErrorPolicy | None = None) -> bytes:
    with open_stream(path, errors or ErrorPolicy()) as stream:
        return stream.read()
    return b""


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_is_known_by_content(compression: str, tmp_path: Path) -> None:
    # Not by the name, which has no extension.
    path = write(tmp_path, "file", COMPRESSIONS[compression](TEXT))
    errors = ErrorPolicy()
    assert peek(path) == TEXT[: len(peek(path))] != b""
    assert read_all(path, errors) == TEXT
    assert errors.bytes_read == os.path.getsize(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_standard_input(compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", stdin_of(COMPRESSIONS[compression](TEXT)))
    start = peek(STDIN)
    assert start
    assert TEXT.startswith(start)
    assert read_all(STDIN) == TEXT
    assert read_all(STDIN) == b""  # it can be read only once


def test_a_closed_standard_input_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for read in (peek, read_all):
        with pytest.raises(DataError, match="-: standard input is closed; pass a file"):
            read(STDIN)


class Slow(io.RawIOBase):
    """A pipe that has one byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._bytes = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        byte = self._bytes.read(1)
        buffer[: len(byte)] = byte
        return len(byte)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_pipe_that_is_filled_slowly(compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = COMPRESSIONS[compression](TEXT[:9_000])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow(data))))
    assert peek(STDIN) == peek(STDIN) == TEXT[:9_000]
    assert read_all(STDIN) == TEXT[:9_000]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_named_pipe_keeps_the_bytes_that_were_inspected(compression: str, tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    data = COMPRESSIONS[compression](TEXT)
    writer = threading.Thread(target=lambda: Path(path).write_bytes(data))
    writer.start()
    assert TEXT.startswith(peek(path))
    assert read_all(path) == TEXT
    writer.join()


def test_several_frames_one_after_the_other(tmp_path: Path) -> None:
    halves = TEXT[:1000], TEXT[1000:]
    skippable = bytes.fromhex("502a4d18 03000000 616263")  # a frame without data
    zst = skippable.join(zstandard.compress(half) for half in halves)
    assert read_all(write(tmp_path, "a.zst", zst)) == TEXT
    assert read_all(write(tmp_path, "a.gz", b"".join(map(gzip.compress, halves)))) == TEXT


def test_frames_of_a_long_window(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=28, enable_ldm=True)
    sink = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert read_all(write(tmp_path, "a.zst", sink.compress(TEXT) + sink.flush())) == TEXT


@pytest.mark.parametrize("compression", [".gz", ".zst"])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_cut_off_file_is_damaged(compression: str, on_error: str, tmp_path: Path) -> None:
    data = COMPRESSIONS[compression](TEXT)
    for size in (5, len(data) // 2, len(data) - 1):
        path = write(tmp_path, "cut", data[:size])
        if on_error == "stop":
            with pytest.raises(DataError, match=r"damaged or cut off .*copy or download") as caught:
                list(read_lines(path, ErrorPolicy()))
            assert caught.value.path == path
        else:
            errors = ErrorPolicy("skip")
            lines = [line for _, line in read_lines(path, errors)]
            assert lines == TEXT.decode().splitlines()[: len(lines)]
            assert errors.skipped == 1


def test_lines_before_the_damage_survive(tmp_path: Path) -> None:
    path = write(tmp_path, "cut.gz", gzip.compress(TEXT)[:-5])
    lines = list(read_lines(path, ErrorPolicy("skip")))
    assert len(lines) > 10_000
    assert lines[0] == (1, "line 0, naïve")


@given(data=st.data(), compression=st.sampled_from([".gz", ".zst"]))
def test_random_damage_raises_our_errors_only(
    data: st.DataObject, compression: str, tmp_path: Path
) -> None:
    damaged = bytearray(COMPRESSIONS[compression](TEXT[:2000]))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path, "file", bytes(damaged))
    errors = ErrorPolicy("skip")
    lines = list(read_lines(path, errors))
    if errors.skipped:
        with pytest.raises(DataError, match=path):
            list(read_lines(path, ErrorPolicy()))
    else:
        assert list(read_lines(path, ErrorPolicy())) == lines


def test_zstandard_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.zst", zstandard.compress(b"x"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ConfigError, match=r"'zstandard'.*pip install \"one2set\[data\]\""):
        read_all(path)


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "file/below"])
def test_files_that_cannot_be_opened_are_errors(name: str, tmp_path: Path) -> None:
    write(tmp_path, "file", b"")
    path = os.path.join(tmp_path, name)
    for errors in (ErrorPolicy(), ErrorPolicy("skip")):  # a wrong path is not a bad record
        with pytest.raises(DataError, match=r"cannot be read .*check the path") as caught:
            read_all(path, errors)
        assert caught.value.path == path


def test_lines_lose_their_ends_and_the_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "\ufeffone\r\n\ufefftwo\n\n\u2028three\x85".encode())
    lines = list(read_lines(path, ErrorPolicy()))
    assert lines == [(1, "one"), (2, "\ufefftwo"), (3, ""), (4, "\u2028three\x85")]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"caf\xe9", "byte 0xe9 at column 4 is not UTF-8"),
        (b"\xff\xfea\0", "byte 0xff at column 1 is not UTF-8"),
        (b"a\0b\0", "byte 0x00 at column 2 is NUL"),
        (b"\xed\xa0\x80", "byte 0xed at column 1 is not UTF-8"),  # a lone surrogate
    ],
)
def test_lines_that_are_not_utf8_text(line: bytes, what: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"one\n" + line + b"\nthree\n")
    with pytest.raises(DataError, match=f"{what}.*UTF-8.*--on-error skip") as caught:
        list(read_lines(path, ErrorPolicy("stop")))
    assert (caught.value.path, caught.value.line) == (path, 2)
    errors = ErrorPolicy("skip")
    assert list(read_lines(path, errors)) == [(1, "one"), (2, None), (3, "three")]
    assert errors.skipped == 1


# --- The errors -----------------------------------------------------------------------------------


def test_the_report_lists_what_was_skipped(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    with ErrorPolicy("skip", report) as errors:
        assert not report.exists()  # no report of nothing
        errors.report("is odd", fix="mend it", path="a.txt", line=3)
        errors.report("is bad", fix="copy it", path="b\udce9.txt")
        assert report.read_bytes().count(b"\n") == 2, "at once, not at the end of the block"
    rows = [json.loads(line) for line in report.read_bytes().splitlines()]
    assert rows == [
        {"path": "a.txt", "line": 3, "what": "is odd", "fix": "mend it"},
        {"path": "b\ufffd.txt", "line": None, "what": "is bad", "fix": "copy it"},
    ]
    assert errors.skipped == 2


def test_an_unwritable_report_is_an_error_at_once(tmp_path: Path) -> None:
    errors = ErrorPolicy("skip", tmp_path / "missing" / "report.jsonl")
    with pytest.raises(ConfigError, match=r"--report is .*name another file"):
        errors.report("is odd", fix="mend it", path="a.txt")


@pytest.mark.parametrize("on_error", ["stop", None])
def test_a_report_needs_skipped_records(on_error: OnError | None, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--report is .*add --on-error skip"):
        ErrorPolicy(on_error, tmp_path / "report.jsonl")


def test_names_of_files(tmp_path: Path) -> None:
    assert printable("caf\udce9/naïve") == "caf\ufffd/naïve"
    assert label("some/papers.jsonl") == "papers.jsonl"
    assert label(STDIN) == "stdin"
    assert [is_pipe(path) for path in (STDIN, "/dev/null", str(tmp_path), __file__, "no")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("text", ["short", "ü" * 5000, "\udce9" * 5000, "a" * 10**7])
def test_error_messages_are_short(text: str) -> None:
    for error in (
        ConfigError(f"--x is {text}; do this"),
        DataError(text, fix=f"{text} do this", path=text, line=3),
    ):
        assert len(str(error).encode("utf-8", "replace")) <= 2000
        assert str(error).endswith("do this")
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)


# --- Bounded memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_line_that_is_too_long(compression: str, tmp_path: Path) -> None:
    long = b"x" * 100_001
    data = b"one\n" + long + b"\n" + b"y" * 100 + b"\nfour\n" + long
    path = write(tmp_path, "a.txt", COMPRESSIONS[compression](data))
    errors = ErrorPolicy("skip", max_line=101)
    lines = list(read_lines(path, errors))
    assert lines == [(1, "one"), (2, None), (3, "y" * 100), (4, "four"), (5, None)]
    assert errors.skipped == 2
    with pytest.raises(DataError, match=r":2: a line has more than 101 bytes; .*--max-line"):
        list(read_lines(path, ErrorPolicy(max_line=101)))
    assert read_text(path, ErrorPolicy("skip", max_line=101)) is None
    with pytest.raises(DataError, match="the text has more than 101 bytes"):
        read_text(path, ErrorPolicy(max_line=101))


BOMB = """
import sys
from one2set.data.reading.streams import ErrorPolicy, read_lines
errors = ErrorPolicy("skip", max_line=1 << 20)
list(read_lines(sys.argv[1], errors))
assert errors.skipped == 1, errors.skipped
status = open("/proc/self/status").read()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
"""


def test_a_decompression_bomb_takes_little_memory(tmp_path: Path) -> None:
    """A line of 256 MB in a few kilobytes, whichever way it is compressed."""
    block, times = b"x" * (1 << 20), 256
    zst = zstandard.ZstdCompressor().compressobj()
    packed = b"".join([zst.compress(block) for _ in range(times)] + [zst.flush()])
    gz = zlib.compressobj(9, wbits=31)
    packed_gz = b"".join([gz.compress(block) for _ in range(times)] + [gz.flush()])
    for name, data in (("a.zst", packed), ("a.gz", packed_gz)):
        path = write(tmp_path, name, data)
        assert os.path.getsize(path) < 500_000
        command = [sys.executable, "-c", BOMB, path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert int(done.stdout) < 200, "MB"


def test_a_window_that_is_too_large(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=30, enable_ldm=True)
    sink = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path = write(tmp_path, "a.zst", sink.compress(TEXT) + sink.flush())
    with pytest.raises(DataError, match=r"window of more than 256 MB.*zstd --long=28"):
        read_all(path)


# --- Reports --------------------------------------------------------------------------------------


def test_a_report_replaces_only_a_report(tmp_path: Path) -> None:
    mine, report = tmp_path / "mine.jsonl", tmp_path / "report.jsonl"
    for content in ('{"id": "1", "abstract": "Text."}\n', "[1]\n", "text", "\n"):
        mine.write_text(content)
        with pytest.raises(ConfigError, match=r"exists and is not a report.*name another file"):
            ErrorPolicy("skip", mine)
        assert mine.read_text() == content
    for what in ("is odd", "is odder"):  # the second run replaces the report of the first
        with ErrorPolicy("skip", report) as errors:
            errors.report(what, fix="mend it", path="a.txt")
        assert json.loads(report.read_bytes())["what"] == what
    with ErrorPolicy("skip", mine.with_name("later")) as errors:
        mine.with_name("later").write_text("mine")
        with pytest.raises(ConfigError, match="exists and is not a report"):
            errors.report("is odd", fix="mend it", path="a.txt")
    assert mine.with_name("later").read_text() == "mine"


def test_a_report_does_not_survive_a_run_without_problems(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"

    def run(*problems: str, stops: bool = False) -> None:
        with ErrorPolicy("skip", report) as errors:
            for what in problems:
                errors.report(what, fix="mend it", path="a.txt")
            if stops:
                raise KeyboardInterrupt

    run()
    assert not report.exists()
    run("is odd", "is odder")
    old = report.read_bytes()
    with pytest.raises(KeyboardInterrupt):  # it does not know whether the problems are fixed
        run(stops=True)
    assert report.read_bytes() == old
    run()
    assert report.read_bytes() == b""
    run("is odd")
    assert report.read_bytes().count(b"\n") == 1


def test_a_run_without_problems_leaves_other_files_alone(tmp_path: Path) -> None:
    """Such as /dev/stdout, to which a program may have written."""
    path = tmp_path / "later"
    path.touch()
    with ErrorPolicy("skip", path):
        path.write_text("mine")
    assert path.read_text() == "mine"


def test_a_report_of_long_values_is_short(tmp_path: Path) -> None:
    with ErrorPolicy("skip", tmp_path / "report") as errors:
        errors.report("x" * 10**6, fix="y" * 10**6, path="a.txt")
    assert (tmp_path / "report").stat().st_size < 2000


def test_the_size_of_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "a.txt").write_bytes(b"12345")
    (tmp_path / "inside" / "b.txt").write_bytes(b"123")
    assert count_bytes(["-", str(tmp_path), str(tmp_path / "a.txt")]) == 13
