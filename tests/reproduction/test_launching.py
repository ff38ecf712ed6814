"""Trainings as processes: what they are told, and the lock that they hold."""

import sys
from pathlib import Path

import pytest

from one2set.reproduction.launching import launch


def start_script(folder: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a program in the place of Python is told."""
    script = folder / "python"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with (folder / "log").open("wb") as log, (folder / "lock").open("wb") as lock:
        assert launch(processes)(["train", "corpus"], log, lock).wait() == 0
    return (folder / "log").read_text().split()


def test_one_process_or_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert start_script(tmp_path, 1, monkeypatch) == ["-m", "one2set", "train", "corpus"]
    assert start_script(tmp_path, 2, monkeypatch) == [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "one2set",
        "train",
        "corpus",
    ]
