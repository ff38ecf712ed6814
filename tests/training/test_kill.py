"""A run that is killed and resumed has the weights of an undisturbed one."""

import json
import random
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from torch import Tensor

from one2set.training.run import Run
from tests.training.children import finish, start
from tests.training.conftest import SETTINGS


def command(corpus: Path, folder: Path) -> list[str]:
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    limits = ["--steps", "14", "--set", "logging.checkpoint_steps=2"]
    return [
        "train",
        str(corpus),
        "--output",
        str(folder),
        "--scale",
        "tiny",
        "--resume",
        *options,
        *limits,
    ]


def losses(folder: Path) -> list[tuple[str, int, float]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [(row["kind"], row["step"], row["loss"]) for row in map(json.loads, lines)]


def partial_checkpoints(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("checkpoints/.*.partial-*")}


def watch_partials(folder: Path, seen: set[str]) -> int:
    """How many different ones have been seen."""
    seen |= partial_checkpoints(folder)
    return len(seen)


def lines_written(folder: Path) -> int:
    path = folder / "metrics.jsonl"
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def await_growth(count: Callable[[], int], by: int, child: BaseProcess) -> None:
    """Until there are so many more than now."""
    enough = count() + by
    while child.is_alive() and count() < enough:
        time.sleep(0.001)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_resumes_to_the_same_weights(
    seed: int, corpus_folder: Path, tmp_path: Path, weights: Callable[[Run], dict[str, Tensor]]
) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    child = start(command(corpus_folder, calm), output=tmp_path / "calm.txt")
    assert finish(child) == 0, (tmp_path / "calm.txt").read_text()

    chance = random.Random(seed)
    output = tmp_path / "killed.txt"
    kills = at_writes = 0
    for when in ("start", "write", "step", "write", "step"):
        child = start(command(corpus_folder, killed), output=output, slow_writes=True)
        if when == "start":
            time.sleep(chance.uniform(0, 0.5))
        elif when == "step":
            await_growth(partial(lines_written, killed), chance.randint(1, 5), child)
            time.sleep(chance.uniform(0, 0.05))
        else:  # the process is in the midst of its first new checkpoint, or of one after that
            seen: set[str] = set()
            await_growth(partial(watch_partials, killed, seen), chance.randint(1, 2), child)
            time.sleep(chance.uniform(0, 0.02))
        kills += child.is_alive()
        child.kill()
        child.join()
        at_writes += bool(partial_checkpoints(killed))
    child = start(command(corpus_folder, killed), output=output)
    assert finish(child) == 0, output.read_text()

    assert kills >= 3, "too few kills to prove anything"
    assert at_writes >= 1, "no kill hit a checkpoint that was being written"
    before, after = weights(Run.load(calm)), weights(Run.load(killed))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    assert losses(calm) == losses(killed)
    model = "model/weights.safetensors"
    assert (calm / model).read_bytes() == (killed / model).read_bytes()
    assert sorted(p.name for p in calm.iterdir()) == sorted(p.name for p in killed.iterdir())
