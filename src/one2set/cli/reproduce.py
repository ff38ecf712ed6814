"""`one2set reproduce`: the paper's whole evaluation, with a report."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.bulk_output import Engine
from one2set.cli.console import err
from one2set.cli.options import ScaleOption, SetOption, computation_option, training_option
from one2set.cli.plans import CodeOption, FineTuneOption, do_plan
from one2set.errors import ConfigError, missing_extra

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
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="The folder of the report and its jobs."
        ),
    ],
    only: Annotated[
        str,
        typer.Option(
            metavar="PART|ROW,…",
            help=f"Parts ({_PARTS.replace(',', ', ')}) or rows of the evaluation. Default: all.",
            show_default=False,
        ),
    ] = _PARTS,
    list_: Annotated[
        bool, typer.Option("--list", help="Print the jobs and their expected times, and exit.")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Write the report on finished jobs, and exit.")
    ] = False,
    scale: ScaleOption = "small",
    seeds: Annotated[
        int,
        training_option(min=1, metavar="N", help="Number of seeds per row."),
    ] = 3,
    documents: Annotated[
        int | None,
        training_option(
            min=1,
            metavar="N",
            help="Training examples per system. Default: the scale's.",
            show_default=False,
        ),
    ] = None,
    fine_tune: FineTuneOption = None,
    set: SetOption = [],  # noqa: B006
    engine: Annotated[
        Engine,
        computation_option(
            help="One job after another on this machine, or jobs in parallel on a Ray cluster "
            "(RAY_ADDRESS)."
        ),
    ] = "local",
    processes: Annotated[
        int,
        computation_option(min=1, metavar="N", help="Training processes per job (torchrun)."),
    ] = 1,
    code: CodeOption = None,
) -> None:
    """Reproduce the paper's tables and figures, and report on its claims.

    one2set reproduce my-corpus -o reproduced --scale medium
    one2set reproduce my-corpus -o reproduced --only tables --seeds 1

    The same command continues an interrupted run. Start it several times, also
    on machines with a shared disk, to share the work. It writes report.html,
    report.md and results.json to FOLDER.
    """
    try:
        from one2set.reproduction.execution import Plan
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="training") from None
    from one2set.cli.tables import print_jobs
    from one2set.data.corpus.corpus import VALID, Corpus
    from one2set.reproduction.plan import Setup, select_rows
    from one2set.reproduction.report import write_report
    from one2set.reproduction.results import Results
    from one2set.reproduction.version import hash_code

    opened = Corpus(corpus)
    version = code or hash_code()
    setup = Setup(opened, scale, documents, fine_tune, tuple(set), version)
    if not setup.splits or VALID not in opened.manifest.splits:
        raise ConfigError(
            f"{corpus} has the splits {', '.join(opened.manifest.splits)}; expected validation and "
            "test documents: make it with one2set prepare --valid FILE --test kp20k=FILE"
        )
    rows = select_rows(part.strip() for part in only.split(","))
    plan = Plan(setup.jobs(rows, range(seeds)), setup, output, splits=setup.splits)
    if list_:
        print_jobs(plan)
        return
    error = None if report_only else do_plan(plan, engine=engine, processes=processes)
    results = Results(setup, output)
    if error is not None and not results.rows:
        raise error
    if not results.rows:
        raise ConfigError(
            f"{output} has no finished job of this plan; run it without --report-only first"
        )
    path = write_report(results, command=shlex.join(["one2set", *sys.argv[1:]]))
    err.print(f"the report is {path}", soft_wrap=True)
    if error is not None:
        raise error
