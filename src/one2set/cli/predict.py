"""`one2set predict`: the raw output of a network, for research."""

from functools import partial
from typing import Annotated, Literal

import typer

from one2set.cli.bulk_output import make_target, write_bulk
from one2set.cli.console import err
from one2set.cli.options import (
    BatchTokensOption,
    DeviceOption,
    FieldOption,
    MaxLineOption,
    ModelArgument,
    NoVerifyOption,
    OnErrorOption,
    OutputOption,
    OverwriteOption,
    ReportOption,
    ResumeOption,
    ThreadsOption,
    input_option,
    output_option,
)
from one2set.data.reading.streams import MAX_LINE
from one2set.errors import ConfigError

_search = partial(typer.Option, rich_help_panel="Search (default: the system's own)")


def predict(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders or patterns; - for standard input."),
    ],
    output: OutputOption = None,
    format: Annotated[
        Literal["jsonl", "parquet", "text"] | None,
        output_option(
            help="text is one line a;b;c per document. Default: by the extension of OUT.",
            show_default=False,
        ),
    ] = None,
    slots: Annotated[
        bool,
        output_option("--slots", help="Also write the output of every control code, ∅ included."),
    ] = False,
    resume: ResumeOption = False,
    overwrite: OverwriteOption = False,
    beam: Annotated[
        int | None, _search(metavar="N", help="Beam size; 1 is greedy search.", show_default=False)
    ] = None,
    length_penalty: Annotated[
        float | None,
        _search(metavar="N", help="Rank hypotheses by log P / length^penalty.", show_default=False),
    ] = None,
    pool: Annotated[
        bool | None,
        _search(
            "--pool/--no-pool",
            help="Write all hypotheses of the beam, including those of codes that predict ∅.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        _search(
            metavar="N",
            help="With --pool: number of hypotheses per code or document; 0 for all.",
            show_default=False,
        ),
    ] = None,
    exclusive: Annotated[
        int | None,
        _search(
            metavar="K",
            help="For sequences: a phrase must not begin with the first word of any of the K "
            "phrases before it; -1 for all of them, 0 for none.",
            show_default=False,
        ),
    ] = None,
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    report: ReportOption = None,
    max_source_words: Annotated[
        int,
        input_option(metavar="N", help="Read only the first N words of a document."),
    ] = 4096,
    batch_tokens: BatchTokensOption = 4096,
    threads: ThreadsOption = 0,
    device: DeviceOption = "auto",
    no_verify: NoVerifyOption = False,
) -> None:
    """Write the raw output of a network, for research; for keyphrases, use generate.

    one2set predict my-run documents.jsonl --output predictions.jsonl
    one2set predict my-run documents.jsonl --slots --beam 4 --pool
    """
    from one2set.bulk.output_formats import RAW
    from one2set.bulk.pipeline import Raw, Source
    from one2set.data.reading.locations import expand_patterns
    from one2set.data.reading.records import Fields
    from one2set.model.paths import find_model_folder, is_exported, is_light, is_model

    folder = find_model_folder(model)
    if not is_model(model):
        raise ConfigError(
            f"{model} is not a model folder; expected one2set predict MODEL INPUT. For keyphrases "
            f"with the included model: one2set generate {model}"
        )
    target = make_target(
        output, format, like=inputs[-1], resume=resume, overwrite=overwrite, allowed=RAW
    )
    if is_light(folder):
        raise ConfigError(f"{model} has no network; use one2set generate --model {model}")
    if is_exported(folder):
        err.print(
            f"this is raw output; for keyphrases: one2set generate --model {model} …",
            soft_wrap=True,
        )
    text = (target.format if target else format) == "text"
    if text and slots:
        raise ConfigError("--slots does not fit into lines of text; write jsonl or parquet")
    search = {
        "beam": beam,
        "length_penalty": length_penalty,
        "pool": pool,
        "keep": keep,
        "exclusive": exclusive,
    }
    work = Raw(
        folder,
        text=text,
        slots=slots,
        search=tuple((name, value) for name, value in search.items() if value is not None),
        max_source_length=max_source_words,
        batch_tokens=batch_tokens,
        threads=threads,
        device=device,
    )
    source = Source(
        tuple(expand_patterns(inputs)),
        Fields.from_options(field),
        on_error,
        report,
        max_line=max_line,
    )
    write_bulk(source, work, target, workers=0, verify=not no_verify)
