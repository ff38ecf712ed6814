"""The log of a run: metrics.jsonl, TensorBoard files and a plot of the curves."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from one2set.atomic import atomic_file
from one2set.training.config import LoggingSettings
from one2set.training.schedule import Progress

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_METRICS, _CURVES, _TENSORBOARD = "metrics.jsonl", "curves.png", "tensorboard"
Kind = Literal["train", "valid"]
Row = dict[str, Any]


class _Line(NamedTuple):
    """A curve."""

    kind: Kind
    name: str
    label: str


_PANELS = {  # a panel is left out if its first line was never measured
    "loss": [
        _Line("train", "loss", "training"),
        _Line("valid", "loss", "validation"),
    ],
    "validation F1@M": [
        _Line("valid", "f1", "all"),
        _Line("valid", "f1_present", "present"),
        _Line("valid", "f1_absent", "absent"),
    ],
    "mean reward": [
        _Line("train", "reward", "training, sampled"),
        _Line("valid", "reward", "validation, greedy"),
    ],
    "accuracy of the discriminator": [
        _Line("train", "accuracy", "training, sampled"),
        _Line("valid", "accuracy", "validation, greedy"),
    ],
}


class RunLog:
    """Metrics by step. When a run is resumed, rows of steps that will be repeated are dropped."""

    def __init__(self, folder: Path, settings: LoggingSettings, progress: Progress) -> None:
        self._folder, self._curves = folder, settings.curves
        self._rows = [row for row in _read(folder / _METRICS) if not _will_repeat(row, progress)]
        content = b"".join(map(_encode_row, self._rows))
        path = folder / _METRICS
        if path.exists() and path.read_bytes() != content:
            with atomic_file(path) as file:
                file.write(content)
        self._file = (folder / _METRICS).open("ab")
        self._tensorboard = (
            _open_tensorboard(folder / _TENSORBOARD, progress) if settings.tensorboard else None
        )

    def write(self, kind: Kind, step: int, numbers: Mapping[str, float]) -> None:
        """Add a row."""
        row: Row = {"kind": kind, "step": step, **numbers}
        self._rows.append(row)
        self._file.write(_encode_row(row))
        self._file.flush()
        if self._tensorboard is not None:
            for name, value in numbers.items():
                self._tensorboard.add_scalar(f"{kind}/{name}", value, step)

    def draw(self) -> None:
        """Plot the losses and everything else that was measured: F1@M, rewards, accuracy."""
        if not self._curves:
            return
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return
        known = {name for row in self._rows for name in row}
        panels = {title: lines for title, lines in _PANELS.items() if lines[0].name in known}
        if not panels:
            return  # the run ended before anything was measured
        figure = Figure(figsize=(5 * len(panels), 3.6), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, lines) in zip(axes, panels.items(), strict=True):
            for line in lines:
                _plot(axis, self._rows, line)
            axis.set(xlabel="step", ylabel=title)
            axis.grid(alpha=0.3)
            axis.legend()
        with atomic_file(self._folder / _CURVES) as file:
            figure.savefig(file, format="png", dpi=120)

    def close(self) -> None:
        self._file.close()
        if self._tensorboard is not None:
            self._tensorboard.close()


def _read(path: Path) -> list[Row]:
    """Read the rows of a file, without a line that a killed process left incomplete."""
    rows = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            rows.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
    return rows


def _will_repeat(row: Row, progress: Progress) -> bool:
    last: int = progress.step if row["kind"] == "train" else progress.validated
    step: int = row["step"]
    return step > last


def _encode_row(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _open_tensorboard(folder: Path, progress: Progress) -> "SummaryWriter | None":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=progress.step + 1)


def _plot(axis: Any, rows: list[Row], line: _Line) -> None:
    kind, name, label = line
    points = [(row["step"], row[name]) for row in rows if row["kind"] == kind and name in row]
    if points:
        axis.plot(*zip(*points, strict=True), label=label, marker="." if kind == "valid" else "")
