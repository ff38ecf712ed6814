"""`one2set generate`: the keyphrases of any text, at once."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli.console import err, out
from one2set.cli.options import (
    AbsentOnlyOption,
    FewerOption,
    FieldOption,
    MinScoreOption,
    MoreOption,
    OnErrorOption,
    PresentOnlyOption,
    ThreadsOption,
    TopOption,
    wanted_by,
)
from one2set.errors import ConfigError, DataError

if TYPE_CHECKING:
    from one2set.data.document import Document
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy

# By which an argument that is no file is known to be meant as one.
_ENDINGS = (
    "/",
    ".txt",
    ".md",
    ".json",
    ".jsonl",
    ".csv",
    ".tsv",
    ".parquet",
    ".gz",
    ".zst",
    ".pdf",
)


def generate(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT or FILE]...",
            help="A text in quotes; files or folders in any readable format; - or nothing for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json", "jsonl", "csv", "html"],
        typer.Option("--format", "-f", help="How to write: text is for people."),
    ] = "text",
    top: TopOption = None,
    min_score: MinScoreOption = 0.0,
    present_only: PresentOnlyOption = False,
    absent_only: AbsentOnlyOption = False,
    more: MoreOption = 0,
    fewer: FewerOption = 0,
    model: Annotated[
        str, typer.Option(metavar="FOLDER", help="A model's folder; default is the one inside.")
    ] = "default",
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    threads: ThreadsOption = 0,
) -> None:
    """Find the keyphrases of texts: those that stand in them, and those that do not.

    Present phrases are spelt as in the text, which is shown with them in colour. The number before
    each is how likely it is one of the text's keyphrases.
    """
    from dataclasses import asdict

    from one2set.cli import keyphrase_formats as formats
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.keyphrases.generator import KeyphraseGenerator

    wanted = wanted_by(top, min_score, present_only, absent_only, more, fewer)
    generator = KeyphraseGenerator(model, threads=threads)
    with ErrorPolicy(on_error) as errors:
        read = _Read(inputs or _standard_input(), Fields.from_options(field), errors)
        found = generator.stream(read.documents(), **asdict(wanted))
        match format:
            case "text":
                for document, keyphrases in found:
                    shown = formats.readable(
                        document, keyphrases, named=not read.only_text, coloured=out.is_terminal
                    )
                    out.print(shown, soft_wrap=not out.is_terminal)
            case _:
                write = {
                    "json": formats.array,
                    "jsonl": formats.jsonl,
                    "csv": formats.table,
                    "html": formats.page,
                }[format]
                for part in write(found):
                    sys.stdout.buffer.write(part.encode())
                sys.stdout.buffer.flush()
    read.expect_words()


def _standard_input() -> list[str]:
    if sys.stdin.isatty():
        raise ConfigError(
            'there is nothing to read; pass a text in quotes, or a file: one2set generate "A text"'
        )
    return ["-"]


class _Read:
    """The documents that the arguments name, and what was odd about them."""

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
                    err.print(f"[yellow]{document.id}: holds no words[/]", soft_wrap=True)
                elif looks_foreign(document.words()):
                    err.print(
                        f"[yellow]{document.id}: does not look like English, which the model was "
                        "trained on; its keyphrases will be poor[/]",
                        soft_wrap=True,
                    )
                yield document

    def expect_words(self) -> None:
        """That there was something to do."""
        if not self._any_words:
            raise DataError("the input holds no words", fix="pass some text")

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


def _is_file(argument: str) -> bool:
    """Whether an argument names a file, and is no text."""
    if argument == "-" or os.path.exists(argument):
        return True
    if not argument.split()[1:] and argument.lower().endswith(_ENDINGS):
        raise DataError("there is no such file", fix="check its name", path=argument)
    return False
