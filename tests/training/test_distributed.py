"""Several processes train as one does."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from one2set.training.distributed import Processes
from one2set.training.systems import SYSTEMS
from tests.training.children import finish, start
from tests.training.conftest import SETTINGS


def command(corpus: Path, folder: Path, *settings: str) -> list[str]:
    options = [part for setting in [*SETTINGS, *settings] for part in ("--set", setting)]
    return ["train", str(corpus), "--output", str(folder), "--scale", "tiny", "--resume", *options]


def curve(folder: Path) -> list[tuple[str, int, float, float]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    rows = map(json.loads, lines)
    return [(row["kind"], row["step"], row["loss"], row.get("present", 0.0)) for row in rows]


def ranks(count: int) -> list[dict[str, str]]:
    """The environment that torchrun gives to each process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    here = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count)}
    return [
        {**here, "RANK": str(rank), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(count)}
        for rank in range(count)
    ]


def test_torchrun_with_two_processes_equals_one_with_two_micro_batches(
    corpus_folder: Path, tmp_path: Path
) -> None:
    """With dropout, with averaging, and with a last batch of a single document for both of them.
    Losses, figures and weights are equal to the last bit."""
    one, two = tmp_path / "one", tmp_path / "two"
    settings = ("limits.epochs=1", "train.micro_batches=2")
    alone = start(command(corpus_folder, one, *settings), output=tmp_path / "one.txt")
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    together = subprocess.run(
        [sys.executable, *launch, "-m", "one2set", *command(corpus_folder, two, *settings)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finish(alone) == 0, (tmp_path / "one.txt").read_text()
    assert together.returncode == 0, together.stderr
    assert together.stderr.count("the model is") == 1  # only rank 0 prints
    assert "Warning" not in together.stderr
    assert curve(one) == curve(two)
    before, after = (load_file(folder / "model/weights.safetensors") for folder in (one, two))
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name


@pytest.mark.parametrize("system", ["catseq", "gan-mr"])
def test_other_systems_are_trained_together_as_well(
    system: str, corpus_folder: Path, tmp_path: Path
) -> None:
    """Two processes, and one with two micro-batches, have the same weights, also those of a
    discriminator. A step of GAN_MR changes one of its two networks."""
    settings = ("limits.steps=6", "train.batch_documents=8", "model.sequence_length=8")
    options = ["--system", system]
    if (before := SYSTEMS[system].starts_from) is not None:
        first = command(corpus_folder, tmp_path / "first", "limits.steps=1")
        assert finish(start([*first, "--system", before], output=tmp_path / "first.txt")) == 0
        options += ["--init", str(tmp_path / "first")]
    one, two = (
        [*command(corpus_folder, tmp_path / name, *settings), *options] for name in ("one", "two")
    )
    alone = start(one, output=tmp_path / "one.txt")
    children = [start(two, output=tmp_path / "two.txt", environment=env) for env in ranks(2)]
    assert finish(alone) == 0, (tmp_path / "one.txt").read_text()
    assert [finish(child) for child in children] == [0, 0], (tmp_path / "two.txt").read_text()
    last = "checkpoints/00000006/weights.safetensors"
    weights, others = (load_file(tmp_path / name / last) for name in ("one", "two"))
    for name, tensor in weights.items():
        assert torch.equal(tensor, others[name]), name


def test_without_dropout_micro_batches_do_not_matter(corpus_folder: Path, tmp_path: Path) -> None:
    """Three processes and one micro-batch are the same up to rounding."""
    one, three = tmp_path / "one", tmp_path / "three"
    settings = ("limits.epochs=1", "train.micro_batches=1", "model.dropout=0", "train.epsilon=1e-4")
    alone = start(command(corpus_folder, one, *settings), output=tmp_path / "one.txt")
    children = [
        start(
            command(corpus_folder, three, *settings), output=tmp_path / "three.txt", environment=env
        )
        for env in ranks(3)
    ]
    assert finish(alone) == 0, (tmp_path / "one.txt").read_text()
    assert [finish(child) for child in children] == [0, 0, 0], (tmp_path / "three.txt").read_text()
    for row, other in zip(curve(one), curve(three), strict=True):
        assert row[:2] == other[:2]
        assert row[2:] == pytest.approx(other[2:], rel=1e-5)


def test_a_signal_stops_all_processes_and_another_number_can_resume(
    corpus_folder: Path, tmp_path: Path
) -> None:
    calm, run = tmp_path / "calm", tmp_path / "run"
    settings = ("limits.steps=12", "train.micro_batches=2")
    alone = start(command(corpus_folder, calm, *settings), output=tmp_path / "calm.txt")
    output = tmp_path / "run.txt"
    children = [
        start(command(corpus_folder, run, *settings), output=output, environment=env)
        for env in ranks(2)
    ]
    while all(child.is_alive() for child in children) and not (run / "metrics.jsonl").exists():
        time.sleep(0.01)
    assert children[1].pid is not None
    os.kill(children[1].pid, signal.SIGTERM)
    codes = [finish(child) for child in children]
    assert codes == [128, 128 + signal.SIGTERM], output.read_text()
    assert "stopped at step" in output.read_text()
    again = start(command(corpus_folder, run, *settings), output=output)
    assert finish(again) == 0, output.read_text()
    assert finish(alone) == 0, (tmp_path / "calm.txt").read_text()
    assert curve(run) == curve(calm)


def test_a_user_error_is_printed_once_and_ends_all_processes(
    corpus_folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "output.txt"
    wrong = command(corpus_folder, tmp_path / "run", "train.batch_documents=none")
    children = [start(wrong, output=output, environment=env) for env in ranks(2)]
    assert [finish(child) for child in children] == [2, 2]
    assert output.read_text().count("train.batch_documents is 'none'") == 1
    assert "Traceback" not in output.read_text()


def test_one_process_needs_no_communication() -> None:
    alone = Processes(rank=0, count=1)
    assert alone.is_main
    assert alone.sum([1.0, 2.0]) == [1.0, 2.0]
    assert alone.gather("a") == ["a"]
    assert alone.on_main(lambda: 3) == 3
    module = torch.nn.Linear(1, 1)
    assert alone.wrap(module) is module
