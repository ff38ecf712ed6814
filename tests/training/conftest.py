"""Small runs: a tiny network, the bundled sample, a few steps."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from one2set.data.corpus.corpus import Corpus
from one2set.training.distributed import Processes
from one2set.training.loop import Event, train
from one2set.training.run import Run, RunMetadata
from one2set.training.systems import configure_system
from one2set.training.task import Task, create_task

ALONE = Processes(rank=0, count=1)
# Small and with everything on: dropout, averaging, micro_batches, checkpoints, validation.
SETTINGS = (
    "model.width=16",
    "model.feed_forward=16",
    "model.embedding_width=8",
    "model.hidden_width=8",
    "model.vocabulary_size=200",
    "train.average_decay=0.9",
    "train.micro_batches=2",
    "validation.every=4",
    "logging.checkpoint_steps=3",
    "logging.curves=false",
)


class Miniature:
    """Makes runs on one corpus and trains them."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def run(
        self,
        folder: Path,
        *settings: str,
        system: str = "settrans",
        seed: int = 5,
        init: Path | None = None,
    ) -> Run:
        config = configure_system(system, scale="tiny", changes=[*SETTINGS, *settings])
        metadata = RunMetadata.new(system=system, seed=seed, corpus=self.corpus, init=init)
        return Run(folder, metadata, config)

    def events(self, run: Run) -> Iterator[Event]:
        with run.locked():
            yield from train(self.task(run), processes=ALONE)

    def task(self, run: Run) -> Task:
        return create_task(run, self.corpus)

    def train(self, run: Run) -> list[Event]:
        return list(self.events(run))


@pytest.fixture
def miniature(corpus_folder: Path) -> Miniature:
    return Miniature(Corpus(corpus_folder))


@pytest.fixture
def weights() -> Callable[[Run], dict[str, Tensor]]:
    """All tensors that a run's last checkpoint has, those of the optimiser too."""

    def load(run: Run) -> dict[str, Tensor]:
        folder = max(path for path in run.checkpoints.iterdir() if path.name.isdecimal())
        tensors: dict[str, Tensor] = {}
        for file in folder.glob("*.safetensors"):
            tensors |= {f"{file.stem}/{name}": tensor for name, tensor in load_file(file).items()}
        optimizer = torch.load(folder / "optimizer.pt", weights_only=True)
        for index, state in optimizer["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
        return tensors

    return load
