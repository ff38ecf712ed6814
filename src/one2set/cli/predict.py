"""`one2set predict`: keyphrases of any number of documents."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli.console import err
from one2set.cli.options import (
    AbsentOnlyOption,
    FewerOption,
    FieldOption,
    MinScoreOption,
    MoreOption,
    OnErrorOption,
    PresentOnlyOption,
    TopOption,
    wanted_by,
)
from one2set.cli.writing import Target, write_lines
from one2set.errors import ConfigError
from one2set.parallel import count_cores

if TYPE_CHECKING:
    from one2set.bulk.pipeline import Work

_RAW = "All that a network says"


def predict(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] INPUT...",
            help="A model's folder, or that of a run; without it, the model inside. Then documents "
            "in any readable format, folders of them, patterns, or - for standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to write, .jsonl, .jsonl.zst or .parquet; with a / at its end, a folder "
            "of parts. Without it: standard output.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Literal["jsonl", "parquet", "text"] | None,
        typer.Option(
            help="text: a;b;c a line. Default: by the name of OUT; in a folder, by the input's.",
            show_default=False,
        ),
    ] = None,
    raw: Annotated[
        bool | None,
        typer.Option(
            "--raw/--keyphrases",
            help="All that a network says, as it says it, for research; or keyphrases as "
            "`generate` finds them. Default: keyphrases of an exported model, else raw.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue what was interrupted; begin it if nothing.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing OUT.")
    ] = False,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    report: Annotated[
        Path | None, typer.Option(help="A file that lists the skipped records.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where: on this machine, or on a Ray cluster (RAY_ADDRESS)."),
    ] = "local",
    workers: Annotated[
        int,
        typer.Option(
            min=0, help="Processes that generate; 0 for one on every core, with torch for one."
        ),
    ] = 0,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads of each of them; 0 to share all cores.")
    ] = 0,
    top: TopOption = None,
    min_score: MinScoreOption = 0.0,
    present_only: PresentOnlyOption = False,
    absent_only: AbsentOnlyOption = False,
    more: MoreOption = 0,
    fewer: FewerOption = 0,
    slots: Annotated[
        bool,
        typer.Option(
            "--slots", help="Also write all that was generated, ∅ included.", rich_help_panel=_RAW
        ),
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option(
            help="Hypotheses for each code or sequence; 1 is greedy. Default: the system's.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="Hypotheses are ranked by log P / length^penalty. Default: the system's.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    pool: Annotated[
        bool | None,
        typer.Option(
            "--pool/--no-pool",
            help="Write every hypothesis, also of codes that say ∅: many candidates. "
            "Default: the system's.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            help="Of a pool, write the best so many for each code or document; 0 for all. "
            "Default: the system's.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    exclusive: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="A phrase of a sequence must not begin with the word with which one of the K "
            "before it begins; -1: any of them; 0: no such rule. Default: the system's.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    max_source_words: Annotated[
        int | None,
        typer.Option(
            help="Read no more of a document; its line says so if it is longer. Default: 4096.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            help="Source words that are run together: more needs more memory. Default: 4096.",
            show_default=False,
            rich_help_panel=_RAW,
        ),
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda", "mps"],
        typer.Option(
            help="What to compute on; auto takes a GPU where there is one.", rich_help_panel=_RAW
        ),
    ] = "auto",
) -> None:
    """Find the keyphrases of documents, in their order and on all cores.

    OUT appears when it is complete. After an interruption, even kill -9, the same command with
    --resume goes on with the first document that has no line yet.
    """
    from one2set.bulk.output_formats import format_of
    from one2set.bulk.pipeline import Keyphrases, Raw, Source, expanded, run
    from one2set.bulk.ray import run_on_ray
    from one2set.data.reading.records import Fields
    from one2set.keyphrases.loading import exported
    from one2set.model.paths import DEFAULT, find_model_folder, is_model

    if output is None and (resume or overwrite):
        raise ConfigError("--resume and --overwrite are about a file; name it with --output")
    if resume and overwrite:
        raise ConfigError("--resume and --overwrite exclude each other; pass one of them")
    target = None
    if output is not None:
        chosen = format_of(output, format, like=arguments[-1])
        target = Target(output, chosen, resume, overwrite)
        if resume and target.path.exists():
            err.print(f"{output} is complete already", soft_wrap=True)
            return
    named = is_model(arguments[0])
    inputs = expanded(arguments[1:] if named else arguments)
    if not inputs:
        raise ConfigError(f"{arguments[0]} is a model; name the documents after it")
    folder = find_model_folder(arguments[0] if named else DEFAULT)
    search = {
        "beam": beam,
        "length_penalty": length_penalty,
        "pool": pool,
        "keep": keep,
        "exclusive": exclusive,
    }
    changes = tuple((name, value) for name, value in search.items() if value is not None)
    raw = _is_raw(
        raw,
        usually=not exported(folder),
        raw_only={
            "--format text": format == "text",
            "--slots": slots,
            **{f"--{name.replace('_', '-')}": True for name, _ in changes},
            "--max-source-words": max_source_words is not None,
            "--batch-tokens": batch_tokens is not None,
            "--device": device != "auto",
        },
        keyphrases_only={
            "--top": top is not None,
            "--min-score": min_score > 0,
            "--present-only": present_only,
            "--absent-only": absent_only,
            "--more": more > 0,
            "--fewer": fewer > 0,
        },
    )
    work: Work
    if raw:
        work = Raw(
            folder,
            text=format == "text",
            slots=slots,
            search=changes,
            max_source_length=4096 if max_source_words is None else max_source_words,
            batch_tokens=4096 if batch_tokens is None else batch_tokens,
            device=device,
        )
    else:
        wanted = wanted_by(top, min_score, present_only, absent_only, more, fewer)
        work = Keyphrases(folder, wanted)
    if engine == "local":
        workers = workers or (1 if work.needs_torch else count_cores())
        if workers > 1:
            threads = threads or max(count_cores() // workers, 1)
    work = replace(work, threads=threads)
    how = ("model", "threads", "batch_tokens", "device")
    settings = {
        "model": _hashes(folder),
        "inputs": inputs,
        "fields": field,
        "format": format,
        "work": [type(work).__name__, {k: v for k, v in asdict(work).items() if k not in how}],
    }
    source = Source(tuple(inputs), Fields.from_options(field), on_error, report)
    run_there = run_on_ray if engine == "ray" else run
    write_lines(source, partial(run_there, source, work, workers=workers), target, settings)


def _is_raw(
    wish: bool | None,
    *,
    usually: bool,
    raw_only: Mapping[str, bool],
    keyphrases_only: Mapping[str, bool],
) -> bool:
    """Whether raw predictions are meant. Options that only one kind has say so too."""
    for_raw, for_keyphrases = (
        [name for name, given in options.items() if given]
        for options in (raw_only, keyphrases_only)
    )
    raw = wish if wish is not None else bool(for_raw) or (usually and not for_keyphrases)
    if raw and for_keyphrases:
        raise ConfigError(f"{for_keyphrases[0]} is about keyphrases; pass --keyphrases, not --raw")
    if for_raw and not raw:
        raise ConfigError(f"{for_raw[0]} is about raw predictions; leave it out, or pass --raw")
    return raw


def _hashes(folder: Path) -> dict[str, str]:
    """What a model is, by its files."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name[0] != ".":
            with path.open("rb") as file:
                found[path.name] = file_digest(file, "sha256").hexdigest()
    return found
