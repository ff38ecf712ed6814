"""The log has every row once, and draws curves."""

from pathlib import Path

import orjson
import pytest

from one2set.training.config import LoggingSettings
from one2set.training.runlog import RunLog
from one2set.training.schedule import Progress

QUIET = LoggingSettings(tensorboard=False)


def rows(folder: Path) -> list[tuple[str, int]]:
    lines = (folder / "metrics.jsonl").read_bytes().splitlines()
    return [(row["kind"], row["step"]) for row in map(orjson.loads, lines)]


def test_a_resumed_log_drops_steps_after_the_checkpoint(tmp_path: Path) -> None:
    log = RunLog(tmp_path, QUIET, Progress())
    for step in (1, 2, 3):
        log.write("train", step, {"loss": 1.0 / step})
    log.write("valid", 2, {"loss": 1.0})
    log.write("valid", 3, {"loss": 1.0})
    log.close()
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"kind":"train","st')  # killed in the middle of a line
    # The checkpoint of step 3 was written before that step's validation.
    log = RunLog(tmp_path, QUIET, Progress(step=3, validated=2))
    assert rows(tmp_path) == [("train", 1), ("train", 2), ("train", 3), ("valid", 2)]
    log.write("valid", 3, {"loss": 1.0})
    log.close()
    assert rows(tmp_path)[-1] == ("valid", 3)


@pytest.mark.parametrize(
    ("figures", "panels"),
    [
        ({"loss": 2.0}, 1),
        ({"loss": 2.0, "f1": 0.1, "f1_present": 0.2}, 2),
        ({"loss": 2.0, "f1": 0.1, "reward": 0.3, "accuracy": 0.9}, 4),
    ],
)
def test_curves_are_drawn_as_png(figures: dict[str, float], panels: int, tmp_path: Path) -> None:
    log = RunLog(tmp_path, QUIET, Progress())
    log.write("train", 1, {"loss": 3.0})
    log.write("valid", 1, figures)
    log.draw()
    log.close()
    picture = (tmp_path / "curves.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    width = int.from_bytes(picture[16:20])  # of the header
    assert width == panels * 600


def test_tensorboard_gets_the_numbers(tmp_path: Path) -> None:
    event_accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    log = RunLog(tmp_path, LoggingSettings(tensorboard=True), Progress())
    log.write("train", 1, {"loss": 3.0})
    log.write("train", 2, {"loss": 2.5})
    log.close()
    events = event_accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    scalars = events.Scalars("train/loss")
    assert [(scalar.step, scalar.value) for scalar in scalars] == [(1, 3.0), (2, 2.5)]
