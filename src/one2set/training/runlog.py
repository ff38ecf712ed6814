"""What a run tells as it goes: metrics.jsonl, TensorBoard's files and a picture of the curves."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from one2set.atomic import complete_file
from one2set.settings import Record
from one2set.training.schedule import Progress

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_METRICS, _CURVES, _TENSORBOARD = "metrics.jsonl", "curves.png", "tensorboard"
Kind = Literal["train", "valid"]
Row = dict[str, Any]


class RunLog:
    """Rows of numbers by step. One that continues a run forgets what the run will do again."""

    def __init__(self, folder: Path, settings: Record, progress: Progress) -> None:
        self._folder, self._curves = folder, settings.curves
        self._rows = [row for row in _read(folder / _METRICS) if _settled(row, progress)]
        with complete_file(folder / _METRICS) as file:
            file.writelines(map(_line, self._rows))
        self._file = (folder / _METRICS).open("ab")
        self._tensorboard = (
            _writer(folder / _TENSORBOARD, progress) if settings.tensorboard else None
        )

    def write(self, kind: Kind, step: int, numbers: Mapping[str, float]) -> None:
        """Add a row."""
        row: Row = {"kind": kind, "step": step, **numbers}
        self._rows.append(row)
        self._file.write(_line(row))
        self._file.flush()
        if self._tensorboard is not None:
            for name, value in numbers.items():
                self._tensorboard.add_scalar(f"{kind}/{name}", value, step)

    def draw(self) -> None:
        """Draw the losses, and F1@M where it was measured."""
        if not self._curves:
            return
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return
        with_f1 = any("f1" in row for row in self._rows)
        figure = Figure(figsize=(10 if with_f1 else 5, 3.6), layout="constrained")
        axes = figure.subplots(1, 2 if with_f1 else 1, squeeze=False)[0]
        _plot(axes[0], self._rows, "train", "loss", "training")
        _plot(axes[0], self._rows, "valid", "loss", "validation")
        axes[0].set(xlabel="step", ylabel="loss per token")
        if with_f1:
            for name, label in (("f1", "all"), ("f1_present", "present"), ("f1_absent", "absent")):
                _plot(axes[1], self._rows, "valid", name, label)
            axes[1].set(xlabel="step", ylabel="validation F1@M")
        for axis in axes:
            axis.grid(alpha=0.3)
            axis.legend()
        with complete_file(self._folder / _CURVES) as file:
            figure.savefig(file, format="png", dpi=120)

    def close(self) -> None:
        self._file.close()
        if self._tensorboard is not None:
            self._tensorboard.close()


def _read(path: Path) -> list[Row]:
    """The rows of a file; a line that a killed process left unfinished is none."""
    rows = []
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            rows.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
    return rows


def _settled(row: Row, progress: Progress) -> bool:
    done: int = progress.step if row["kind"] == "train" else progress.validated
    step: int = row["step"]
    return step <= done


def _line(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _writer(folder: Path, progress: Progress) -> "SummaryWriter | None":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=progress.step + 1)


def _plot(axis: Any, rows: list[Row], kind: Kind, name: str, label: str) -> None:
    points = [(row["step"], row[name]) for row in rows if row["kind"] == kind and name in row]
    if points:
        axis.plot(*zip(*points, strict=True), label=label, marker="." if kind == "valid" else "")
