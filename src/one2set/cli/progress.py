"""One progress display for all commands: a bar on a terminal, elsewhere nothing, or lines that a
log can hold."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar, cast

from one2set.cli import console

if TYPE_CHECKING:  # imported where a bar is shown: a short text has its keyphrases before that
    from rich.progress import Progress, ProgressColumn, TaskID

_SECONDS_OF_SILENCE = 2.0


class Display:
    """What `show_progress` yields. Call `update` as often as you like."""

    def __init__(
        self, bar: "Progress", task: "TaskID", seconds_between_lines: float | None
    ) -> None:
        self._bar, self._task = bar, task
        self._seconds = None if console.err.is_terminal else seconds_between_lines
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
        console.err.print(line, soft_wrap=True)


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
    from rich import progress as rich

    columns: list[ProgressColumn] = [
        rich.TextColumn("{task.description}", style="bold", markup=False),
        rich.BarColumn(bar_width=20),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[text]}", markup=False),
    ]
    if estimate:
        columns += [rich.TimeElapsedColumn(), rich.TextColumn("left"), rich.TimeRemainingColumn()]
    bar = rich.Progress(
        *columns, console=console.err, transient=True, disable=not console.err.is_terminal
    )
    task = bar.add_task(description, total=total, text="")
    with bar:
        yield Display(bar, task, seconds_between_lines)


_Item = TypeVar("_Item")


def show_waiting(items: Iterator[_Item], describe: Callable[[], str]) -> Iterator[_Item]:
    """Yield items; while one takes long, show that there is work going on."""
    end = object()
    while True:
        with waiting(describe):
            item = next(items, end)
        if item is end:
            return
        yield cast(_Item, item)


@contextmanager
def waiting(describe: Callable[[], str]) -> Iterator[None]:
    """On a terminal, show a line with the time after two seconds. It is gone before anything else
    is printed."""
    if not console.may_be_terminal(sys.stderr):
        yield
        return
    done = Event()
    thread = Thread(target=_show_time, args=(done, describe), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show_time(done: Event, describe: Callable[[], str]) -> None:
    if done.wait(_SECONDS_OF_SILENCE) or not console.err.is_terminal:
        return
    from rich import progress as rich

    description = rich.TextColumn("{task.description}", markup=False)
    columns = (rich.SpinnerColumn(), description, rich.TimeElapsedColumn())
    with rich.Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task(describe(), total=None)
        while not done.wait(0.2):
            bar.update(task, description=describe())
