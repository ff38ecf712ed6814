"""The folder of a run: what it is a run of, who works in it, and where its things are.

run.json        system, seed, corpus, versions
config.toml     the resolved configuration
checkpoints/    to continue from
metrics.jsonl   losses and scores by step; also as tensorboard/ and curves.png
model/          the best weights so far, ready for prediction
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from one2set.atomic import atomic_file, atomic_folder
from one2set.config import Config, fingerprint
from one2set.errors import ConfigError, DataError
from one2set.model.paths import MODEL

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Corpus

_FACTS, _CONFIG, _LOCK = "run.json", "config.toml", ".lock"


class Facts(BaseModel):
    """What never changes in the life of a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    seed: int
    corpus: str
    corpus_sha256: str  # of its manifest, which holds the hashes of everything else
    init: str | None
    versions: dict[str, str]

    @classmethod
    def new(cls, *, system: str, seed: int, corpus: "Corpus", init: Path | None) -> Self:
        return cls(
            system=system,
            seed=seed,
            corpus=str(corpus.folder.absolute()),
            corpus_sha256=_hash(corpus),
            init=None if init is None else str(init.absolute()),
            versions={name: version(name) for name in ("one2set", "torch", "numpy")},
        )


class Run:
    """A run folder, which need not exist yet."""

    def __init__(self, folder: Path, facts: Facts, config: Config) -> None:
        self.folder, self.facts, self.config = folder, facts, config

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    @property
    def owner(self) -> str:
        """What a checkpoint must belong to, to be one of this run."""
        facts = {"system": self.facts.system, "seed": self.facts.seed}
        corpus = {"corpus": self.facts.corpus_sha256}
        # Without defaults: a setting that a later version brings must not make it another run.
        usual = Config().fixed()
        own = {key: value for key, value in self.config.fixed().items() if value != usual[key]}
        return fingerprint({**facts, **corpus, **own})

    @classmethod
    def exists(cls, folder: Path) -> bool:
        return (folder / _FACTS).exists()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """A run as it was left."""
        path = folder / _FACTS
        try:
            facts = Facts.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ConfigError(
                f"{folder} holds no run ({error.strerror}: {path.name}); "
                "name the --output of one2set train"
            ) from None
        except ValidationError as error:
            what = error.errors()[0]["msg"]
            raise DataError(what, fix="start a new run", path=path) from None
        return cls(folder, facts, Config.load(folder / _CONFIG))

    def change(self, config: Config) -> list[str]:
        """Go on with other settings, where that is possible; which ones have changed."""
        before, after = self.config.flat(), config.flat()
        changed = [key for key, value in after.items() if value != before[key]]
        for key in changed:
            if key in config.fixed():
                raise ConfigError(
                    f"{key} is {after[key]!r}, but this run began with {before[key]!r}; "
                    f"leave it, or start a new run (from these weights: --init {self.folder})"
                )
        self.config = config
        return [f"{key} is now {after[key]!r} (was {before[key]!r})" for key in changed]

    def expect(self, *, system: str | None, seed: int | None, corpus: "Corpus") -> None:
        """That it is continued as what it began as."""
        for option, asked, own in (
            ("system", system, self.facts.system),
            ("seed", seed, self.facts.seed),
        ):
            if asked is not None and asked != own:
                raise ConfigError(
                    f"--{option} is {asked}, but {self.folder} is a run with {own}; "
                    "leave it out, or start a new run"
                )
        if _hash(corpus) != self.facts.corpus_sha256:
            raise DataError(
                f"is not the corpus that {self.folder} was begun with",
                fix=f"pass {self.facts.corpus}, or start a new run",
                path=corpus.folder,
            )

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Make the folder, or take it over; within the block no other process can train in it."""
        if not self.exists(self.folder):
            if self.folder.exists():
                raise ConfigError(f"{self.folder} exists, and holds no run; name another folder")
            with atomic_folder(self.folder) as partial:
                (partial / _FACTS).write_text(self.facts.model_dump_json(indent=2))
                (partial / _CONFIG).write_text(self.config.to_toml(), encoding="utf-8")
        with (self.folder / _LOCK).open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(
                    f"another process is training in {self.folder}; wait for it, or end it first"
                ) from None
            if Config.load(self.folder / _CONFIG) != self.config:
                with atomic_file(self.folder / _CONFIG) as file:
                    file.write(self.config.to_toml().encode())
            yield


def _hash(corpus: "Corpus") -> str:
    # Not every installation that looks for a run's model can read corpora.
    from one2set.data.corpus.corpus import MANIFEST, file_hash

    return file_hash(corpus.folder / MANIFEST)
