"""One progress display for all commands: a bar on a terminal, elsewhere a line now and then."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from one2set.cli.console import err


class Display:
    """What `show_progress` yields. Call `update` as often as you like."""

    def __init__(self, bar: Progress, task: TaskID, seconds_between_lines: float | None) -> None:
        self._bar, self._task = bar, task
        self._seconds = None if err.is_terminal else seconds_between_lines
        self._next_line = 0.0

    def update(self, completed: float, text: str, *, description: str | None = None) -> None:
        """Show how far the work is, with a text about it; a new description replaces the old."""
        self._bar.update(self._task, completed=completed, text=text, description=description)
        now = time.monotonic()
        if self._seconds is not None and now >= self._next_line:
            self._next_line = now + self._seconds
            task = self._bar.tasks[self._task]
            share = f"{completed / task.total:4.0%} " if task.total else ""
            self.print(f"{share}{task.description}: {text}")

    def print(self, line: str) -> None:
        """Write a line that stays."""
        err.print(line, soft_wrap=True)


@contextmanager
def show_progress(
    description: str,
    *,
    total: float | None,
    seconds_between_lines: float | None = None,
    estimate: bool = True,
) -> Iterator[Display]:
    """Show a bar on a terminal; elsewhere print a line every `seconds_between_lines`, if given.

    With `estimate`, the bar shows elapsed and remaining time. Pass False if the text says so.
    """
    columns: list[ProgressColumn] = [
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    ]
    if estimate:
        columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    task = bar.add_task(description, total=total, text="")
    with bar:
        yield Display(bar, task, seconds_between_lines)
