"""Options that several commands share, each defined once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from one2set.data.reading.streams import OnError
from one2set.errors import ConfigError

if TYPE_CHECKING:
    from one2set.keyphrases.selection import Wanted
    from one2set.prediction.prediction import Side

FieldOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="PART=NAME",
        help="Read PART (id, title, abstract or keyphrases) from the field NAME. Repeatable.",
    ),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(help="At a record that cannot be used: stop, or skip it and list it in a report."),
]
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
TopOption = Annotated[
    int | None, typer.Option(min=0, help="So many for each document at most. Default: 20.")
]
MinScoreOption = Annotated[
    float, typer.Option(min=0, max=1, help="Only what is this likely right, 0 to 1.")
]
PresentOnlyOption = Annotated[
    bool, typer.Option("--present-only", help="Only phrases that stand in the text.")
]
AbsentOnlyOption = Annotated[bool, typer.Option("--absent-only", help="Only phrases that do not.")]
MoreOption = Annotated[
    int, typer.Option("--more", count=True, help="More keyphrases, less sure ones. Repeatable.")
]
FewerOption = Annotated[
    int, typer.Option("--fewer", count=True, help="Fewer, surer ones. Repeatable.")
]


def wanted_by(
    top: int | None, min_score: float, present_only: bool, absent_only: bool, more: int, fewer: int
) -> "Wanted":
    """What the options mean together."""
    from one2set.keyphrases.selection import Wanted

    if present_only and absent_only:
        raise ConfigError("--present-only and --absent-only exclude each other; pass one of them")
    if more and fewer:
        raise ConfigError("--more and --fewer exclude each other; pass one of them")
    only: Side | None = "present" if present_only else "absent" if absent_only else None
    return Wanted(top, min_score, only, float(more - fewer))
