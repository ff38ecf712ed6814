"""Train a system with two checkouts of this repository, alternating by step.

Each checkout runs in its own process. Both take the same steps on the same synthetic documents, in
turn, so that other work on the machine slows both alike. Documents are counted per second of CPU
time; the ratio is the median over steps.
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

# Checkouts from before November 2026 have these modules at the top of the package.
_package = "one2set.training" if find_spec("one2set.training.config") else "one2set"
load_scale = import_module(f"{_package}.config").Config.scale
Processes = import_module(f"{_package}.distributed").Processes
build = import_module(f"{_package}.systems").build

_PIECES = 24_000  # words of the vocabulary where the encoder is BERT's, as in the included model
_UNKNOWN = 3_000  # words beyond it
_WARM_UP = 2  # steps that are not counted


def compare(
    here: Path, there: Path, system: str, scale: str, settings: list[str], steps: int
) -> None:
    """Print the documents per CPU second of both checkouts, and their ratio."""
    folders = {"ours": here, "theirs": there}
    sides = {name: _start(folder, system, scale, settings) for name, folder in folders.items()}
    result: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for _ in range(_WARM_UP + steps):
        for name, side in sides.items():
            assert side.stdin is not None
            assert side.stdout is not None
            side.stdin.write("step\n")
            side.stdin.flush()
            result[name].append(json.loads(side.stdout.readline()))
    for side in sides.values():
        side.communicate()
    for name, rows in result.items():
        counted = rows[_WARM_UP:]
        rate = statistics.median(row["documents"] / row["cpu"] for row in counted)
        print(
            f"{name:6} {rate:7.2f} documents per CPU second (median of {steps} steps)   "
            f"loss {statistics.mean(row['loss'] for row in counted):.4f}   "
            f"{counted[-1]['memory']:.0f} MB"
        )
    pairs = list(zip(*(rows[_WARM_UP:] for rows in result.values()), strict=True))
    ratios = sorted(theirs["cpu"] / ours["cpu"] for ours, theirs in pairs)
    low, high = ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]
    print(f"ratio  {statistics.median(ratios):.2f}× (middle half {low:.2f} to {high:.2f})")


def _start(folder: Path, system: str, scale: str, settings: list[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, "--system", system, "--scale", scale]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(folder.resolve() / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def take_steps(system: str, scale: str, settings: list[str]) -> None:
    """Take a training step for each line of standard input, and print its cost."""
    config = load_scale(scale).override(["machine.threads=1", *settings])
    size = _PIECES if config.model.encoder == "bert" else config.model.vocabulary_size
    words = [*SPECIALS, *(f"w{id}" for id in range(len(SPECIALS), size + _UNKNOWN))]
    torch.manual_seed(0)
    built = build(system, config, WordVocabulary(words, size=size))
    stepper = Stepper(built.objective, built.collate, config, seed=0, processes=Processes(0, 1))
    examples = make_documents(config, size)
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


def make_documents(config: Any, size: int) -> list[Example]:
    """Documents with random ids; the number and length of phrases are those of KP20k. Texts have
    more pieces than words."""
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
    parser = argparse.ArgumentParser(description="One checkout; reads from standard input.")
    parser.add_argument("--system", required=True)
    parser.add_argument("--scale", required=True)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    take_steps(options.system, options.scale, options.set)
