"""`one2set compare`: train systems on the same documents, and put what they reach side by side."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from one2set.atomic import complete_file
from one2set.cli.console import err, out
from one2set.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from one2set.experiments import Measured

# Those that the paper compares, and CopyRNN, by which its §3.1 begins.
_PAPERS = "catseq,catseqtg,catseqtg-2rf1,gan-mr,exhird,transformer,settrans,copyrnn"
_COLUMNS: "dict[str, Callable[[Measured], str]]" = {
    "present F1@5": lambda row: f"{row.present_f1_5:.3f}",
    "F1@M": lambda row: f"{row.present_f1_m:.3f}",
    "absent F1@5": lambda row: f"{row.absent_f1_5:.3f}",
    "F1@M ": lambda row: f"{row.absent_f1_m:.3f}",
    "#PK": lambda row: f"{row.num_present:.2f}",
    "#AK": lambda row: f"{row.num_absent:.2f}",
    "Dup": lambda row: f"{row.duplication:.2f}",
    "visits": lambda row: f"{row.documents:,}",
    "train docs/s": lambda row: f"{row.training_speed:.1f}",
    "generate docs/s": lambda row: f"{row.generation_speed:.1f}",
    "parameters": lambda row: f"{row.parameters / 1e6:.1f} M",
}


def compare(
    corpus: Annotated[
        Path, typer.Argument(metavar="CORPUS", help="A folder that one2set prepare made.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the runs and the table go."),
    ],
    systems: Annotated[
        str, typer.Option(metavar="NAME,NAME", help="What to train, separated by commas.")
    ] = _PAPERS,
    scale: Annotated[str, typer.Option(help="As for one2set train.")] = "small",
    documents: Annotated[
        int, typer.Option(min=1, help="Documents that each system is trained on.")
    ] = 60_000,
    fine_tune: Annotated[
        int,
        typer.Option(
            min=0,
            help="Documents that a system sees after those of the one it starts from. "
            "Default: a fifth of --documents.",
            show_default=False,
        ),
    ] = 0,
    split: Annotated[str, typer.Option(help="The corpus's split to measure on.")] = "valid",
    seed: Annotated[int, typer.Option(min=0, help="What random numbers follow from.")] = 0,
    set: Annotated[
        list[str],
        typer.Option(metavar="NAME=VALUE", help="As for one2set train, for every system."),
    ] = [],  # noqa: B006
) -> None:
    """Train systems on the same documents and compare them in one table.

    Each system has its run in FOLDER; a second call continues what was interrupted and repeats
    nothing; to train longer, name another FOLDER. The table is also FOLDER/comparison.md and, for
    programs, FOLDER/comparison.jsonl.
    """
    try:
        from one2set.experiments import documents_of, has_ended, measure, plan
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="training") from None
    from one2set.data.corpus import Corpus
    from one2set.systems import system_named

    asked = [name.strip() for name in systems.split(",")]
    names = plan(asked)
    opened = Corpus(corpus)
    judged = documents_of(opened, split)
    common = ["--scale", scale, "--seed", str(seed), *(f"--set={setting}" for setting in set)]
    rows: list[Measured] = []
    for number, name in enumerate(names, 1):
        err.print(f"[bold]{name}[/] ({number} of {len(names)})")
        before = system_named(name).starts_from
        visits = documents if before is None else fine_tune or documents // 5
        start = [] if before is None else ["--init", str(output / before)]
        options = ["--system", name, *common, *start, f"--documents={visits}"]
        if not has_ended(output / name, opened):
            _train(corpus, output / name, *options)
        if name in asked:
            rows.append(measure(output / name, judged))
    _show(rows)
    _save(rows, output)


def _train(corpus: Path, run: Path, *options: str) -> None:
    """`one2set train` in a process of its own, which takes its memory with it when it ends."""
    command = [sys.executable, "-m", "one2set", "train", str(corpus), "--output", str(run)]
    code = subprocess.run([*command, "--resume", *options], check=False).returncode
    if code == 2:
        raise ConfigError(f"{run.name} could not be trained; mend it and run the same again")
    if code:
        raise typer.Exit(code)  # interrupted: the run has said how it goes on


def _show(rows: "Sequence[Measured]") -> None:
    table = Table(
        box=box.SIMPLE_HEAD if out.is_terminal else None,
        header_style="bold cyan",
        pad_edge=False,
    )
    table.add_column("system", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column if out.is_terminal else column.replace(" ", "_"), justify="right")
    for row in rows:
        table.add_row(row.system, *(shown(row) for shown in _COLUMNS.values()))
    out.print(table)


def _save(rows: "Sequence[Measured]", folder: Path) -> None:
    import orjson

    lines = [["system", *_COLUMNS], ["---", *(["---:"] * len(_COLUMNS))]]
    lines += [[row.system, *(shown(row) for shown in _COLUMNS.values())] for row in rows]
    with complete_file(folder / "comparison.md") as file:
        file.writelines(f"| {' | '.join(line)} |\n".encode() for line in lines)
    with complete_file(folder / "comparison.jsonl") as file:
        file.writelines(orjson.dumps(asdict(row)) + b"\n" for row in rows)
