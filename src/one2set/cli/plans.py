"""Run a plan of jobs and show its progress: a bar on a terminal, elsewhere a line now and then."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from one2set.cli.bulk_output import Engine
from one2set.cli.console import err
from one2set.cli.options import computation_option, training_option
from one2set.cli.progress import show_progress

if TYPE_CHECKING:
    from one2set.errors import One2SetError
    from one2set.reproduction.execution import JobEvent, Plan

CodeOption = Annotated[
    str | None,
    computation_option(
        metavar="VERSION",
        help="Continue jobs of another version of the code, as named in the report. Use it after "
        "changes that do not affect results.",
        show_default=False,
    ),
]
FineTuneOption = Annotated[
    int | None,
    training_option(
        min=1,
        metavar="N",
        help="Further examples for systems that start from another one. Default: a fifth of the "
        "other's.",
        show_default=False,
    ),
]

_SECONDS_BETWEEN_LINES = 60.0  # where there is no terminal to draw a bar on


def do_plan(
    plan: "Plan", *, engine: Engine = "local", processes: int = 1, tidy: bool = True
) -> "One2SetError | None":
    """Run the unfinished jobs of a plan, and show their progress. Returns the first error of a job.

    Ctrl-C ends the command as soon as a checkpoint is saved.
    """
    from one2set.reproduction.job import InterruptionError, launch
    from one2set.reproduction.ray import run_plan_on_ray

    if engine == "ray":
        events = run_plan_on_ray(plan, processes=processes, tidy=tidy)
    else:
        events = plan.run(launch(processes), tidy=tidy)
    try:
        with show_progress(
            "",
            total=max(plan.num_examples, 1),
            seconds_between_lines=_SECONDS_BETWEEN_LINES,
            estimate=False,
        ) as display:
            for event in events:
                if event.what in ("done", "failed"):
                    display.print(f"{_doing(event)}: {_numbers(event, plan)}")
                else:
                    display.update(
                        event.examples_done, _numbers(event, plan), description=_doing(event)
                    )
    except InterruptionError as interruption:
        err.print("stopped; the same command continues from here")
        raise typer.Exit(128 + interruption.signal) from None
    return next(iter(plan.failed.values()), None)


def _doing(event: "JobEvent") -> str:
    name = f"{event.job.row.name} (seed {event.job.seed})"
    beside = f" and {event.beside} more" if event.beside else ""
    match event.what:
        case "begun" | "training":
            doing = "training" if event.job.num_examples else "tuning"
            return f"{doing} {name}{beside}"
        case "measuring":
            return f"measuring {name} on {event.split}{beside}"
        case "done":
            return f"{name} done"
        case "failed":
            return f"{name} failed"
        case "waiting":
            return f"waiting for {name} in another process"


def _numbers(event: "JobEvent", plan: "Plan") -> str:
    seconds = event.seconds_left
    left = "unknown" if seconds is None else str(timedelta(seconds=round(seconds)))
    return (
        f"{event.jobs_done} of {len(plan.jobs)} jobs, "
        f"{event.examples_done:,} of {plan.num_examples:,} examples, {left} left"
    )
