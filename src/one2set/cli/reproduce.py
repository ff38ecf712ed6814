"""`one2set reproduce`: the paper's whole evaluation, and a report on it."""

import shlex
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from one2set.cli.console import err, out
from one2set.cli.plans import CodeOption, Engine, do_plan
from one2set.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from one2set.reproduction.execution import Plan

_PARTS = "tables,ablations,lambda,steps,codes,beyond"


def reproduce(
    corpus: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS",
            help="A folder made by one2set prepare, with test sets named as in the paper.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where jobs and the report go."),
    ],
    scale: Annotated[str, typer.Option(help="As for one2set train.")] = "small",
    only: Annotated[
        str,
        typer.Option(
            metavar="PART|ROW,…", help="Parts of the evaluation, or single rows: see --list."
        ),
    ] = _PARTS,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each row: 0, 1, ….")] = 3,
    documents: Annotated[
        int | None,
        typer.Option(
            min=1, help="Visits of each training. Default: the scale's.", show_default=False
        ),
    ] = None,
    fine_tune: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Visits of systems that start from another, after its own. Default: a fifth.",
            show_default=False,
        ),
    ] = None,
    set: Annotated[
        list[str],
        typer.Option(metavar="NAME=VALUE", help="As for one2set train, for every system."),
    ] = [],  # noqa: B006
    engine: Annotated[
        Engine,
        typer.Option(
            help="Where: one job after another on this machine, or all at once on a Ray cluster "
            "(RAY_ADDRESS)."
        ),
    ] = "local",
    processes: Annotated[
        int, typer.Option(min=1, help="Processes of each training, started by torchrun.")
    ] = 1,
    code: CodeOption = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Print the plan, with times as far as known, and exit.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Train nothing; report on what is done.")
    ] = False,
) -> None:
    """Train and measure all that the paper's tables and figures show, and report on it.

    A second call does nothing that is done, and a killed one goes on. Start the same command on
    several machines with a common disk, or once for each GPU, and they share the work. FOLDER then
    holds report.html, report.md and results.json, on all jobs of FOLDER with these settings.
    """
    try:
        from one2set.reproduction.execution import Plan
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="training") from None
    from one2set.data.corpus.corpus import VALID, Corpus
    from one2set.reproduction.plan import Setup, rows_for
    from one2set.reproduction.report import write_report
    from one2set.reproduction.results import Results
    from one2set.reproduction.version import code_version

    opened = Corpus(corpus)
    version = code or code_version()
    setup = Setup(opened, scale, documents, fine_tune, tuple(set), version)
    if not setup.splits or VALID not in opened.manifest.splits:
        raise ConfigError(
            f"{corpus} has the splits {', '.join(opened.manifest.splits)}; expected validation and "
            "test documents: make it with one2set prepare --valid FILE --test kp20k=FILE"
        )
    rows = rows_for(part.strip() for part in only.split(","))
    plan = Plan(setup.jobs(rows, range(seeds)), setup, output, splits=setup.splits)
    if list_:
        _list(plan)
        return
    error = None if report_only else do_plan(plan, engine=engine, processes=processes)
    results = Results(setup, output)
    if error is not None and not results.rows:
        raise error
    if not results.rows:
        raise ConfigError(f"{output} holds no job of this plan that is done; run it first")
    path = write_report(results, command=shlex.join(["one2set", *sys.argv[1:]]))
    err.print(f"the report is {path}", soft_wrap=True)
    if error is not None:
        raise error


def _list(plan: "Plan") -> None:
    forecast, done = plan.forecast(), {one.job.name for one in plan.done()}
    table = Table(box=None, pad_edge=False)
    for column in ("job", "after", "examples", "time"):
        table.add_column(column, justify="left" if column in ("job", "after") else "right")
    for name, one in plan.jobs.items():
        before = one.job.before
        seconds = forecast.seconds(one.job)
        time = "unknown" if seconds is None else str(timedelta(seconds=round(seconds)))
        table.add_row(
            name,
            before.name if before else "",
            f"{one.job.num_examples:,}",
            "done" if name in done else time,
        )
    total = forecast.total((one.job, 0) for name, one in plan.jobs.items() if name not in done)
    left = "unknown until a job is done" if total is None else timedelta(seconds=round(total))
    out.print(table)
    out.print(
        f"{len(plan.jobs)} jobs, {len(done)} of them done; {plan.num_examples:,} examples; "
        f"left: {left}",
        soft_wrap=True,
    )
