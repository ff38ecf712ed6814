"""`one2set stats`: the statistics of the paper's Table 1 for any files."""

from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err, out, warn_about_skipped
from one2set.cli.options import (
    FieldOption,
    MaxLineOption,
    OnErrorOption,
    ReportOption,
    output_option,
)
from one2set.cli.progress import waiting
from one2set.data.reading.streams import MAX_LINE


def stats(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Documents with keyphrases, in any readable format."),
    ],
    field: FieldOption = [],  # noqa: B006
    on_error: OnErrorOption = "stop",
    max_line: MaxLineOption = MAX_LINE,
    report: ReportOption = None,
    as_json: Annotated[
        bool,
        output_option("--json", help="Print one JSON object per file."),
    ] = False,
) -> None:
    """Count documents and keyphrases, as in the paper's Table 1.

    one2set stats kp20k.jsonl inspec.jsonl

    If a file is named like one of the paper's sets, the published row is shown
    below it.
    """
    from one2set.cli.tables import print_statistics
    from one2set.data.corpus.statistics import compute_statistics, find_published_statistics
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy, printable

    rows = []
    with (
        ErrorPolicy(on_error, report, max_line=max_line) as errors,
        waiting(lambda: f"{errors.bytes_read / 1e6:,.0f} MB read"),
    ):
        for path in paths:
            documents = read(path, fields=Fields.from_options(field), errors=errors)
            measured = compute_statistics(documents, name=printable(path))
            rows.append((measured, find_published_statistics(Path(path).name)))
    if as_json:
        for measured, known in rows:
            row = {**measured.model_dump(), "published": known and known.model_dump()}
            out.print_json(data=row, indent=None)
    else:
        print_statistics(rows)
    for measured, _ in rows:
        if measured.samples and not measured.phrases_per_document:
            err.print(
                f"{measured.name}: no keyphrases; if it has some, name their field, for example "
                "--field keyphrases=tags",
                style="yellow",
                soft_wrap=True,
            )
    warn_about_skipped(errors.skipped)
