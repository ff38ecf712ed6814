"""A training task: the system of a run on its corpus, ready for the training loop."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from one2set.data.corpus.corpus import TRAIN, VALID, Corpus, Split
from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import Vocabulary, has_pieces, load_vocabulary
from one2set.errors import ConfigError, DataError
from one2set.model.device import choose_device
from one2set.model.folder import load_heads, load_model, save_model
from one2set.model.heads import Heads
from one2set.model.network import Network
from one2set.model.paths import resolve_model_folder
from one2set.prediction.engine import Engine
from one2set.training.checkpoint import Checkpoints
from one2set.training.config import Config
from one2set.training.run import Run, RunMetadata
from one2set.training.systems import BuiltSystem, build, configure_system, get_system


def open_run(
    folder: Path,
    corpus_folder: Path,
    *,
    resume: bool = False,
    system: str | None = None,
    scale: str | None = None,
    default_scale: str = "small",
    seed: int | None = None,
    changes: Sequence[str] = (),
    init: Path | None = None,
) -> tuple[Run, list[str]]:
    """Create a run, or open the run in `folder`. Also returns messages for the user.

    An existing run keeps its system, its seed, its initial weights and, unless `scale` is given,
    its configuration.
    """
    corpus = Corpus(corpus_folder)
    corpus.verify()
    if Run.exists(folder):
        if not resume:
            raise ConfigError(
                f"{folder} contains a run; continue it with --resume, or choose another folder"
            )
        run = Run.load(folder)
        run.check_arguments(system=system, seed=seed, corpus=corpus, init=init)
        if scale is None:
            return run, run.change(run.config.override(changes))
        return run, run.change(_configure(run.metadata.system, corpus, scale, changes))
    system = system or "settrans"
    before = get_system(system).starts_from
    if before is not None and init is None:
        raise ConfigError(
            f"{system} starts from a trained {before}, and no --init is given; first run "
            f"one2set train {corpus.folder} --system {before} --output RUN, then pass --init RUN"
        )
    metadata = RunMetadata.new(system=system, seed=seed or 0, corpus=corpus, init=init)
    config = _configure(system, corpus, scale or default_scale, changes)
    run = Run(folder, metadata, config)
    return run, ["there is nothing to resume; this is a new run"] if resume else []


def _configure(system: str, corpus: Corpus, scale: str, changes: Sequence[str]) -> Config:
    """The configuration of a system on a corpus. Networks know all word pieces of a tokenizer,
    whatever the scale says."""
    if not has_pieces(corpus.folder):
        return configure_system(system, scale=scale, changes=changes)
    size = corpus.manifest.vocabulary_size
    all_pieces = f"model.vocabulary_size={size}"
    config = configure_system(system, scale=scale, changes=[all_pieces, *changes])
    if config.model.vocabulary_size < size:
        raise ConfigError(
            f"model.vocabulary_size is {config.model.vocabulary_size:,}, but {corpus.folder} has "
            f"{size:,} word pieces, special tokens included, and a network knows all of them; omit "
            "the setting (model.output_size limits the pieces that it generates)"
        )
    return config.override([all_pieces])


@dataclass(frozen=True)
class Task:
    """The system of a run on its corpus."""

    run: Run
    built: BuiltSystem
    engine: Engine
    vocabulary: Vocabulary
    train: Split
    valid: Split

    def generate(self, examples: Sequence[Example]) -> list[list[str]]:
        """Generate the phrases of each example, best first, with the engine that users have."""
        predictions = self.engine.predict_examples(examples)
        return [[slot.text for slot in prediction.phrases] for prediction in predictions]

    def save(self) -> None:
        """Write the model folder of the run, replacing the previous one."""
        metadata, built = self.run.metadata, self.built
        description = {
            "system": metadata.system,
            "seed": metadata.seed,
            "generation": asdict(built.generation),
            **self.run.config.model_dump(),
        }
        save_model(
            self.run.model,
            built.network,
            self.vocabulary,
            description,
            heads=built.heads,
            overwrite=True,
        )


def create_task(run: Run, corpus: Corpus) -> Task:
    """Build the system of a run, and load its initial weights if there is no checkpoint yet."""
    device = choose_device(run.config.machine.device)
    train = corpus.split(TRAIN)
    if not len(train):
        raise DataError("has no training documents", fix="prepare it again", path=corpus.folder)
    size = min(run.config.model.vocabulary_size, corpus.manifest.vocabulary_size)
    vocabulary = load_vocabulary(corpus.folder, size=size)
    valid = corpus.split(VALID) if VALID in corpus.manifest.splits else Split([])
    started = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint).has_started()
    torch.manual_seed(run.metadata.seed)
    built = build(run.metadata.system, run.config, vocabulary, train=train)
    if run.metadata.init is not None and not started:
        _load_initial_weights(built.network, vocabulary, Path(run.metadata.init))
        if built.heads is not None:
            load_initial_heads(built.heads, Path(run.metadata.init))
    engine = Engine(built.network, vocabulary, generation=built.generation, device=device)
    return Task(run, built, engine, vocabulary, train, valid)


def _load_initial_weights(network: Network, vocabulary: Vocabulary, path: Path) -> None:
    """Load the weights of another run, or of a model folder."""
    other = load_model(resolve_model_folder(path))
    ids = range(len(SPECIALS), vocabulary.size)
    if vocabulary.size != other.vocabulary.size or any(
        vocabulary.text([id]) != other.vocabulary.text([id]) for id in ids
    ):
        raise ConfigError(
            f"the vocabulary of {path} ({other.vocabulary.size:,} words) differs from that of the "
            f"corpus ({vocabulary.size:,}); prepare the corpus again with --vocabulary and this "
            "model, or start from a model that was trained on this corpus"
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
    other = load_heads(resolve_model_folder(path))
    if other is None:
        return
    ours, theirs = heads.state_dict(), other.state_dict()
    common = [stems for stems in heads.phrase_list.index if stems in other.phrase_list.index]
    rows = torch.tensor([heads.phrase_list.index[stems] for stems in common], dtype=torch.int64)
    other_rows = torch.tensor(
        [other.phrase_list.index[stems] for stems in common], dtype=torch.int64
    )
    for name, weight in ours.items():
        if name.startswith("phrases.out."):
            if weight.shape[1:] == theirs[name].shape[1:]:
                weight[rows] = theirs[name][other_rows]
        elif weight.shape == theirs[name].shape:
            weight.copy_(theirs[name])
