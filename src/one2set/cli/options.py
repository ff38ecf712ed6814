"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.data.reading.streams import OnError
from one2set.errors import ConfigError

if TYPE_CHECKING:
    from one2set.data.control_codes import Side

# Groups of options in the help.
INPUT = "Input"
OUTPUT = "Output"
SELECTION = "Which keyphrases"
COMPUTATION = "Computation"
TRAINING = "Training"

CorpusArgument = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="A folder made by one2set prepare.")
]
ScaleOption = Annotated[
    str,
    typer.Option(
        metavar="NAME|FILE",
        help="Network size and training settings, as for one2set train.",
        rich_help_panel=TRAINING,
    ),
]
SetOption = Annotated[
    list[str],
    typer.Option(
        metavar="NAME=VALUE",
        help="Change a setting for every system, as for one2set train. Repeatable.",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model or run folder, or default or light.")
]
ModelOption = Annotated[
    str, typer.Option(metavar="MODEL", help="default, light (no network, fast), or a model folder.")
]

FieldOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="PART=NAME",
        help="Read PART (id, title, abstract or keyphrases) from the field NAME. Repeatable.",
        rich_help_panel=INPUT,
        show_default=False,
    ),
]
OnErrorOption = Annotated[
    OnError, typer.Option(help="Stop at an unusable record, or skip it.", rich_help_panel=INPUT)
]
ReportOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="List skipped records here.", rich_help_panel=INPUT),
]

MaxLineOption = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="BYTES",
        help="Reject longer lines and text files, to bound memory.",
        rich_help_panel=INPUT,
    ),
]

OutputFolderOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="OUT", help="The folder to write.", rich_help_panel=OUTPUT
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="A file, in the format of its extension, also with .gz or .zst; or a folder of parts "
        "if the name ends in /. Default: standard output.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Continue an interrupted OUT.", rich_help_panel=OUTPUT),
]
OverwriteOption = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace an existing OUT.", rich_help_panel=OUTPUT),
]

NoVerifyOption = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        help="Do not check the hashes in the model's manifest.",
        rich_help_panel=COMPUTATION,
    ),
]
DeviceOption = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(help="auto uses a GPU if there is one.", rich_help_panel=COMPUTATION),
]
ThreadsOption = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="CPU threads; 0 for all cores.", rich_help_panel=COMPUTATION
    ),
]
BatchTokensOption = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Source tokens per batch; larger batches need more memory.",
        rich_help_panel=COMPUTATION,
    ),
]

TopOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Maximum keyphrases per document. Default: 20.",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]
MinScoreOption = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="SCORE",
        help="Hide keyphrases scoring below this.",
        rich_help_panel=SELECTION,
    ),
]
PresentOnlyOption = Annotated[
    bool,
    typer.Option(
        "--present-only",
        help="Only keyphrases that occur in the text.",
        rich_help_panel=SELECTION,
    ),
]
AbsentOnlyOption = Annotated[
    bool,
    typer.Option(
        "--absent-only",
        help="Only keyphrases that do not occur in the text.",
        rich_help_panel=SELECTION,
    ),
]
MoreOption = Annotated[
    int,
    typer.Option(
        "--more",
        count=True,
        help="Show more keyphrases, with lower scores. Repeatable.",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]
FewerOption = Annotated[
    int,
    typer.Option(
        "--fewer",
        count=True,
        help="Show fewer keyphrases. Repeatable.",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]


DiversityOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="D",
        help="0 ranks by score alone; 1 shows no keyphrase that overlaps a better one. Default: "
        "as calibrated.",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]
PointOption = Annotated[
    Literal["shown", "f1"],
    typer.Option(
        help="Operating point: tuned for readers, or for F1@5 and F1@M.",
        rich_help_panel=SELECTION,
    ),
]
VocabularyOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Only terms of this list (.txt), table (.csv) or thesaurus (SKOS: .ttl, .rdf, .json).",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]
StopListOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Never show the phrases of this file, one per line.",
        show_default=False,
        rich_help_panel=SELECTION,
    ),
]


def only_option(present_only: bool, absent_only: bool) -> "Side | None":
    """--present-only and --absent-only as one."""
    if present_only and absent_only:
        raise ConfigError("--present-only and --absent-only exclude each other; pass one of them")
    return "present" if present_only else "absent" if absent_only else None


def more_option(more: int, fewer: int) -> float:
    """--more and --fewer as one."""
    if more and fewer:
        raise ConfigError("--more and --fewer exclude each other; pass one of them")
    return float(more - fewer)


def parse_oversample(option: str) -> tuple[str, int]:
    """FILE=N of --oversample as a pair."""
    file, equals, repeat = option.rpartition("=")
    if not equals or not repeat.isdecimal():
        raise ConfigError(f"--oversample is {option!r}; expected FILE=N, such as data.jsonl=2")
    if int(repeat) < 1:
        raise ConfigError(f"--oversample {option}; expected 1 or more")
    return file, int(repeat)
