"""`one2set learn`: lexicon, scorers and phrase list from one's own documents."""

from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Annotated

import typer

from one2set.cli.console import err, warn_about_skipped
from one2set.cli.options import (
    FieldOption,
    MaxLineOption,
    ModelArgument,
    NoVerifyOption,
    OnErrorOption,
    OutputFolderOption,
    OverwriteOption,
    ReportOption,
    parse_oversample,
)
from one2set.cli.progress import waiting
from one2set.data.reading.streams import MAX_LINE
from one2set.errors import ConfigError

if TYPE_CHECKING:
    from one2set.data.document import Document


def learn(
    model: ModelArgument,
    documents: Annotated[
        list[str],
        typer.Option(
            metavar="INPUT", help="Training documents, in any readable format. Repeatable."
        ),
    ],
    output: OutputFolderOption,
    oversample: Annotated[
        list[str],
        typer.Option(
            metavar="FILE=N",
            help="Fit the scorers on N times as many documents of this file as of others. "
            "Repeatable.",
        ),
    ] = [],  # noqa: B006
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Start from the learnt components of this model and add the counts of the "
            "documents, for a network that was trained further. Also copies its calibration if "
            "MODEL has none.",
            show_default=False,
        ),
    ] = None,
    counted: Annotated[
        bool,
        typer.Option(
            "--counted",
            help="The model of --from has already counted the documents: copy its components as "
            "they are, and fit only a span rescorer to the network.",
        ),
    ] = False,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    report: ReportOption = None,
    overwrite: OverwriteOption = False,
    no_verify: NoVerifyOption = False,
) -> None:
    """Add components learnt from documents to an exported model.

    one2set learn my-model --documents train.jsonl --output my-better-model

    The components count which phrases are keyphrases, score the n-grams of a
    text, and suggest absent phrases. Calibrate the result afterwards.
    """
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy, is_pipe
    from one2set.keyphrases.learn import learn_from_documents
    from one2set.model.paths import find_model_folder, is_model

    if from_ is not None and not is_model(from_):
        raise ConfigError(f"--from is {from_}; expected a model folder, or default")
    origin = None if from_ is None else find_model_folder(from_)
    if pipe := next(filter(is_pipe, documents), None):
        raise ConfigError(
            f"--documents is {pipe}, standard input or a pipe, which can be read only once; "
            "pass a file"
        )
    repeats = dict(map(parse_oversample, oversample))
    if unknown := repeats.keys() - {*documents}:
        raise ConfigError(
            f"--oversample names {min(unknown)}, which is not read; pass --documents "
            f"{min(unknown)} too"
        )
    with (
        ErrorPolicy(on_error, report, max_line=max_line) as errors,
        waiting(lambda: f"learning, {errors.bytes_read / 1e6:,.0f} MB read"),
    ):
        fields = Fields.from_options(field)
        policies = chain([errors], repeat(ErrorPolicy(on_error, max_line=max_line)))

        def read_all() -> "Iterator[Document]":
            policy = next(policies)  # what is read again is not reported again
            for path in documents:
                yield from read(path, fields=fields, errors=policy)

        def read_sample() -> "Iterator[Document]":
            """All documents of the file that is oversampled most, and fewer of the others."""
            policy = next(policies)
            for path in documents:
                step = round(max(repeats.values()) / repeats.get(path, 1))
                yield from islice(read(path, fields=fields, errors=policy), 0, None, step)

        learn_from_documents(
            find_model_folder(model),
            output,
            read_all,
            sample=read_sample if repeats else None,
            origin=origin,
            counted=counted,
            overwrite=overwrite,
            verify=not no_verify,
        )
    size = sum(path.stat().st_size for path in output.iterdir())
    err.print(f"{output}: {size / 1e6:.1f} MB", soft_wrap=True)
    err.print(f"next: one2set calibrate {output} VALIDATION_DOCUMENTS", soft_wrap=True)
    warn_about_skipped(errors.skipped)
