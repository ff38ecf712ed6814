"""Documents per second of trained systems, in training and in generation.

    one2set compare CORPUS --output COMPARED
    python benchmarks/systems.py COMPARED [--rounds 3] [--documents 60] [--threads 1]

For each run in COMPARED: training steps on batches of its corpus, and generation for validation
documents by the trained model, whose sequences end like those of any trained model. The systems
alternate; the output is the median over rounds, and its ratio to SetTrans. With one thread, times
are CPU time, so that other work on the machine matters little.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import torch

from one2set.data.corpus.corpus import Corpus
from one2set.data.document import Document
from one2set.model.folder import load_model
from one2set.prediction.engine import Engine
from one2set.reproduction.measure import load_documents
from one2set.training.batches import Batches
from one2set.training.distributed import join_processes
from one2set.training.run import Run
from one2set.training.step import Stepper
from one2set.training.task import create_task

_BASE = "settrans"
_STEPS = 3  # training steps per round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("compared", type=Path, help="output folder of one2set compare")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--documents", type=int, default=60, help="documents to generate for, per round"
    )
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    runs = [Run.load(path.parent) for path in sorted(options.compared.rglob("run.json"))]
    corpus = Corpus(Path(runs[0].metadata.corpus))
    documents = load_documents(corpus, "valid")
    spread = documents[:: max(1, len(documents) // options.documents)][: options.documents]
    sides = {
        run.metadata.system: (make_training(run, corpus), make_generation(run, spread))
        for run in runs
    }
    speeds: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in sides}
    for number in range(options.rounds + 1):
        for name, both in sides.items():
            for side, result in zip(both, speeds[name], strict=True):
                speed = measure_rate(side)
                if number:  # the first round warms up
                    result.append(speed)
    medians = {name: [median(result) for result in both] for name, both in speeds.items()}
    base = medians.get(_BASE) or next(iter(medians.values()))
    print(f"{'system':24} {'training':>20} {'generation':>20}   (documents/s, × {_BASE})")
    for name, pair in medians.items():
        cells = [f"{x:12.1f} {x / y:6.2f}×" for x, y in zip(pair, base, strict=True)]
        print(f"{name:24} {cells[0]:>20} {cells[1]:>20}")


def make_training(run: Run, corpus: Corpus) -> Callable[[], int]:
    """Make a function that trains on the next batches and returns their number of documents."""
    with join_processes() as group:
        task = create_task(run, corpus)
        stepper = Stepper(
            task.built.objective,
            task.built.collate,
            run.config,
            seed=run.metadata.seed,
            processes=group,
        )
    trained = load_model(run.model).network
    stepper.objective.get_submodule("network").load_state_dict(trained.state_dict())
    number = run.config.adversarial.head_start  # where GAN_MR's rounds begin
    settings = run.config.train
    epoch = iter(
        Batches(
            task.train.source_lengths(),
            documents=settings.batch_documents,
            tokens=settings.batch_tokens,
            pool=settings.pool_batches,
            seed=run.metadata.seed,
        ).epoch(1)
    )

    def steps() -> int:
        nonlocal number
        documents = 0
        for _ in range(_STEPS):
            batch = next(epoch)
            stepper.step(task.train, batch, number=number, learning_rate=1e-6)
            number += 1
            documents += len(batch)
        return documents

    return steps


def make_generation(run: Run, documents: Sequence[Document]) -> Callable[[], int]:
    engine = Engine.load(run.model)
    return lambda: len(list(engine.predict(documents)))


def measure_rate(action: Callable[[], int]) -> float:
    """Documents per second."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    return action() / (clock() - start)


if __name__ == "__main__":
    main()
