"""The consoles pass no control characters of texts or file names to a terminal."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from one2set.cli import main
from one2set.cli.console import show_controls
from one2set.cli.progress import show_progress
from one2set.cli.safe_console import SafeConsole

Run = Callable[..., str]

# To set the title, to clear the screen, to go back, and the same with a character of Latin-1.
ATTACK = "\x1b]0;owned\x07 \x1b[2J \x9b2J \x9d0;owned\x9c \b\b \x7f \r"
# What rich writes itself: colours, and for a progress bar the cursor's line and visibility.
OWN = re.compile(r"\x1b\[[0-9;]*[mAK]|\x1b\[\?25[lh]|\r+(?=\n|\x1b\[)")
COMMAND = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def run_in_terminal(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line with a terminal as its stdout and stderr, and returns what it shows."""

    def run(*arguments: str) -> str:
        ours, its = os.openpty()
        shown = bytearray()

        def read() -> None:
            with suppress(OSError):  # the end of a terminal is an error
                while piece := os.read(ours, 4096):
                    shown.extend(piece)

        reader = threading.Thread(target=read)
        reader.start()
        with os.fdopen(its, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            for name in ("stdout", "stderr"):
                patch.setattr(sys, name, terminal)
            patch.setattr(sys, "argv", ["one2set", *arguments])
            patch.setenv("TERM", "xterm-256color")
            with suppress(SystemExit):
                main()
        reader.join()
        os.close(ours)
        return shown.decode()

    return run


def commands(shown: str) -> list[str]:
    """The control characters that rich did not write."""
    return COMMAND.findall(OWN.sub("", shown))


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from(ATTACK)))
def test_control_characters_are_replaced(text: str) -> None:
    shown = show_controls(text)
    shown.encode()
    assert not COMMAND.search(shown.replace("\r\n", "\n"))
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        assert after == before or COMMAND.match(before) or not before.isprintable()
    assert show_controls(shown) == shown


def test_ordinary_text_is_unchanged() -> None:
    text = "naïve café – 図 \U0001f469\u200d\U0001f52c\r\n\tא\u202c"
    assert show_controls(text) == text
    assert show_controls("\x1b \x00 \x7f \x9b \ud800") == "␛ ␀ ␡ \ufffd \ufffd"


@pytest.mark.parametrize("format", ["text", "json", "jsonl", "csv", "html"])
def test_keyphrases_in_a_terminal(
    run_in_terminal: Run, exported_model: Path, tmp_path: Path, format: str
) -> None:
    """Text and file name contain the same attack. A file gets every byte."""
    path = tmp_path / f"a{ATTACK}[red].txt"
    path.write_text(f"We sort numbers{ATTACK}in graph networks.", encoding="utf-8")
    arguments = ("generate", str(path), "--model", str(exported_model), "--format", format)
    shown = run_in_terminal(*arguments)
    assert commands(shown) == []
    assert "[red].txt" in shown, "which is no markup"
    if format == "jsonl":
        assert json.loads(shown)


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", f"a{ATTACK}[/nothing].jsonl"),
        ("stats", f"{ATTACK}.txt"),
        ("generate", "A text.", "--model", f"{ATTACK}[red]"),
        ("generate", "A text.", f"--{ATTACK}"),
        ("generate", "A text.", "--format", ATTACK),
        (ATTACK,),
    ],
)
def test_errors_in_a_terminal(run_in_terminal: Run, arguments: tuple[str, ...]) -> None:
    shown = run_in_terminal(*arguments)
    assert "owned" in shown or "Usage" in shown
    assert commands(shown) == []


def test_warnings_in_a_terminal(run_in_terminal: Run, exported_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "documents.jsonl"
    records = [{"id": f"{ATTACK}[/red]", "title": "", "abstract": text} for text in ("?!", "words")]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    shown = run_in_terminal("generate", str(path), "--model", str(exported_model))
    assert "contains no words" in shown
    assert commands(shown) == []


def test_tables_and_styles() -> None:
    """Names in cells and titles, and styled text."""
    console = SafeConsole(width=200)
    table = Table(title=f"title {ATTACK}")
    table.add_column(f"[link=x]{ATTACK}")
    table.add_row(f":smile: {ATTACK}")
    with console.capture() as captured:
        console.print(table)
        console.print(Text(ATTACK, style="bold"))
        console.print(f"[bold]{ATTACK}[/]", style="red")
    assert commands(captured.get()) == []
    for literal in ("[link=x]", ":smile:", "[bold]", "[/]"):
        assert literal in captured.get()


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with show_progress(f"reading {ATTACK}[/red]", total=2) as display:
        display.update(1, f"{ATTACK}[/red]")
        display.print(f"line {ATTACK}[/red]")
    shown = terminal.getvalue()
    assert "line" in shown
    assert commands(shown) == []


def test_characters_that_stdout_cannot_encode_become_question_marks() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "one2set", "generate", "--model", "light", "Of β-lactamase genes."],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"?-lactamase" in done.stdout
