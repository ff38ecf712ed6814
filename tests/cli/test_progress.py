"""Progress: a sign of life, and silence where nothing takes long."""

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from one2set.cli import progress
from one2set.cli.generate import _Read
from one2set.cli.progress import show_waiting
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import ErrorPolicy


def slow(seconds: float) -> Iterator[int]:
    yield 1
    time.sleep(seconds)
    yield 2


def test_what_takes_long_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    assert list(show_waiting(slow(1.0), lambda: "3 documents read")) == [1, 2]
    assert "3 documents read …" in capsys.readouterr().err


def test_a_terminal_shows_it_sooner_and_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True)
    monkeypatch.setattr(progress, "err", console)
    monkeypatch.setattr(progress, "_SECONDS_OF_SILENCE", 0.05)
    assert list(show_waiting(slow(1.0), lambda: "working on a.pdf")) == [1, 2]
    assert "working on a.pdf" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is erased


def test_what_is_fast_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(show_waiting(slow(0), lambda: "3 documents read")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_errors_pass() -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(show_waiting(fail(), str))


def test_how_much_of_a_long_text_is_done() -> None:
    long = " ".join(f"w{number}" for number in range(1000))  # 3 passages
    read = _Read([long], Fields(), ErrorPolicy(), None)
    assert len(list(read.documents())) == 1
    shares = []
    for _ in range(8):
        shares.append(read.describe().rpartition(", ")[2])
        read.check()
    assert shares == ["0%", "17%", "33%", "50%", "67%", "83%", "99%", "99%"]
    short = _Read(["A short text"], Fields(), ErrorPolicy(), None)
    assert len(list(short.documents())) == 1
    assert "%" not in short.describe()
