"""`one2set compare`: train systems on the same documents and compare their scores."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from one2set.atomic import atomic_file
from one2set.cli.console import as_word, out
from one2set.cli.options import CorpusArgument, ScaleOption, SetOption, training_option
from one2set.cli.plans import CodeOption, FineTuneOption, do_plan
from one2set.errors import missing_extra

if TYPE_CHECKING:
    from one2set.reproduction.job import JobFolder

# The systems of the paper's tables, and CopyRNN.
_PAPERS = "catseq,catseqtg,catseqtg-2rf1,gan-mr,exhird,transformer,settrans,copyrnn"
Record = dict[str, Any]
_COLUMNS: dict[str, Callable[[Record], str]] = {
    "present F1@5": lambda row: f"{row['present_f1_5']:.3f}",
    "present F1@M": lambda row: f"{row['present_f1_m']:.3f}",
    "absent F1@5": lambda row: f"{row['absent_f1_5']:.3f}",
    "absent F1@M": lambda row: f"{row['absent_f1_m']:.3f}",
    "#PK": lambda row: f"{row['num_present']:.2f}",
    "#AK": lambda row: f"{row['num_absent']:.2f}",
    # Of no predictions, no fraction is repeated.
    "Dup": lambda row: (
        f"{row['duplication']:.2f}" if row["num_present"] or row["num_absent"] else "–"
    ),
    "examples": lambda row: f"{row['documents']:,}",
    "train docs/s": lambda row: f"{row['training_speed']:.1f}",
    "generate docs/s": lambda row: f"{row['generation_speed']:.1f}",
    "parameters": lambda row: f"{row['parameters'] / 1e6:.1f} M",
}


def compare(
    corpus: CorpusArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="The folder for runs and the table."),
    ],
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAME,NAME",
            help="The systems to train. Default: the seven of the paper, and copyrnn.",
            show_default=False,
        ),
    ] = _PAPERS,
    split: Annotated[
        str, typer.Option(metavar="NAME", help="The split of the corpus to score.")
    ] = "valid",
    scale: ScaleOption = "small",
    documents: Annotated[
        int,
        training_option(min=1, metavar="N", help="Training examples per system."),
    ] = 60_000,
    fine_tune: FineTuneOption = None,
    seed: Annotated[int, training_option(min=0, metavar="N", help="Random seed.")] = 0,
    set: SetOption = [],  # noqa: B006
    code: CodeOption = None,
) -> None:
    """Train systems on the same documents and compare their scores.

    one2set compare my-corpus -o compared --systems transformer,settrans

    The same command continues an interrupted comparison. The table is also
    written to FOLDER/comparison.md and FOLDER/comparison.jsonl.
    """
    try:
        from one2set.reproduction.execution import Plan
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="training") from None
    from one2set.data.corpus.corpus import Corpus
    from one2set.reproduction.measure import expect_split
    from one2set.reproduction.plan import ReportRow, Setup, order_rows
    from one2set.reproduction.version import hash_code
    from one2set.training.systems import get_system

    asked = [ReportRow(name, name, name) for name in (part.strip() for part in systems.split(","))]
    for row in asked:
        get_system(row.system)
    opened = Corpus(corpus)
    expect_split(opened, split)
    setup = Setup(opened, scale, documents, fine_tune, tuple(set), code or hash_code())
    jobs = setup.jobs(order_rows(asked, {}), [seed])
    plan = Plan(jobs, setup, output, splits=[split])
    if (error := do_plan(plan, tidy=False)) is not None:
        raise error
    done = {job_folder.job.row.name: job_folder for job_folder in plan.jobs.values()}
    rows = [_record(done[row.name], split) for row in asked]
    _show(rows)
    _save(rows, output)


def _record(job_folder: "JobFolder", split: str) -> Record:
    record, measured = job_folder.training_record(), job_folder.measured(split)
    return {
        "system": job_folder.job.row.name,
        **{str(name): value for name, value in measured.figures.items()},
        "documents": record.examples_seen
        + (job_folder.before.training_record().examples_seen if job_folder.before else 0),
        "training_speed": record.examples_seen / record.seconds,
        "generation_speed": measured.documents / measured.seconds,
        "parameters": record.parameters,
    }


def _show(rows: Sequence[Record]) -> None:
    table = Table(
        box=box.SIMPLE_HEAD if out.is_terminal else None,
        header_style="bold cyan",
        pad_edge=False,
    )
    table.add_column("system", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column if out.is_terminal else as_word(column), justify="right")
    for row in rows:
        table.add_row(row["system"], *(shown(row) for shown in _COLUMNS.values()))
    out.print(table)


def _save(rows: Sequence[Record], folder: Path) -> None:
    import orjson

    lines = [["system", *_COLUMNS], ["---", *(["---:"] * len(_COLUMNS))]]
    lines += [[row["system"], *(shown(row) for shown in _COLUMNS.values())] for row in rows]
    with atomic_file(folder / "comparison.md") as file:
        file.writelines(f"| {' | '.join(line)} |\n".encode() for line in lines)
    with atomic_file(folder / "comparison.jsonl") as file:
        file.writelines(orjson.dumps(row) + b"\n" for row in rows)
