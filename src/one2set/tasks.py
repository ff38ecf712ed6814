"""Create the training task of a run: its system on a corpus."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from one2set.data.corpus.corpus import TRAIN, VALID, Corpus, Split
from one2set.data.document import Document
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import Vocabulary, load_vocabulary
from one2set.distributed import choose_device
from one2set.errors import ConfigError, DataError
from one2set.model.folder import load_heads, load_model, save_model
from one2set.model.heads import Heads
from one2set.model.network import Network
from one2set.model.paths import model_folder
from one2set.prediction.engine import Engine
from one2set.systems import build, get_system
from one2set.training.checkpoint import Checkpoints
from one2set.training.loop import Task
from one2set.training.run import Run


def create_task(run: Run, corpus: Corpus) -> Task:
    """Build the system of a run, and load its initial weights if there is no checkpoint yet."""
    train = corpus.split(TRAIN)
    if not len(train):
        raise DataError("has no training documents", fix="prepare it again", path=corpus.folder)
    size = min(run.config.model.vocabulary_size, corpus.manifest.vocabulary_size)
    vocabulary = load_vocabulary(corpus.folder, size=size)
    torch.manual_seed(run.metadata.seed)
    built = build(run.metadata.system, run.config, vocabulary, train=train)
    started = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint).last() is not None
    if run.metadata.init is not None and not started:
        _load_initial_weights(built.network, vocabulary, Path(run.metadata.init))
        if built.heads is not None:
            load_initial_heads(built.heads, Path(run.metadata.init))
    description = {
        "system": run.metadata.system,
        "seed": run.metadata.seed,
        "generation": built.generation.to_dict(),
        **run.config.model_dump(),
    }
    engine = Engine(
        built.network,
        vocabulary,
        generation=built.generation,
        device=choose_device(run.config.machine.device),
    )
    return Task(
        objective=built.objective,
        collate=built.collate,
        generate=partial(_generate, engine),
        save=lambda: save_model(
            run.model, built.network, vocabulary, description, heads=built.heads, overwrite=True
        ),
        vocabulary=vocabulary,
        train=train,
        valid=corpus.split(VALID) if VALID in corpus.manifest.splits else Split([]),
    )


def _generate(engine: Engine, documents: Sequence[Document]) -> list[list[str]]:
    """Generate the phrases of each document with the engine that users have."""
    predictions = engine.predict(documents)
    return [[slot.text for slot in prediction.phrases] for prediction in predictions]


def _load_initial_weights(network: Network, vocabulary: Vocabulary, path: Path) -> None:
    """Load the weights of another run, or of a model folder."""
    other = load_model(model_folder(path))
    ids = range(len(SPECIALS), vocabulary.size)
    if vocabulary.size != other.vocabulary.size or any(
        vocabulary.text([id]) != other.vocabulary.text([id]) for id in ids
    ):
        raise ConfigError(
            f"--init {path}: its vocabulary ({other.vocabulary.size:,}) is not this run's "
            f"({vocabulary.size:,}); pass a model that was trained on this corpus with as many "
            f"words, or prepare it again with --vocabulary {path}"
        )
    ours, theirs = network.state_dict(), other.network.state_dict()
    for name in sorted(ours.keys() | theirs.keys()):
        shapes = [tuple(w[name].shape) if name in w else "missing" for w in (theirs, ours)]
        if shapes[0] != shapes[1]:
            raise ConfigError(
                f"--init {path}: its {name} is {shapes[0]}, but this run's is {shapes[1]}; "
                "train the same network at the same scale"
            )
    network.load_state_dict(theirs)


def load_initial_heads(heads: Heads, path: Path) -> None:
    """Load the heads of another run, or of a model folder, if it has heads of the same widths.
    Phrases that it does not know keep their initial weights."""
    other = load_heads(model_folder(path))
    if other is None:
        return
    ours, theirs = heads.state_dict(), other.state_dict()
    common = [stems for stems in heads.phrase_list.index if stems in other.phrase_list.index]
    rows = torch.tensor([heads.phrase_list.index[stems] for stems in common], dtype=torch.int64)
    given = torch.tensor([other.phrase_list.index[stems] for stems in common], dtype=torch.int64)
    for name, weight in ours.items():
        if name.startswith("phrases.out."):
            if weight.shape[1:] == theirs[name].shape[1:]:
                weight[rows] = theirs[name][given]
        elif weight.shape == theirs[name].shape:
            weight.copy_(theirs[name])


def check_init(name: str, *, init: Path | None, corpus: Path) -> None:
    """Raise ConfigError if a system that starts from another one's weights has no --init."""
    before = get_system(name).starts_from
    if before is not None and init is None:
        raise ConfigError(
            f"{name} starts from a trained {before}, and no --init is given; first run "
            f"one2set train {corpus} --system {before} --output RUN, then pass --init RUN"
        )
