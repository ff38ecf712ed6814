"""The two errors that users can cause, and the form in which they are told.

Every message says what is wrong, its value, what is allowed and what to do. The command line turns
them into exit code 2 without a traceback; anything else that escapes is our bug and keeps its own.
"""

from functools import partial
from pathlib import Path
from typing import Any


class One2SetError(Exception):
    """An error that the user can mend; its text says how."""


class ConfigError(One2SetError):
    """An option, a configuration value or an installed extra is not what it must be."""


class DataError(One2SetError):
    """Input that cannot be used, with the place where it stands.

    `path` and `line` (from 1) say where; `what` is wrong, with its value; `fix` is what to do.
    """

    def __init__(
        self, what: str, *, fix: str, path: str | Path | None = None, line: int | None = None
    ) -> None:
        self.what, self.fix, self.line = what, fix, line
        self.path = None if path is None else str(path)
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{place}{what}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        """So that one from another process arrives whole."""
        again = partial(DataError, self.what, fix=self.fix, path=self.path, line=self.line)
        return again, ()


def missing_extra(package: str, *, extra: str, purpose: str) -> ConfigError:
    """The error for an optional dependency that is not installed; it names the extra."""
    return ConfigError(
        f"{purpose} needs the package {package!r}, which is not installed; "
        f'run: pip install "one2set[{extra}]"'
    )
