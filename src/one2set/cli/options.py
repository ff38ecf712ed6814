"""Options that several commands share, each defined once."""

from functools import partial
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.cli import console
from one2set.data.reading.streams import OnError
from one2set.errors import ConfigError
from one2set.model.paths import BUNDLED

if TYPE_CHECKING:
    from one2set.data.control_codes import Side

# An option of each group in the help.
input_option = partial(typer.Option, rich_help_panel="Input")
output_option = partial(typer.Option, rich_help_panel="Output")
selection_option = partial(typer.Option, rich_help_panel="Which keyphrases")
computation_option = partial(typer.Option, rich_help_panel="Computation")
training_option = partial(typer.Option, rich_help_panel="Training")

CorpusArgument = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="A folder made by one2set prepare.")
]
ScaleOption = Annotated[
    str,
    training_option(
        metavar="NAME|FILE", help="Network size and training settings, as for one2set train."
    ),
]
SetOption = Annotated[
    list[str],
    training_option(
        metavar="NAME=VALUE",
        help="Change a setting for every system, as for one2set train. Repeatable.",
        show_default=False,
    ),
]


def _warn_about_folder(model: str) -> str:
    """Included models go before folders of their names: any project may have a folder `default`."""
    if model in BUNDLED and isdir(model):
        warning = f"{model} is an included model; for the folder of that name, write ./{model}"
        console.err.print(warning, style="yellow", soft_wrap=True)
    return model


_model_argument = partial(typer.Argument, metavar="MODEL", callback=_warn_about_folder)
ModelArgument = Annotated[
    str, _model_argument(help="A model or run folder, or default for the included model.")
]
OwnModelArgument = Annotated[
    str,
    _model_argument(
        help="A model or run folder. To calibrate an included model, copy it first: "
        "one2set export default --output MODEL."
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="A model folder, or an included model: default, light (no network, faster).",
        callback=_warn_about_folder,
    ),
]

FieldOption = Annotated[
    list[str],
    input_option(
        "--field",
        metavar="PART=NAME",
        help="Read PART (id, title, abstract or keyphrases) from the field NAME. Repeatable.",
        show_default=False,
    ),
]
OnErrorOption = Annotated[OnError, input_option(help="Stop at an invalid record, or skip it.")]
ReportOption = Annotated[
    Path | None, input_option(metavar="FILE", help="List skipped records here.")
]

MaxLineOption = Annotated[
    int,
    input_option(
        min=1, metavar="BYTES", help="Reject longer lines and text files, to bound memory."
    ),
]

OutputFolderOption = Annotated[
    Path, output_option("--output", "-o", metavar="OUT", help="The folder to write.")
]
OutputOption = Annotated[
    str | None,
    output_option(
        "--output",
        "-o",
        metavar="OUT",
        help="A file, whose extension sets the format (.gz or .zst may follow), or a folder of "
        "parts if the name ends in /. Default: standard output.",
        show_default=False,
    ),
]
ResumeOption = Annotated[bool, output_option("--resume", help="Continue an interrupted OUT.")]
OverwriteOption = Annotated[bool, output_option("--overwrite", help="Replace an existing OUT.")]

NoVerifyOption = Annotated[
    bool, computation_option("--no-verify", help="Do not check the hashes in the model's manifest.")
]
DeviceOption = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    computation_option(help="auto uses a GPU if there is one."),
]
ThreadsOption = Annotated[
    int, computation_option(min=0, metavar="N", help="CPU threads; 0 for all cores.")
]
BatchTokensOption = Annotated[
    int,
    computation_option(
        metavar="N", help="Source tokens per batch; larger batches need more memory."
    ),
]

TopOption = Annotated[
    int | None,
    selection_option(
        min=0,
        metavar="N",
        help="Maximum number of keyphrases per document. Default: 20.",
        show_default=False,
    ),
]
MinScoreOption = Annotated[
    float,
    selection_option(min=0, max=1, metavar="SCORE", help="Hide keyphrases scoring below this."),
]
PresentOnlyOption = Annotated[
    bool, selection_option("--present-only", help="Only keyphrases that occur in the text.")
]
AbsentOnlyOption = Annotated[
    bool, selection_option("--absent-only", help="Only keyphrases that do not occur in the text.")
]
MoreOption = Annotated[
    int,
    selection_option(
        "--more",
        count=True,
        help="Show more keyphrases, with lower scores. Repeatable.",
        show_default=False,
    ),
]
FewerOption = Annotated[
    int,
    selection_option(
        "--fewer", count=True, help="Show fewer keyphrases. Repeatable.", show_default=False
    ),
]


DiversityOption = Annotated[
    float | None,
    selection_option(
        min=0,
        max=1,
        metavar="D",
        help="From 0 (rank by score alone) to 1 (drop phrases that overlap a better one). "
        "Default: as calibrated.",
        show_default=False,
    ),
]
PointOption = Annotated[
    Literal["shown", "f1"],
    selection_option(
        help="Select phrases for readers (shown), or for the best F1@5 and F1@M (f1)."
    ),
]
VocabularyOption = Annotated[
    str | None,
    selection_option(
        metavar="FILE",
        help="Find only the terms of this list (.txt), table (.csv) or thesaurus (SKOS: .ttl, "
        ".rdf, .nt, .json).",
        show_default=False,
    ),
]
StopListOption = Annotated[
    str | None,
    selection_option(
        metavar="FILE",
        help="Never show the phrases in this file, one per line.",
        show_default=False,
    ),
]


def only_option(present_only: bool, absent_only: bool) -> "Side | None":
    """--present-only and --absent-only as one."""
    if present_only and absent_only:
        raise ConfigError("--present-only and --absent-only cannot be used together; pass only one")
    return "present" if present_only else "absent" if absent_only else None


def more_option(more: int, fewer: int) -> float:
    """--more and --fewer as one."""
    if more and fewer:
        raise ConfigError("--more and --fewer cannot be used together; pass only one")
    return float(more - fewer)


def parse_oversample(option: str) -> tuple[str, int]:
    """FILE=N of --oversample as a pair."""
    file, equals, repeat = option.rpartition("=")
    if not equals or not repeat.isdecimal() or int(repeat) < 1:
        raise ConfigError(
            f"--oversample is {option!r}; expected FILE=N with N of 1 or more, such as data.jsonl=2"
        )
    return file, int(repeat)
