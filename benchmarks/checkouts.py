"""Trains a scale with two checkouts of this repository, step by step in turn.

Each side is a process of its own that imports its own checkout. Both are alive throughout, and take
the same steps on the same synthetic documents one after the other, so that whatever else the
machine does slows both of them alike. Documents are counted per second of processor time: the ratio
is the median over steps.
"""

import argparse
import inspect
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.training.batches import Batches
from one2set.training.step import Stepper

# Checkouts of before November 2026 have these modules at the top of the package.
_place = "one2set.training" if find_spec("one2set.training.config") else "one2set"
load_scale = import_module(f"{_place}.config").Config.scale
Processes = import_module(f"{_place}.distributed").Processes
build = import_module(f"{_place}.systems").build

_PIECES = 24_000  # words of the vocabulary where the encoder is BERT's, as in the shipped model
_UNKNOWN = 3_000  # words beyond it
_WARM_UP = 2  # steps that are not counted


def compare(here: Path, there: Path, scale: str, settings: list[str], steps: int) -> None:
    """Print both sides' documents per CPU-second, and our ratio to the other checkout."""
    folders = {"ours": here, "theirs": there}
    sides = {name: _start(folder, scale, settings) for name, folder in folders.items()}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for _ in range(_WARM_UP + steps):
        for name, side in sides.items():
            assert side.stdin is not None
            assert side.stdout is not None
            side.stdin.write("step\n")
            side.stdin.flush()
            found[name].append(json.loads(side.stdout.readline()))
    for side in sides.values():
        side.communicate()
    for name, rows in found.items():
        counted = rows[_WARM_UP:]
        rate = statistics.median(row["documents"] / row["cpu"] for row in counted)
        print(
            f"{name:6} {rate:7.2f} documents per CPU-second (median of {steps} steps)   "
            f"loss {statistics.mean(row['loss'] for row in counted):.4f}   "
            f"{counted[-1]['memory']:.0f} MB"
        )
    pairs = list(zip(*(rows[_WARM_UP:] for rows in found.values()), strict=True))
    ratios = sorted(theirs["cpu"] / ours["cpu"] for ours, theirs in pairs)
    low, high = ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]
    print(f"ratio  {statistics.median(ratios):.2f}× (middle half {low:.2f} to {high:.2f})")


def _start(folder: Path, scale: str, settings: list[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, "--scale", scale]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(folder.resolve() / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def take_steps(scale: str, settings: list[str]) -> None:
    """Take a training step for each line of the standard input, and print what it cost."""
    config = load_scale(scale).override(["machine.threads=1", *settings])
    size = _PIECES if config.model.encoder == "bert" else config.model.vocabulary_size
    words = [*SPECIALS, *(f"w{id}" for id in range(len(SPECIALS), size + _UNKNOWN))]
    torch.manual_seed(0)
    built = build("settrans", config, WordVocabulary(words, size=size))
    stepper = Stepper(built.objective, built.collate, config, seed=0, processes=Processes(0, 1))
    examples = documents(config, size)
    batches = Batches(
        np.array([len(example.source) for example in examples]),
        documents=config.train.batch_documents,
        tokens=config.train.batch_tokens,
        pool=config.train.pool_batches,
        seed=0,
    ).epoch(0)
    torch.set_flush_denormal(True)
    # Its name up to commit d5c0950 was `rate`.
    arguments = inspect.signature(stepper.step).parameters
    rate_argument = "learning_rate" if "learning_rate" in arguments else "rate"
    for number, _ in enumerate(sys.stdin):
        batch = batches[number % len(batches)]
        start = time.process_time()
        losses, tokens = stepper.step(
            examples, batch, number=number, **{rate_argument: config.train.learning_rate / 10}
        )
        row = {
            "cpu": time.process_time() - start,
            "documents": len(batch),
            "loss": losses["loss"] / tokens,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(row), flush=True)


def documents(config: Any, size: int) -> list[Example]:
    """Documents with random ids, as many and as long phrases as those of KP20k; pieces are more
    than words."""
    generator = np.random.default_rng(0)
    pieces = config.model.encoder == "bert"
    mean, further = (228, 2.0) if pieces else (179, 1.1)
    last = size - 1 if pieces else size + _UNKNOWN - 1  # there is a piece for everything

    def words(count: int) -> Any:
        return np.minimum(generator.zipf(1.2, size=count) + 6, last).astype(np.int32)

    def phrases(mean: float) -> tuple[Any, ...]:
        longest = config.model.phrase_length - 1
        return tuple(
            words(min(1 + generator.poisson(further), longest))
            for _ in range(generator.poisson(mean))
        )

    lengths = generator.normal(mean, 0.35 * mean, 600).clip(30, 500).astype(int)
    return [
        Example(str(index), words(length), 10, phrases(3.3), phrases(1.95))
        for index, length in enumerate(lengths)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One side, which reads from standard input.")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    take_steps(options.scale, options.set)
