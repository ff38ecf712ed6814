"""The consoles of the command line: results go to stdout, everything else to stderr.

Texts and file names may hold control sequences, by which a terminal changes its title, hides lines
or even types commands. Whatever is printed here is shown without them, and is never taken for
rich's markup.

Rich is imported when a console is used: that takes a tenth of the time to a first keyphrase.
"""

import io
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from one2set.cli.safe_console import SafeConsole
    from one2set.data.reading.streams import LeftOut

    out: SafeConsole
    err: SafeConsole

Color = Literal["auto", "always", "never"]
_FORCE_TERMINAL = {"FORCE_COLOR", "TTY_COMPATIBLE"}  # by which rich takes a pipe for a terminal
_WIDE = 400  # columns: a terminal has its own width; elsewhere no line is broken
# The control characters of ASCII and Latin-1, except tabs and line ends; and lone surrogates,
# which no output can hold.
_CONTROL = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def show_controls(text: str) -> str:
    """The text with a picture in the place of each control character, such as ␛ for escape."""
    return _CONTROL.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return (
        chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"
    )


def _prepare_streams() -> None:
    """Where a shell has closed stdout or stderr (`>&-`), Python has None: write to nowhere. Where
    the encoding of stdout lacks a character, write a question mark."""
    if sys.stdout is None or sys.stderr is None:
        nowhere = open(os.devnull, "w")  # noqa: SIM115  (open as long as the process runs)
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


_prepare_streams()


def __getattr__(name: str) -> Any:
    if name in ("out", "err"):
        return _make_console(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _make_console(name: str, terminal: bool | None = None) -> "SafeConsole":
    """The console `out` or `err`."""
    from one2set.cli.safe_console import SafeConsole

    is_err = name == "err"
    wide = None if (sys.stderr if is_err else sys.stdout).isatty() else _WIDE
    return SafeConsole(stderr=is_err, width=wide, terminal=terminal)


def may_be_terminal(stream: TextIO) -> bool:
    """Whether rich may take a stream for a terminal; it is needed only then."""
    return stream.isatty() or bool(os.environ.keys() & _FORCE_TERMINAL)


class Output:
    """Writes texts in styles to stdout; with "always", colours also go into files and pipes."""

    def __init__(self, color: Color) -> None:
        terminal = None if color == "auto" else color == "always"
        styled = terminal or may_be_terminal(sys.stdout)
        self._console = _make_console("out", terminal) if styled else None
        self.is_terminal = self._console is not None and self._console.is_terminal

    def write(self, parts: Sequence[tuple[str, str]]) -> None:
        """Write texts, each with its style, and end the line."""
        if self._console is None:
            print(show_controls("".join(text for text, _ in parts)), flush=True)
            return
        from rich.text import Text

        self._console.print(Text.assemble(*parts), soft_wrap=not sys.stdout.isatty())


def as_word(text: str) -> str:
    """A text without spaces, for a cell of a table that programs read."""
    return "_".join(text.split())


def warn_about_skipped(count: int, where: str = "") -> None:
    """Say how many records were skipped, if any were."""
    if count:
        records = "1 record was" if count == 1 else f"{count:,} records were"
        _make_console("err").print(f"{records} skipped{where}", style="yellow", soft_wrap=True)


def warn_about_left_out(files: "LeftOut") -> None:
    """Name the files of folders that were left out, if any were."""
    if files.number:
        more = files.number - len(files.first)
        names = ", ".join(files.first) + (f" and {more:,} more" if more else "")
        text = "1 file was left out, as its format is"
        if files.number > 1:
            text = f"{files.number:,} files were left out, as their formats are"
        _make_console("err").print(f"{text} not known: {names}", style="yellow", soft_wrap=True)


def write(content: bytes) -> None:
    """Write results to stdout byte for byte; to a terminal without control characters."""
    if sys.stdout.isatty():
        content = show_controls(content.decode(errors="replace")).encode()
    sys.stdout.buffer.write(content)
