"""Progress is shown on a terminal if work takes long, and only then."""

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from one2set.cli import console, progress
from one2set.cli.generate import _InputReader
from one2set.cli.progress import show_waiting
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import ErrorPolicy


def slow(seconds: float) -> Iterator[int]:
    yield 1
    time.sleep(seconds)
    yield 2


def test_a_terminal_shows_what_takes_long_and_erases_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True))
    monkeypatch.setattr(progress, "_SECONDS_OF_SILENCE", 0.05)
    assert list(show_waiting(slow(1.0), lambda: "working on a.pdf")) == [1, 2]
    assert "working on a.pdf" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is erased


def test_fast_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True))
    assert list(show_waiting(slow(0), lambda: "3 documents read")) == [1, 2]
    assert screen.getvalue() == ""


def test_a_pipe_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS_OF_SILENCE", 0.0)
    assert list(show_waiting(slow(0.2), lambda: "3 documents read")) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_errors_are_passed_on() -> None:
    def fail() -> Iterator[int]:
        yield 1
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(show_waiting(fail(), str))


def shares(read: _InputReader, checks: int) -> list[str]:
    shown = []
    for _ in range(checks):
        shown.append(read.describe())
        read.check()
    return shown


def test_the_progress_of_a_long_text_is_shown() -> None:
    long = " ".join(f"w{number}" for number in range(1000))  # 3 passages
    read = _InputReader([long], [False], Fields(), ErrorPolicy(), None)
    assert len(list(read.documents())) == 1
    assert [each.rpartition(", ")[2] for each in shares(read, 8)] == [
        *("0%", "31%", "62%", "92%"),  # read by the network
        *("95%", "97%", "99%", "99%"),  # scored
    ]


def test_how_much_of_several_texts_is_done() -> None:
    read = _InputReader(
        ["A short text", "Another one"], [False, False], Fields(), ErrorPolicy(), None
    )
    assert len(list(read.documents())) == 2
    assert shares(read, 2) == ["2 documents read, 0%", "2 documents read, 46%"]


def test_a_short_text_has_no_share() -> None:
    short = _InputReader(["A short text"], [False], Fields(), ErrorPolicy(), None)
    assert len(list(short.documents())) == 1
    assert "%" not in short.describe()
