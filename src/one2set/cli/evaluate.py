"""`one2set evaluate`: score prediction files against gold keyphrases."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from one2set.cli.console import write
from one2set.cli.options import FieldOption, output_option
from one2set.cli.progress import waiting
from one2set.errors import ConfigError
from one2set.evaluation.protocols import PROTOCOLS, YE2021, Protocol, get_protocol

if TYPE_CHECKING:
    from one2set.evaluation.scoring import Gold, Scores

_text_pair = partial(
    typer.Option, rich_help_panel="Input as text lines, instead of GOLD PREDICTIONS"
)
_figure = partial(typer.Option, rich_help_panel="Figures")


def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="GOLD PREDICTIONS",
            help="Documents with keyphrases in any readable format, then a file of predictions for "
            'each system: JSONL lines {"id": …, "keyphrases": […]} or text lines a;b;c, best '
            "first.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    source: Annotated[
        str | None,
        _text_pair(metavar="FILE", help="Lines `title <eos> abstract`.", show_default=False),
    ] = None,
    target: Annotated[
        str | None,
        _text_pair(metavar="FILE", help="Lines of gold phrases `a;b;c`.", show_default=False),
    ] = None,
    predictions: Annotated[
        list[str],
        _text_pair(
            metavar="FILE",
            help="Lines of a system's phrases `a;b;c`, best first. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    protocol: Annotated[
        str,
        _figure(
            help=f"How to average: {', '.join(PROTOCOLS)}, or several joined by +. The others are "
            "also shown."
        ),
    ] = YE2021.name,
    field: FieldOption = [],  # noqa: B006
    as_json: Annotated[
        bool,
        output_option("--json", help="Print one JSON object, unrounded."),
    ] = False,
    per_document: Annotated[
        Path | None,
        output_option(
            metavar="FILE",
            help="Also write a JSONL file with the predictions of each document, which of them "
            "are correct, and its figures.",
            show_default=False,
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        _figure(min=0, metavar="N", help="Resamples for the 95 % intervals of F1; 0 for none."),
    ] = 1000,
    seed: Annotated[int, _figure(min=0, metavar="N", help="Random seed of the resamples.")] = 0,
) -> None:
    """Score predicted keyphrases: F1@5, F1@M, MAP, NDCG, counts, duplicates.

    one2set evaluate gold.jsonl predictions.jsonl
    one2set evaluate gold.jsonl ours.jsonl theirs.jsonl

    Further prediction files are compared with the first by paired bootstrap.
    """
    from one2set.cli.score_tables import print_tables
    from one2set.evaluation.comparison import compare, to_record
    from one2set.evaluation.inputs import read_predictions
    from one2set.evaluation.scoring import score

    chosen = get_protocol(protocol)
    if per_document is not None:
        given = [*files, *filter(None, (source, target, *predictions))]
        if per_document.resolve() in {Path(path).resolve() for path in given}:
            raise ConfigError(
                f"--per-document is {per_document}, which is an input; name another file"
            )
    with waiting(lambda: "scoring"):
        golds, paths = _inputs(files, source, target, predictions, field)
        systems = {
            name: score(golds, read_predictions(path, golds))
            for name, path in _names(paths).items()
        }
        comparison = compare(systems, chosen, resamples=bootstrap, seed=seed)
    if per_document is not None:
        _write_per_document(per_document, golds, systems, chosen)
    if as_json:
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        write(orjson.dumps(to_record(comparison), option=options))
    else:
        print_tables(comparison)


def _inputs(
    files: Sequence[str],
    source: str | None,
    target: str | None,
    predictions: Sequence[str],
    field: Sequence[str],
) -> "tuple[list[Gold], Sequence[str]]":
    """The gold and the paths of the predictions, from either form of the command."""
    from one2set.data.reading.records import Fields
    from one2set.evaluation.inputs import read_gold, read_pair

    if source and target and predictions and not files:
        return read_pair(source, target), predictions
    if len(files) > 1 and not (source or target or predictions):
        return read_gold(files[0], fields=Fields.from_options(field)), files[1:]
    options = [
        *files,
        *(name for name, value in (("--source", source), ("--target", target)) if value),
    ]
    options += ["--predictions"] * len(predictions)
    raise ConfigError(
        f"got {' '.join(options) or 'no files'}; expected either GOLD PREDICTIONS... or "
        "--source FILE --target FILE --predictions FILE..."
    )


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Short names of the systems: the file's name, its whole path where two have the same."""
    names = [Path(path).name for path in paths]
    short = len(set(names)) == len(names)
    named = dict(zip(names if short else paths, paths, strict=True))
    if len(named) != len(paths):
        raise ConfigError(
            f"a file of predictions is given twice among {', '.join(paths)}; pass each file once"
        )
    return named


def _write_per_document(
    path: Path, golds: "Sequence[Gold]", systems: "Mapping[str, Scores]", protocol: Protocol
) -> None:
    from one2set.atomic import atomic_file
    from one2set.evaluation.comparison import iterate_document_records

    with atomic_file(path) as file:
        for name, scores in systems.items():
            for record in iterate_document_records(golds, scores, protocol):
                file.write(orjson.dumps({"system": name, **record}) + b"\n")
