"""`one2set generate`: the keyphrases of a text, or of ten million documents."""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli import console
from one2set.cli.bulk_output import (
    Engine,
    make_target,
    refuse_input_as_output,
    refuse_without_output,
    write_bulk,
)
from one2set.cli.console import Color
from one2set.cli.options import (
    AbsentOnlyOption,
    DiversityOption,
    FewerOption,
    FieldOption,
    MaxLineOption,
    MinScoreOption,
    ModelOption,
    MoreOption,
    NoVerifyOption,
    OnErrorOption,
    OutputOption,
    OverwriteOption,
    PointOption,
    PresentOnlyOption,
    ReportOption,
    ResumeOption,
    StopListOption,
    ThreadsOption,
    TopOption,
    VocabularyOption,
    computation_option,
    more_option,
    only_option,
    output_option,
)
from one2set.cli.progress import show_waiting
from one2set.data.reading.streams import MAX_LINE
from one2set.errors import ConfigError, DataError

if TYPE_CHECKING:
    from one2set.bulk.output_formats import Format, TextOutput
    from one2set.data.document import Document, StemmedDocument
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.keyphrases.results import KeyphraseList
    from one2set.keyphrases.selection import Selection

Shown = Literal["text", "json", "jsonl", "csv", "xlsx", "html", "bib", "parquet"]


def generate(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A text in quotes; files (PDF, DOCX, HTML, …), folders or patterns; - or nothing "
            "for standard input.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = "default",
    format: Annotated[
        Shown | None,
        output_option(
            "--format",
            "-f",
            help="Default: text; with --output, by the extension of OUT.",
            show_default=False,
        ),
    ] = None,
    output: OutputOption = None,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
    text_output: Annotated[
        str | None,
        output_option(
            metavar="FOLDER",
            help="Also write the extracted text of each document, which spans refer to; a name "
            "that ends in .txt is one file.",
            show_default=False,
        ),
    ] = None,
    color: Annotated[
        Color,
        output_option(help="Show the text with its keyphrases in colour. auto: on a terminal."),
    ] = "auto",
    top: TopOption = None,
    min_score: MinScoreOption = 0.0,
    present_only: PresentOnlyOption = False,
    absent_only: AbsentOnlyOption = False,
    more: MoreOption = 0,
    fewer: FewerOption = 0,
    diversity: DiversityOption = None,
    point: PointOption = "shown",
    vocabulary: VocabularyOption = None,
    stop_list: StopListOption = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    report: ReportOption = None,
    workers: Annotated[
        int | None,
        computation_option(
            min=1,
            metavar="N",
            help="With --output: number of processes, each with one thread unless --threads is "
            "set. Default: one per core.",
            show_default=False,
        ),
    ] = None,
    threads: ThreadsOption = 0,
    no_verify: NoVerifyOption = False,
    engine: Annotated[
        Engine,
        computation_option(help="With --output: this machine, or a Ray cluster (RAY_ADDRESS)."),
    ] = "local",
) -> None:
    """Find the present and absent keyphrases of texts, with scores.

    one2set generate "Graph networks learn to search."
    one2set generate paper.pdf notes.docx
    one2set generate 'papers/*.pdf' --output keyphrases.xlsx

    With --output, documents are processed on all cores. OUT appears when it is
    complete; after an interruption, even kill -9, the same command with
    --resume continues.
    """
    from one2set.data.reading.locations import expand_patterns, is_file, names_file
    from one2set.data.reading.records import Fields
    from one2set.keyphrases.selection import Selection

    selection = Selection(
        top=top,
        min_score=min_score,
        only=only_option(present_only, absent_only),
        more=more_option(more, fewer),
        diversity=diversity,
        point=point,
        vocabulary=vocabulary,
        stop_list=stop_list,
    )
    arguments = inputs if inputs is not None else _standard_input()
    _check_numbers(arguments, more or fewer)
    if output is None:
        refuse_without_output(
            {
                "--workers": workers,
                "--engine": engine == "ray",
                "--resume": resume,
                "--overwrite": overwrite and text_output is None,
                f"--format {format}": format in ("parquet", "xlsx"),
            }
        )
    expanded = (expand_patterns([name]) if names_file(name) else [name] for name in arguments)
    inputs = list(chain.from_iterable(expanded))
    are_files = list(map(is_file, inputs))
    fields = Fields.from_options(field)
    texts = None
    if text_output is not None:
        from one2set.bulk.output_formats import TextOutput

        refuse_input_as_output("--text-output", text_output, inputs)
        texts = TextOutput(text_output, replace=overwrite or resume)
    if output is None:
        from one2set.data.reading.streams import ErrorPolicy

        with ErrorPolicy(on_error, report, max_line=max_line, leave_out_unknown=True) as errors:
            read = _InputReader(inputs, are_files, fields, errors, texts)
            results = _generate(read, model, threads, selection, verify=not no_verify)
            _print(show_waiting(results, read.describe), read, format or "text", color)
        console.warn_about_skipped(errors.skipped)
        console.warn_about_left_out(errors.left_out)
        return
    from one2set.bulk.output_formats import KEYPHRASES
    from one2set.bulk.pipeline import Keyphrases, Source
    from one2set.model.paths import find_model_folder

    if False in are_files:
        text = inputs[are_files.index(False)]
        raise ConfigError(f"{text!r} is not a file; with --output, pass files, folders or -")
    target = make_target(
        output,
        _file_format(format),
        like=inputs[-1],
        resume=resume,
        overwrite=overwrite,
        allowed=KEYPHRASES,
    )
    with_texts = target is not None and target.format in ("html", "bib")
    work = Keyphrases(find_model_folder(model), selection, threads, with_texts)
    source = Source(tuple(inputs), fields, on_error, report, texts, max_line)
    write_bulk(source, work, target, workers=workers or 0, engine=engine, verify=not no_verify)


