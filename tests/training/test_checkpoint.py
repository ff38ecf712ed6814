"""Checkpoints are atomic, and a damaged one is replaced by the one before."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from one2set.errors import DataError
from one2set.training.checkpoint import Checkpoints
from one2set.training.run import Run
from one2set.training.schedule import Progress
from one2set.training.step import Stepper
from tests.training.conftest import ALONE, Miniature


@pytest.fixture
def stepper(miniature: Miniature, tmp_path: Path) -> Stepper:
    run = miniature.run(tmp_path / "run")
    task = miniature.task(run)
    return Stepper(task.built.objective, task.built.collate, run.config, seed=1, processes=ALONE)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoints", run_fingerprint="us")


def names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_the_last_two_are_kept_and_the_newest_is_found(
    checkpoints: Checkpoints, stepper: Stepper
) -> None:
    assert checkpoints.find() == (None, [])
    assert not checkpoints.has_started()
    for step in (5, 10, 15):
        checkpoints.save(Progress(step=step, recent={"loss": (1.5, 3)}), stepper)
    assert names(checkpoints) == ["00000010", "00000015"]
    newest = checkpoints.folder / "00000015"
    assert checkpoints.find() == (newest, [])
    assert checkpoints.load(newest, stepper) == Progress(step=15, recent={"loss": (1.5, 3)})


def test_a_run_without_its_checkpoints_is_not_begun_again(
    checkpoints: Checkpoints, stepper: Stepper
) -> None:
    """Its model would be replaced."""
    checkpoints.save(Progress(step=5), stepper)
    checkpoints.discard()
    assert checkpoints.last() is None
    with pytest.raises(DataError, match="has ended, and its checkpoints were deleted; start a new"):
        checkpoints.find()


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [_truncate, _flip, Path.unlink])
@pytest.mark.parametrize(
    "file",
    [
        "checkpoint.json",
        "progress.json",
        "weights.safetensors",
        "average.safetensors",
        "optimizer.pt",
    ],
)
def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_it_used(
    file: str, damage: Callable[[Path], None], checkpoints: Checkpoints, stepper: Stepper
) -> None:
    for step in (5, 10):
        checkpoints.save(Progress(step=step), stepper)
    damage(checkpoints.folder / "00000010" / file)
    path, (message,) = checkpoints.find()
    assert path == checkpoints.folder / "00000005"
    assert file in message or file == "checkpoint.json"  # it may only seem to tell of others
    assert "it is now 00000010.unreadable" in message
    checkpoints.save(Progress(step=7), stepper)
    assert names(checkpoints) == ["00000005", "00000007", "00000010.unreadable"]


def test_it_is_an_error_if_no_checkpoint_is_valid(
    checkpoints: Checkpoints, stepper: Stepper
) -> None:
    checkpoints.save(Progress(step=5), stepper)
    _truncate(checkpoints.folder / "00000005" / "optimizer.pt")
    with pytest.raises(DataError, match=r"no checkpoint can be used: .*optimizer.pt has changed"):
        checkpoints.find()
    # It stays one: a run that began again would replace its model.
    with pytest.raises(DataError, match=r"no checkpoint can be used: 00000005\.unreadable; start"):
        checkpoints.find()
    assert checkpoints.has_started()


def test_another_runs_checkpoint_is_not_used(checkpoints: Checkpoints, stepper: Stepper) -> None:
    checkpoints.save(Progress(step=5), stepper)
    other = Checkpoints(checkpoints.folder, run_fingerprint="them")
    with pytest.raises(DataError, match="it belongs to another run"):
        other.find()


def test_what_a_killed_process_left_is_removed(checkpoints: Checkpoints, stepper: Stepper) -> None:
    checkpoints.save(Progress(step=5), stepper)
    left = checkpoints.folder / ".00000010.partial-4194305"
    shutil.copytree(checkpoints.folder / "00000005", left)
    path, _ = checkpoints.find()
    assert path == checkpoints.folder / "00000005"
    assert names(checkpoints) == ["00000005"]


def test_a_full_disk_leaves_the_last_good_checkpoint(
    checkpoints: Checkpoints, stepper: Stepper, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(Progress(step=5), stepper)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"No space left on device.*last good .*00000005"):
        checkpoints.save(Progress(step=10), stepper)
    monkeypatch.undo()
    assert names(checkpoints) == ["00000005"]
    assert checkpoints.find() == (checkpoints.folder / "00000005", [])


def test_weights_optimiser_and_average_come_back_exactly(
    miniature: Miniature, tmp_path: Path, weights: Callable[[Run], dict[str, Tensor]]
) -> None:
    run = miniature.run(tmp_path / "trained", "limits.steps=3")
    miniature.train(run)
    task = miniature.task(run)
    fresh = Stepper(task.built.objective, task.built.collate, run.config, seed=1, processes=ALONE)
    ours = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint)
    path, _ = ours.find()
    assert path is not None
    ours.load(path, fresh)
    copy = Run(tmp_path / "copy", run.metadata, run.config)
    Checkpoints(copy.checkpoints, run_fingerprint="").save(Progress(step=1), fresh)
    saved, again = weights(run), weights(copy)
    assert saved.keys() == again.keys()
    assert any(name.startswith("average/") for name in saved)
    assert any(name.startswith("optimizer/") for name in saved)
    for name, tensor in saved.items():
        assert torch.equal(tensor, again[name]), name


def test_a_kill_while_a_checkpoint_is_replaced_loses_nothing(
    checkpoints: Checkpoints, stepper: Stepper
) -> None:
    """A validation that is repeated after a resume writes the checkpoint of its step again."""
    checkpoints.save(Progress(step=10), stepper)
    path = checkpoints.folder / "00000010"
    path.rename(checkpoints.folder / ".00000010.partial-4194305.old")
    assert checkpoints.find() == (path, [])
    assert names(checkpoints) == ["00000010"]
