"""`one2set train`: from a corpus to a model, in one process or, under torchrun, in several."""

import os
import shlex
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from one2set.cli.options import CorpusArgument
from one2set.cli.progress import Display, show_progress
from one2set.errors import ConfigError, One2SetError, missing_extra
from one2set.training.config import FURTHER, SCALES, Config

if TYPE_CHECKING:
    from one2set.training.loop import Ended, Event, Step, Validated
    from one2set.training.run import Run

# Those of systems.py, which needs torch; a test compares them.
SYSTEMS = (
    "transformer, settrans, catseq, catseqtg, catseqtg-peos, catseqtg-2rf1, gan-mr, "
    "exhird, copyrnn, transformer-missing-eos, settrans-no-codes, settrans-fixed, "
    "settrans-random, settrans-student, settrans-single"
)
_run = partial(typer.Option, rich_help_panel="Run")
_setting = partial(typer.Option, rich_help_panel="Settings")
_limit = partial(typer.Option, rich_help_panel="Stop after")
_SECONDS_BETWEEN_LINES = 30.0  # where there is no terminal to draw a bar on


def _print_settings(scale: str | None) -> None:
    if scale is not None:
        typer.echo(Config.scale(scale).to_toml(), nl=False)
        raise typer.Exit


def train(
    corpus: CorpusArgument,
    output: Annotated[Path, _run("--output", "-o", metavar="RUN", help="The run folder.")],
    system: Annotated[
        str | None,
        _setting(metavar="NAME", help=f"One of {SYSTEMS}. Default: settrans.", show_default=False),
    ] = None,
    scale: Annotated[
        str | None,
        _setting(
            metavar="NAME|FILE",
            help=f"Network size and training settings: {', '.join(SCALES)}, or a .toml file. "
            "Default: small; with --from, further.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        _setting(min=0, metavar="N", help="Random seed. Default: 0.", show_default=False),
    ] = None,
    set: Annotated[
        list[str],
        _setting(
            metavar="NAME=VALUE",
            help="Change a setting, such as train.batch_documents=12. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    steps: Annotated[
        int | None, _limit(metavar="N", help="Optimiser steps; 0 for no limit.", show_default=False)
    ] = None,
    documents: Annotated[
        int | None,
        _limit(
            metavar="N",
            help="Training examples, counted again in every epoch; 0 for no limit.",
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        float | None, _limit(metavar="N", help="Minutes; 0 for no limit.", show_default=False)
    ] = None,
    from_: Annotated[
        str | None,
        _run(
            "--from",
            metavar="MODEL",
            help="Continue training a model: its folder, or default. The corpus must have its "
            "vocabulary: prepare --vocabulary MODEL.",
            show_default=False,
        ),
    ] = None,
    init: Annotated[
        Path | None,
        _run(
            metavar="RUN|MODEL",
            help="Start from the weights of another run or model.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, _run("--resume", help="Continue the run in RUN; start it if there is none.")
    ] = False,
    settings: Annotated[
        str | None,
        _setting(
            metavar="SCALE",
            help="Print every setting of a scale with its meaning, and exit.",
            callback=_print_settings,
            is_eager=True,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Train a system on a corpus; the best model is saved in RUN/model.

    one2set train my-corpus --output my-run
    torchrun --nproc-per-node 2 -m one2set train my-corpus --output my-run

    Ctrl-C saves a checkpoint. --resume continues from the last one, even after
    a crash.
    """
    # PyTorch reads this at its first large allocation. On Linux, large tensors then have pages of
    # 2 MB: with 4 KB, a step spends 5 to 10 % of its time on page faults (docs/recipe.md).
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    try:
        from one2set.training.distributed import join_processes
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="training") from None
    from one2set.data.corpus.corpus import Corpus
    from one2set.training.loop import Ended, train
    from one2set.training.task import create_task, open_run

    sizes: list[str] = []
    if from_ is not None:
        if init is not None:
            raise ConfigError("--from and --init cannot be used together; pass only one")
        init, own, sizes = _load_starting_model(from_)
        system = system or own
    limits = {"steps": steps, "documents": documents, "minutes": minutes}
    changes = [f"limits.{name}={value}" for name, value in limits.items() if value is not None]
    with join_processes() as processes, ExitStack() as stack:
        try:
            run, messages = processes.on_main(
                lambda: open_run(
                    output,
                    corpus,
                    resume=resume,
                    system=system,
                    scale=scale,
                    default_scale="small" if from_ is None else FURTHER,
                    seed=seed,
                    changes=[*sizes, *set, *changes],
                    init=init,
                )
            )
            task = create_task(run, Corpus(corpus))
            processes.on_main(lambda: stack.enter_context(run.locked()))
            display = None
            if processes.is_main:
                display = stack.enter_context(
                    show_progress(
                        run.metadata.system,
                        total=1.0,
                        seconds_between_lines=_SECONDS_BETWEEN_LINES,
                        estimate=False,
                    )
                )
                for message in messages:
                    display.print(message)
            for event in train(task, processes=processes):
                if display is not None:
                    _show(event, run, display)
        except One2SetError:
            if processes.is_main:
                raise
            raise typer.Exit(2) from None  # the first process prints the error
    if isinstance(event, Ended) and event.reason == "interrupted":
        raise typer.Exit(128 + (event.signal or 0))


def _load_starting_model(name: str) -> tuple[Path, str, list[str]]:
    """A model's folder, its system, and its sizes as settings."""
    from one2set.model.folder import load_model
    from one2set.model.paths import find_model_folder
    from one2set.training.config import ModelSettings

    folder = find_model_folder(name)
    network, _, config = load_model(folder)
    sizes = {**config.get("model", {}), **network.arguments}
    named = [
        f"model.{key}={value}" for key, value in sizes.items() if key in ModelSettings.model_fields
    ]
    # A model without a system was imported by an earlier version.
    system = "settrans" if network.rows > 1 else "transformer"
    return folder, config.get("system", system), named


def _show(event: "Event", run: "Run", display: Display) -> None:
    from one2set.training.loop import Ended, Message, Step, Validated

    match event:
        case Step():
            display.update(event.fraction_done, _step_text(event))
        case Validated():
            display.print(_validated_text(event))
        case Message():
            display.print(event.text)
        case Ended():
            display.print(_ended_text(event, run))


def _step_text(event: "Step") -> str:
    losses = " ".join(f"{name} {value:.3f}" for name, value in event.losses.items())
    left = timedelta(seconds=round(min(event.seconds_left, 1e8)))
    # What matters most comes first: a narrow terminal cuts off the end.
    return (
        f"{left} left, step {event.step:,} epoch {event.epoch} "
        f"{event.documents_per_second:.1f} docs/s {losses} rate {event.learning_rate:.1e}"
    )


def _validated_text(event: "Validated") -> str:
    numbers = " ".join(f"{name} {value:.4f}" for name, value in event.metrics.items())
    return f"validation at step {event.step:,}: {numbers}{' (best so far)' if event.best else ''}"


def _ended_text(event: "Ended", run: "Run") -> str:
    progress = event.progress
    took = timedelta(seconds=round(progress.seconds))
    where = f"step {progress.step:,}, {progress.documents:,} documents, {took}"
    if event.reason == "interrupted":
        parts = ["one2set", "train", run.metadata.corpus, "--output", str(run.folder), "--resume"]
        command = shlex.join(parts)
        return f"stopped at {where}; continue with: {command}"
    why = {"limit": "reached the limit", "patience": "stopped early: no improvement"}[event.reason]
    known = progress.best is not None
    best = f"; the best weights are those of step {progress.best_step:,}" if known else ""
    return f"{why}: {where}{best}\nthe model is {run.model}"
