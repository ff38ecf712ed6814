"""`one2set generate`: the keyphrases of a text, or of ten million documents."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli.bulk_output import Engine, make_target, write_bulk
from one2set.cli.console import err, out
from one2set.cli.console import write as write_out
from one2set.cli.options import (
    COMPUTATION,
    OUTPUT,
    AbsentOnlyOption,
    FewerOption,
    FieldOption,
    MinScoreOption,
    ModelOption,
    MoreOption,
    OnErrorOption,
    OutputOption,
    OverwriteOption,
    PresentOnlyOption,
    ReportOption,
    ResumeOption,
    ThreadsOption,
    TopOption,
    make_selection,
)
from one2set.errors import ConfigError, DataError

if TYPE_CHECKING:
    from one2set.bulk.output_formats import Format
    from one2set.data.document import Document
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.keyphrases.selection import Selection

Shown = Literal["text", "json", "jsonl", "csv", "html", "parquet"]


def generate(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A text in quotes; files, folders or patterns; - or nothing for standard input.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = "default",
    format: Annotated[
        Shown | None,
        typer.Option(
            "--format",
            "-f",
            help="Default: text; with --output, by the name of OUT (jsonl or parquet).",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: OutputOption = None,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
    top: TopOption = None,
    min_score: MinScoreOption = 0.0,
    present_only: PresentOnlyOption = False,
    absent_only: AbsentOnlyOption = False,
    more: MoreOption = 0,
    fewer: FewerOption = 0,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    report: ReportOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --output: processes. Default: one per core.",
            show_default=False,
            rich_help_panel=COMPUTATION,
        ),
    ] = None,
    threads: ThreadsOption = 0,
    engine: Annotated[
        Engine,
        typer.Option(
            help="With --output: this machine, or a Ray cluster (RAY_ADDRESS).",
            rich_help_panel=COMPUTATION,
        ),
    ] = "local",
) -> None:
    """Find the keyphrases of texts, both present and absent ones, with scores.

    one2set generate "Graph networks learn to search."
    one2set generate 'papers/*.parquet' --output keyphrases.parquet

    With --output, documents are processed on all cores. OUT appears when it is
    complete; after an interruption, even kill -9, the same command with
    --resume continues.
    """
    from one2set.data.reading.records import Fields

    selection = make_selection(top, min_score, present_only, absent_only, more, fewer)
    inputs = _expand(inputs or _standard_input())
    fields = Fields.from_options(field)
    if output is None:
        _expect_output({"--workers": workers, "--engine": engine == "ray", "--resume": resume})
        _expect_output({"--overwrite": overwrite, "--format parquet": format == "parquet"})
        from one2set.data.reading.streams import ErrorPolicy

        with ErrorPolicy(on_error, report) as errors:
            _print(_Read(inputs, fields, errors), model, selection, format or "text", threads)
        return
    from one2set.bulk.pipeline import Keyphrases, Source
    from one2set.model.paths import find_model_folder

    for each in inputs:
        if not _is_file(each):
            raise ConfigError(f"{each!r} is not a file; with --output, pass files, folders or -")
    target = make_target(
        output, _file_format(output, format), like=inputs[-1], resume=resume, overwrite=overwrite
    )
    work = Keyphrases(find_model_folder(model), selection, threads)
    source = Source(tuple(inputs), fields, on_error, report)
    write_bulk(source, work, target, workers=workers or 0, engine=engine)


def _expect_output(options: "dict[str, object]") -> None:
    for name, given in options.items():
        if given:
            raise ConfigError(f"{name} applies to a file; name it with --output")


def _file_format(output: str, format: Shown | None) -> "Format | None":
    """The format of a file, if --format says it."""
    named = Path(output).suffix.removeprefix(".")
    if format in ("jsonl", "parquet"):
        return format
    if format is not None or named in ("json", "csv", "html", "txt"):
        shown = format or {"txt": "text"}.get(named, named)
        raise ConfigError(
            f"--output writes jsonl or parquet, not {shown}; for {shown}, redirect standard "
            f"output: one2set generate --format {shown} … > {output}"
        )
    return None


def _print(read: "_Read", model: str, selection: "Selection", format: Shown, threads: int) -> None:
    """Write keyphrases to standard output, one document after another."""
    from one2set.cli import keyphrase_formats as formats
    from one2set.keyphrases.generator import KeyphraseGenerator

    generator = KeyphraseGenerator(model, threads=threads)
    found = generator.stream(read.documents(), **asdict(selection))
    if format == "text":
        for document, keyphrases in found:
            shown = formats.readable(
                document, keyphrases, named=not read.only_text, coloured=out.is_terminal
            )
            out.print(shown, soft_wrap=not out.is_terminal)
    else:
        write = {
            "json": formats.array,
            "jsonl": formats.jsonl,
            "csv": formats.table,
            "html": formats.page,
        }[format]
        for part in write(found):
            write_out(part.encode())
        sys.stdout.buffer.flush()
    read.expect_words()


def _expand(inputs: Sequence[str]) -> list[str]:
    """Replace patterns such as in/*.parquet by the files that match."""
    from one2set.bulk.pipeline import expand_patterns

    found = []
    for each in inputs:
        found += expand_patterns([each]) if has_magic(each) and _names_file(each) else [each]
    return found


def _standard_input() -> list[str]:
    if sys.stdin.isatty():
        raise ConfigError(
            'there is no input; pass a text in quotes, or a file: one2set generate "A text"'
        )
    return ["-"]


class _Read:
    """Reads the documents that the arguments name, and warns of unusual ones."""

    def __init__(self, inputs: Sequence[str], fields: "Fields", errors: "ErrorPolicy") -> None:
        self._inputs, self._fields, self._errors = inputs, fields, errors
        self._any_words = False
        self.only_text = len(inputs) == 1 and not _is_file(inputs[0])

    def documents(self) -> "Iterator[Document]":
        from one2set.keyphrases.language import looks_foreign

        for number, each in enumerate(self._inputs, 1):
            for document in self._documents(each, number):
                has_words = any(map(str.isalnum, document.text))
                self._any_words |= has_words
                if not has_words:
                    _warn(f"{document.id}: contains no words")
                elif looks_foreign(document.words()):
                    _warn(
                        f"{document.id}: does not look like English, which the model was "
                        "trained on; its keyphrases will be poor"
                    )
                yield document

    def expect_words(self) -> None:
        """Fail if no document had words."""
        if not self._any_words:
            raise DataError("the input contains no words", fix="pass some text")

    def _documents(self, each: str, number: int) -> "Iterator[Document]":
        from one2set.data.reading.readers import read
        from one2set.data.reading.records import document_from_text

        if _is_file(each):
            yield from read(each, fields=self._fields, errors=self._errors, titles=True)
            return
        try:
            each.encode()
        except UnicodeEncodeError:
            raise DataError("a text is not UTF-8", fix="pass it in a file, in UTF-8") from None
        yield document_from_text(each, "text" if self.only_text else f"text {number}")


def _warn(message: str) -> None:
    err.print(message, style="yellow", soft_wrap=True)


def _is_file(argument: str) -> bool:
    """Whether an argument names a file, and is not a text."""
    from one2set.data.reading.remote import is_remote

    if argument == "-" or os.path.exists(argument) or is_remote(argument):
        return True
    if _names_file(argument):
        raise DataError("there is no such file", fix="check its name", path=argument)
    return False


def _names_file(argument: str) -> bool:
    """Whether an argument looks like the name of a file or folder."""
    from one2set.data.reading.readers import EXTENSIONS
    from one2set.data.reading.streams import COMPRESSED

    endings = ("/", ".pdf", *EXTENSIONS, *COMPRESSED)
    return not argument.split()[1:] and argument.lower().endswith(endings)
