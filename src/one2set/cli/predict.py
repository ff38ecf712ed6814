"""`one2set predict`: keyphrases for any documents."""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli.console import err, progress_bar
from one2set.cli.corpus import FieldOption, OnErrorOption
from one2set.errors import ConfigError, missing_extra

if TYPE_CHECKING:
    from one2set.data.document import Document
    from one2set.data.streams import Intake
    from one2set.inference.prediction import Prediction

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model's folder, or that of a run.")
]
DeviceOption = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="What to compute on; auto takes a GPU where there is one."),
]
ThreadsOption = Annotated[int, typer.Option(min=0, help="Threads of the CPU; 0 for all cores.")]
BatchTokensOption = Annotated[
    int, typer.Option(help="Source words that are run together: more needs more memory.")
]


def predict(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Documents in any readable format, folders of them, or - for standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write. Without it: standard output.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Literal["jsonl", "text"],
        typer.Option(help='jsonl: {"id": …, "keyphrases": […]} a line; text: a;b;c a line.'),
    ] = "jsonl",
    slots: Annotated[
        bool, typer.Option("--slots", help="Also write all that was generated, ∅ included.")
    ] = False,
    beam: Annotated[
        int | None,
        typer.Option(
            help="Hypotheses for each code or sequence; 1 is greedy. Default: the system's.",
            show_default=False,
        ),
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="Hypotheses are ranked by log P / length^penalty. Default: the system's.",
            show_default=False,
        ),
    ] = None,
    pool: Annotated[
        bool | None,
        typer.Option(
            "--pool/--no-pool",
            help="Write every hypothesis, also of codes that say ∅: many candidates. "
            "Default: the system's.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            help="Of a pool, write the best so many for each code or document; 0 for all. "
            "Default: the system's.",
            show_default=False,
        ),
    ] = None,
    exclusive: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="A phrase of a sequence must not begin with the word with which one of the K "
            "before it begins; -1: any of them; 0: no such rule. Default: the system's.",
            show_default=False,
        ),
    ] = None,
    max_source_words: Annotated[
        int, typer.Option(help="Read no more of a document; its line says so if it is longer.")
    ] = 4096,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    report: Annotated[
        Path | None, typer.Option(help="A file that lists the skipped records.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue what was interrupted; begin it if nothing.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing FILE.")
    ] = False,
    batch_tokens: BatchTokensOption = 4096,
    threads: ThreadsOption = 0,
    device: DeviceOption = "auto",
) -> None:
    """Generate the keyphrases of documents, in their order.

    FILE appears when it is complete. After an interruption, even kill -9, the same command with
    --resume goes on with the first document that has no line yet.
    """
    try:
        from one2set.distributed import use_threads
        from one2set.inference.engine import Engine
        from one2set.inference.output import (
            json_line,
            partial_file,
            predict_all,
            predict_rest,
            text_line,
        )
        from one2set.training.run import model_folder
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="generation") from None
    from one2set.data.readers import read
    from one2set.data.records import Fields
    from one2set.data.streams import Intake

    if output is None and (resume or overwrite):
        raise ConfigError("--resume and --overwrite are about a file; name it with --output")
    if resume and overwrite:
        raise ConfigError("--resume and --overwrite exclude each other; pass one of them")
    if resume and output is not None and output.exists():
        err.print(f"{output} is complete already", soft_wrap=True)
        return
    use_threads(threads)
    fields = Fields.mapped(field)
    engine = Engine.load(
        model, device=device, batch_tokens=batch_tokens, max_source_length=max_source_words
    )
    wishes = {
        "beam": beam,
        "length_penalty": length_penalty,
        "pool": pool,
        "keep": keep,
        "exclusive": exclusive,
    }
    engine.change_search({name: wish for name, wish in wishes.items() if wish is not None})
    with ExitStack() as stack:
        intake = stack.enter_context(Intake(on_error, report))
        progress = _Progress(intake, inputs)
        documents = progress.counted(
            chain.from_iterable(read(path, fields=fields, intake=intake) for path in inputs)
        )
        if output is None:
            pairs, write = predict_all(engine, documents), sys.stdout.buffer.write
        else:
            settings = {
                "model": _hashes(model_folder(model)),
                "inputs": inputs,
                "fields": field,
                "format": format,
                "slots": slots,
                "generation": engine.generation.saved(),
                "max_source_words": max_source_words,
            }
            partial = stack.enter_context(
                partial_file(output, settings=settings, resume=resume, overwrite=overwrite)
            )
            progress.begin(partial.done)
            pairs, write = predict_rest(engine, documents, partial), partial.write
        with progress_bar("Predicting", total=progress.total_bytes or None) as update:
            for document, prediction in pairs:
                if format == "jsonl":
                    write(json_line(document, prediction, engine, slots=slots))
                else:
                    write(text_line(prediction))
                progress.note(prediction)
                update(progress.bytes_done, progress.rate)
    progress.summarise(output)


def _hashes(folder: Path) -> dict[str, str]:
    """What a model is, by its files."""
    from one2set.data.corpus import file_hash

    files = (path for path in sorted(folder.iterdir()) if path.name[0] != ".")
    return {path.name: file_hash(path) for path in files}


class _Progress:
    """How far it has come. The engine reads a window ahead, so what was read is not yet done."""

    def __init__(self, intake: "Intake", inputs: Sequence[str]) -> None:
        self._intake = intake
        self._started = time.perf_counter()
        self._read = self._done = self._done_before = self._cut = 0
        # Standard input and folders count nothing: then there is no telling what is left.
        self.total_bytes = sum(os.path.getsize(path) for path in inputs if os.path.isfile(path))

    def counted(self, documents: "Iterable[Document]") -> "Iterator[Document]":
        for document in documents:
            self._read += 1
            yield document

    def begin(self, done: int) -> None:
        """Take note of what an earlier run has done."""
        self._done = self._done_before = done

    def note(self, prediction: "Prediction") -> None:
        self._done += 1
        self._cut += prediction.read_length < prediction.source_length

    @property
    def bytes_done(self) -> float:
        return self._intake.bytes_read * self._done / self._read

    @property
    def rate(self) -> str:
        return f"{self._done:,} documents, {self._per_second():,.1f}/s"

    def summarise(self, output: Path | None) -> None:
        """Say what was done, and what not."""
        seconds = time.perf_counter() - self._started
        new = self._done - self._done_before
        before = f", {self._done_before:,} were done before" if self._done_before else ""
        err.print(
            f"{output or 'standard output'}: {new:,} documents in {seconds:,.1f} s "
            f"({self._per_second():,.1f}/s){before}",
            soft_wrap=True,
        )
        if self._cut:
            err.print(
                f"[yellow]{self._cut:,} documents were longer than --max-source-words; "
                "only their start was read[/]"
            )
        if self._intake.skipped:
            err.print(f"[yellow]{self._intake.skipped:,} records were skipped[/]")

    def _per_second(self) -> float:
        return (self._done - self._done_before) / (time.perf_counter() - self._started)
