"""Speed of a training step, against a plain padded implementation or another checkout.

    python benchmarks/training.py
    python benchmarks/training.py --against CHECKOUT [--system catseq] [--scale small]

The first uses the paper's size. Both implementations take one step on the same twelve documents
(mean 179 words, random ids, dropout 0): roll-out, assignment, loss, gradient, clipping, Adam. They
alternate, each in its own process, so that peak memory is measured separately. Prints the losses,
which must agree, documents per second, ratios, the useful arithmetic and its share of the machine's
GEMM peak.

The second trains a system with two checkouts (see `checkouts.py`).
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.model import padded

from checkouts import compare
from one2set.data.batch import Batch, collate
from one2set.data.example import Example
from one2set.model.settrans import SetTrans
from one2set.training.objectives.assignment import hungarian
from one2set.training.objectives.set_loss import SetLoss

_VOCABULARY, _WIDTH, _INNER, _LAYERS, _CODES, _STEPS = 50_002, 512, 2048, 6, 20, 2
_LENGTHS = (306, 262, 238, 215, 196, 183, 170, 155, 138, 121, 95, 69)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--side", choices=["ours", "plain"], help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout")
    parser.add_argument("--system", default="settrans", help="system to train")
    parser.add_argument("--scale", default="small", help="scale to train with both checkouts")
    parser.add_argument("--set", action="append", default=[], help="a setting, as in one2set train")
    parser.add_argument("--steps", type=int, default=12, help="steps of each checkout")
    options = parser.parse_args()
    if options.against:
        here = Path(__file__).resolve().parents[1]
        compare(here, options.against, options.system, options.scale, options.set, options.steps)
        return
    torch.set_num_threads(options.threads)
    if options.side:
        print(json.dumps(measure(options.side)))
        return
    actual: dict[str, list[dict[str, float]]] = {"ours": [], "plain": []}
    for _ in range(options.rounds):
        for side, rounds in actual.items():
            command = [sys.executable, __file__, f"--side={side}", f"--threads={options.threads}"]
            rounds.append(
                json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            )
    peak = measure_gemm_peak()
    for side, rounds in actual.items():
        best = min(rounds, key=lambda result: result["seconds"])
        print(
            f"{side:6} {len(_LENGTHS) / best['seconds']:5.2f} docs/s   {best['seconds']:6.2f} s, "
            f"{best['cpu']:6.2f} CPU s per step   {best['memory'] / 1024:5.2f} GB   "
            f"loss {best['loss']:.6f}"
        )
    ours, plain = (min(rounds, key=lambda result: result["seconds"]) for rounds in actual.values())
    useful = ours["arithmetic"]
    print(
        f"ratio  {plain['seconds'] / ours['seconds']:.2f}× the documents per second "
        f"({plain['cpu'] / ours['cpu']:.2f}× by CPU time), "
        f"{ours['memory'] / plain['memory']:.2f}× the memory"
    )
    print(
        f"useful {useful / len(_LENGTHS) / 1e9:.1f} GFLOP per document; "
        f"{useful / ours['seconds'] / 1e9:.0f} of {peak / 1e9:.0f} GFLOP/s = "
        f"{100 * useful / ours['seconds'] / peak:.0f} % of the GEMM peak"
    )


def measure(side: str) -> dict[str, float]:
    """Measure a step, after a warm-up step."""
    torch.manual_seed(0)
    network = SetTrans(
        vocabulary_size=_VOCABULARY,
        width=_WIDTH,
        heads=8,
        feed_forward=_INNER,
        encoder_layers=_LAYERS,
        decoder_layers=_LAYERS,
        dropout=0.0,
        num_codes=_CODES,
    )
    objective = SetLoss(network, assign_steps=_STEPS)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, betas=(0.9, 0.998), fused=True)
    batch = make_documents(objective)

    def loss() -> torch.Tensor:
        if side == "ours":
            return objective(batch).total  # type: ignore[no-any-return]
        with torch.no_grad():
            scores = padded.match_scores(network, batch, padded.encode(network, batch), _STEPS)
        order = hungarian(scores, list(objective.layout.parts.values()))
        return padded.set_loss(network, batch, order, objective.null_weight)

    def step() -> float:
        optimizer.zero_grad()
        total = loss()
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        return total.item()

    first = step()
    wall, cpu = time.perf_counter(), time.process_time()
    step()
    return {
        "loss": first,
        "seconds": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "arithmetic": count_operations(batch),
    }


def make_documents(objective: SetLoss) -> Batch:
    """Twelve documents; the number and length of phrases are those of KP20k."""
    generator = np.random.default_rng(0)

    def words(count: int) -> Any:
        return np.minimum(generator.zipf(1.2, size=count) + 6, _VOCABULARY + 3000).astype(np.int32)

    def phrases(mean: float) -> tuple[Any, ...]:
        count = generator.poisson(mean)
        return tuple(words(min(1 + generator.poisson(1.1), 5)) for _ in range(count))

    examples = [
        Example(str(index), words(length), 10, phrases(3.3), phrases(1.95))
        for index, length in enumerate(_LENGTHS)
    ]
    return collate(examples, vocabulary_size=_VOCABULARY, layout=objective.layout)


def count_operations(batch: Batch) -> float:
    """The multiplications and additions of a step, without padding."""
    layer = 8 * _WIDTH**2 + 4 * _WIDTH * _INNER  # projections and feed-forward, a word

    def decoder(cells: list[int]) -> int:
        return sum(
            count
            * (
                4 * _WIDTH**2
                + _LAYERS * (layer + 4 * _WIDTH**2 + 4 * length * _WIDTH)
                + 2 * _WIDTH * _VOCABULARY
            )
            for count, length in zip(cells, batch.lengths, strict=True)
        )

    encoder = sum(
        n * (2 * _WIDTH**2 + _LAYERS * (layer + 4 * n * _WIDTH)) + _LAYERS * n * 4 * _WIDTH**2
        for n in batch.lengths
    )
    cells = batch.target_mask.sum((1, 2)).tolist()
    roll_out = _STEPS * decoder([_CODES] * len(batch.lengths))
    return float(3 * (encoder + decoder(cells)) + roll_out)  # forward, and twice that backward


def measure_gemm_peak() -> float:
    """The best of several products of large matrices, in operations per second."""
    matrix = torch.randn(2048, 2048)
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - start)
    return 2 * 2048**3 / min(seconds)


if __name__ == "__main__":
    main()
