"""Following a plan of jobs as it is done: a bar on a terminal, elsewhere a line now and then."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from one2set.cli.console import err

if TYPE_CHECKING:
    from one2set.errors import One2SetError
    from one2set.reproduction.execution import Event, Plan

CodeOption = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Go on with jobs of another version of the code, as the report names it. For changes "
        "that do not matter.",
        show_default=False,
    ),
]
Engine = Literal["local", "ray"]
_SECONDS_BETWEEN_LINES = 60.0  # where there is no terminal to draw a bar on


def do_plan(
    plan: "Plan", *, engine: Engine = "local", processes: int = 1, tidy: bool = True
) -> "One2SetError | None":
    """Do what is left of a plan, and tell of it; the first error that a job met, if any did.

    Ctrl-C ends the command when a checkpoint is saved.
    """
    from one2set.reproduction.launching import InterruptionError, launch
    from one2set.reproduction.ray import run_on_ray

    if engine == "ray":
        events = run_on_ray(plan, processes=processes, tidy=tidy)
    else:
        events = plan.run(launch(processes), tidy=tidy)
    try:
        with _display(plan) as show:
            for event in events:
                show(event)
    except InterruptionError as interruption:
        err.print("stopped; the same command goes on from here")
        raise typer.Exit(128 + interruption.signal) from None
    return next(iter(plan.failed.values()), None)


@contextmanager
def _display(plan: "Plan") -> Iterator[Any]:
    columns = [TextColumn("[bold]{task.description}"), BarColumn(bar_width=20)]
    columns += [TaskProgressColumn(), TextColumn("{task.fields[numbers]}")]
    bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
    task = bar.add_task("", total=max(plan.visits, 1), numbers="")
    next_line = 0.0

    def show(event: "Event") -> None:
        nonlocal next_line
        if not bar.disable:
            bar.update(
                task,
                description=_doing(event),
                completed=event.visits_done,
                numbers=_numbers(event, plan),
            )
        now = time.monotonic()
        if event.what in ("done", "failed") or (bar.disable and now >= next_line):
            next_line = now + _SECONDS_BETWEEN_LINES
            line = f"{_doing(event)}: {_numbers(event, plan)}"
            err.print(line, markup=False, soft_wrap=True)

    with bar:
        yield show


def _doing(event: "Event") -> str:
    name = f"{event.job.row.name} (seed {event.job.seed})"
    beside = f", {event.beside} more beside it" if event.beside else ""
    match event.what:
        case "begun" | "training":
            return f"{name} {'learns' if event.job.visits else 'is tuned'}{beside}"
        case "measuring":
            return f"{name} on {event.split}{beside}"
        case "done":
            return f"{name} is done"
        case "failed":
            return f"{name} has failed"
        case "waiting":
            return f"another process does {name}"


def _numbers(event: "Event", plan: "Plan") -> str:
    seconds = event.seconds_left
    left = "unknown" if seconds is None else str(timedelta(seconds=round(seconds)))
    return (
        f"{event.jobs_done} of {len(plan.jobs)} jobs, "
        f"{event.visits_done:,} of {plan.visits:,} visits, left {left}"
    )
