"""The consoles of the command line: results go to stdout, everything else to stderr.

Texts and file names may hold control sequences, by which a terminal changes its title, hides lines
or even types commands. Whatever is printed here is shown without them, and is never taken for
rich's markup.
"""

import os
import re
import sys
from collections.abc import Iterable
from typing import Any, Literal

from rich.console import Console
from rich.segment import Segment

Color = Literal["auto", "always", "never"]
_WIDE = 400  # columns: a terminal has its own width; elsewhere no line is broken
# The control characters of ASCII and Latin-1, except tabs and line ends; and halves of characters,
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


class SafeConsole(Console):
    """A console that passes on no control sequences but its own, and knows no markup."""

    def __init__(
        self, *, stderr: bool = False, width: int | None = None, terminal: bool | None = None
    ) -> None:
        super().__init__(
            stderr=stderr,
            width=width,
            force_terminal=terminal,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        """Everything that is printed passes through here, also in tables and progress bars."""
        for segment in super().render(*args, **kwargs):
            shown = segment.text if segment.control else show_controls(segment.text)
            yield segment._replace(text=shown)


def _open_closed_streams() -> None:
    """Where a shell has closed stdout or stderr (`>&-`), Python has None: write to nowhere."""
    if sys.stdout is None or sys.stderr is None:
        nowhere = open(os.devnull, "w")  # noqa: SIM115  (open as long as the process runs)
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere


_open_closed_streams()
out = SafeConsole(width=None if sys.stdout.isatty() else _WIDE)
err = SafeConsole(stderr=True, width=None if sys.stderr.isatty() else _WIDE)


def make_output(color: Color) -> SafeConsole:
    """A console for stdout; with "always", colours also go into files and pipes."""
    if color == "auto":
        return out
    width = None if sys.stdout.isatty() else _WIDE
    return SafeConsole(width=width, terminal=color == "always")


def warn_of_skipped(count: int, where: str = "") -> None:
    """Say how many records were skipped, if any were."""
    if count:
        records = "1 record was" if count == 1 else f"{count:,} records were"
        err.print(f"{records} skipped{where}", style="yellow", soft_wrap=True)


def write(content: bytes) -> None:
    """Write results to stdout byte for byte; to a terminal without control characters."""
    if sys.stdout.isatty():
        content = show_controls(content.decode(errors="replace")).encode()
    sys.stdout.buffer.write(content)
