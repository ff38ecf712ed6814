"""What the command line writes on: results to stdout, everything else to stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_WIDE = 400  # columns: a terminal has its own width; elsewhere no line is broken
out = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _WIDE)


@contextmanager
def progress_bar(description: str, *, total: float | None) -> Iterator[Any]:
    """A bar with a rate of our own, elapsed and remaining time; call it with (done, rate text)."""
    with Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bar:
        task = bar.add_task(description, total=total, rate="")

        def update(done: float, rate: str) -> None:
            bar.update(task, completed=done, rate=rate)

        yield update
