"""The two errors that users can cause, and the form of their messages.

Every message says what is wrong, its value, what is allowed and what to do. The command line turns
them into exit code 2 without a traceback; anything else that escapes is our bug and keeps its own.
"""

from functools import partial
from pathlib import Path
from typing import Any

_LONGEST = 2_000  # bytes of a message


def shorten(text: str, size: int) -> str:
    """Shorten a text to a number of bytes by leaving out its middle."""
    data = text.encode("utf-8", "replace")
    if len(data) <= size:
        return text
    head, tail = data[: size * 2 // 3], data[-(size // 3 - 10) :]
    return f"{head.decode('utf-8', 'ignore')} … {tail.decode('utf-8', 'ignore')}"


class One2SetError(Exception):
    """An error that the user can fix; its message says how."""

    def __init__(self, message: object) -> None:
        super().__init__(shorten(str(message), _LONGEST))


class ConfigError(One2SetError):
    """An option, a configuration value or an installed extra is not what it must be."""


class DataError(One2SetError):
    """Input that cannot be used, with its file and line.

    `path` and `line` (from 1) say where; `what` is wrong, with its value; `fix` is what to do.
    """

    def __init__(
        self, what: str, *, fix: str, path: str | Path | None = None, line: int | None = None
    ) -> None:
        what, fix = shorten(what, _LONGEST // 2), shorten(fix, _LONGEST // 4)
        self.what, self.fix, self.line = what, fix, line
        self.path = None if path is None else str(path)
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{place}{what}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the error picklable, so that worker processes can raise it."""
        rebuild = partial(DataError, self.what, fix=self.fix, path=self.path, line=self.line)
        return rebuild, ()


def missing_extra(package: str, *, extra: str, purpose: str) -> ConfigError:
    """The error for an optional dependency that is not installed; it names the extra."""
    return ConfigError(
        f"{purpose} needs the package {package!r}, which is not installed; "
        f'run: pip install "one2set[{extra}]"'
    )
