"""Plot validation metrics of several runs, by examples seen or (`--by minutes`) by training time.

    python benchmarks/curves.py "from MiniLM=RUN,RUN" "from scratch=RUN" --output curves.png

Runs that are joined by commas continue one another. Minutes depend on the machine and its load.
Runs of different length have different learning rates on the way: compare their ends.
"""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

_FIGURES = {"f1_present": "present F1@M", "f1_absent": "absent F1@M", "duplication": "duplicates"}


def collect_points(runs: Sequence[Path], figure: str, by: str) -> list[tuple[float, float]]:
    """Documents or minutes, and the metric, at each validation of consecutive runs."""
    result: list[tuple[float, float]] = []
    before = 0.0
    for run in runs:
        rows: list[dict[str, Any]] = [
            json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()
        ]
        progress = [
            (row["step"], row["documents"] if by == "documents" else row["seconds"] / 60)
            for row in rows
            if row["kind"] == "train"
        ]
        step, spent = max(progress)
        result += [
            (before + row["step"] * spent / step, row[figure])
            for row in rows
            if row["kind"] == "valid" and figure in row
        ]
        before += spent
    return result


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN[,RUN]")
    parser.add_argument("--by", choices=("documents", "minutes"), default="documents")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    picture = Figure(figsize=(4.2 * len(_FIGURES), 3.4), layout="constrained")
    axes = picture.subplots(1, len(_FIGURES), squeeze=False)[0]
    for axis, (figure, title) in zip(axes, _FIGURES.items(), strict=True):
        for named in options.runs:
            name, _, runs = named.rpartition("=")
            curve = collect_points([Path(run) for run in runs.split(",")], figure, options.by)
            axis.plot(*zip(*curve, strict=True), marker=".", label=name)
        axis.set(xlabel=options.by, ylabel=title, ylim=(0, None))
        axis.grid(alpha=0.3)
        axis.legend()
    picture.savefig(options.output, dpi=110)


if __name__ == "__main__":
    main()