def _check_numbers(inputs: Sequence[str], counted: int) -> None:
    """Refuse `--more 2`, where 2 would be read as a text."""
    number = next((argument for argument in inputs if argument.isdigit()), None)
    if counted and number and not os.path.exists(number):
        raise ConfigError(
            f"--more and --fewer take no number such as {number}; repeat them: --more --more"
        )


def _file_format(format: Shown | None) -> "Format | None":
    """The format of a file that --format names, if any."""
    if format == "text":
        raise ConfigError(
            "--format is text, which is for reading; with --output, leave it out, or redirect "
            "standard output: one2set generate … > OUT"
        )
    return format


def _generate(
    read: "_InputReader", model: str, threads: int, selection: "Selection", *, verify: bool
) -> "Iterator[tuple[Document, KeyphraseList]]":
    """Load the model and yield the keyphrases of each document."""
    from one2set.keyphrases.generator import KeyphraseGenerator

    generator = KeyphraseGenerator(model, threads=threads, verify=verify)
    yield from generator.stream_selected(read.documents(), selection, check=read.check)


def _print(
    results: "Iterator[tuple[Document, KeyphraseList]]",
    read: "_InputReader",
    format: Shown,
    color: Color,
) -> None:
    """Write keyphrases to standard output, one document after another."""
    from one2set.keyphrases import formats

    if format == "text":
        out = console.Output(color)
        for document, keyphrases in results:
            named = not read.only_text
            out.write(
                formats.format_text(document, keyphrases, named=named, coloured=out.is_terminal)
            )
    else:
        write = {
            "json": formats.format_json,
            "jsonl": formats.format_jsonl,
            "csv": formats.format_csv,
            "html": formats.format_html,
            "bib": formats.format_bibtex,
        }[format]
        for part in write(results):
            console.write(part.encode())
        sys.stdout.buffer.flush()
    read.expect_words()


def _standard_input() -> list[str]:
    if sys.stdin is None or sys.stdin.isatty():
        raise ConfigError(
            'there is no input; pass a text in quotes, or a file: one2set generate "A text"'
        )
    return ["-"]


class _InputReader:
    """Reads the documents that the arguments name, and warns of unusual ones."""

    def __init__(
        self,
        inputs: Sequence[str],
        are_files: Sequence[bool],
        fields: "Fields",
        errors: "ErrorPolicy",
        texts: "TextOutput | None",
    ) -> None:
        self._inputs = list(zip(inputs, are_files, strict=True))
        self._fields, self._errors, self._texts = fields, errors, texts
        self._any_words = False
        self._without_words: list[str] = []
        self._number, self._last = 0, "the model"
        self._passages, self._checks = 0, 0
        self.only_text = are_files == [False]
        if len(inputs) > 1 and not any(are_files) and not any(len(e.split()) > 1 for e in inputs):
            _warn(
                f"{len(inputs)} texts of one word each were read; put a text in quotes: "
                f'one2set generate "{" ".join(inputs)}"'
            )

    def documents(self) -> "Iterator[StemmedDocument]":
        from one2set.data.document import StemmedDocument
        from one2set.keyphrases.language import looks_foreign
        from one2set.keyphrases.passages import estimate_passages

        for number, (argument, is_file) in enumerate(self._inputs, 1):
            self._last = argument if is_file else self._last
            for document in self._documents(argument, is_file, number):
                self._number, self._last = self._number + 1, document.id
                if self._texts is not None:
                    self._texts.write(document)
                stemmed = StemmedDocument.of(document)
                self._look_for_words(document)
                self._passages += estimate_passages(len(stemmed.words))
                if looks_foreign(stemmed.words):
                    _warn(
                        f"{document.id}: does not look like English, which the model was "
                        "trained on; its keyphrases will be poor"
                    )
                yield stemmed

    def check(self) -> None:
        """Count the pieces of work."""
        self._checks += 1

    def describe(self) -> str:
        """What is going on, and how much of it is done."""
        many = self._number > 1
        what = f"{self._number:,} documents read" if many else f"working on {self._last}"
        if self._passages < 2:
            return what
        from one2set.keyphrases.passages import estimate_progress

        return f"{what}, {estimate_progress(self._checks, self._passages):.0%}"

    def _look_for_words(self, document: "Document") -> None:
        """Warn of documents without words, once it is known that not all are like that."""
        if any(map(str.isalnum, document.text)):
            self._any_words = True
        else:
            self._without_words.append(document.id)
            if self.only_text:
                self.expect_words()
        if self._any_words:
            for id in self._without_words:
                _warn(f"{id}: contains no words")
            self._without_words.clear()

    def expect_words(self) -> None:
        """Fail if no document had words, unless all were skipped."""
        if not self._any_words and (self._without_words or not self._errors.skipped):
            raise DataError("the input contains no words", fix="pass some text")

    def _documents(self, argument: str, is_file: bool, number: int) -> "Iterator[Document]":
        from one2set.data.reading.records import document_from_text

        if is_file:
            from one2set.data.reading.readers import read

            yield from read(argument, fields=self._fields, errors=self._errors, titles=True)
            return
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise DataError("a text is not UTF-8", fix="pass it in a file, in UTF-8") from None
        yield document_from_text(argument, "text" if self.only_text else f"text {number}")


def _warn(message: str) -> None:
    console.err.print(message, style="yellow", soft_wrap=True)
