"""The folder of a run: its metadata, its configuration, its lock and its paths.

run.json        system, seed, corpus, versions
config.toml     the resolved configuration
checkpoints/    to resume from
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
from one2set.errors import ConfigError, DataError
from one2set.model.paths import MODEL, resolve_model_folder
from one2set.training.config import Config, fingerprint

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Corpus

_METADATA, _CONFIG, _LOCK = "run.json", "config.toml", ".lock"


class RunMetadata(BaseModel):
    """The properties of a run that never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    system: str
    seed: int
    corpus: str
    corpus_sha256: str  # of its manifest, which contains the hashes of all other files
    init: str | None
    versions: dict[str, str]

    @classmethod
    def new(cls, *, system: str, seed: int, corpus: "Corpus", init: Path | None) -> Self:
        return cls(
            system=system,
            seed=seed,
            corpus=str(corpus.folder.absolute()),
            corpus_sha256=_hash_manifest(corpus),
            init=None if init is None else str(init.absolute()),
            versions={name: version(name) for name in ("one2set", "torch", "numpy")},
        )


class Run:
    """A run folder. It need not exist yet."""

    def __init__(self, folder: Path, metadata: RunMetadata, config: Config) -> None:
        self.folder, self.metadata, self.config = folder, metadata, config

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the run. Its checkpoints carry it."""
        identity = {
            "system": self.metadata.system,
            "seed": self.metadata.seed,
            "corpus": self.metadata.corpus_sha256,
        }
        # Defaults are left out, so that settings added by a later version do not change the hash.
        defaults = Config().fixed()
        changed = {k: v for k, v in self.config.fixed().items() if v != defaults[k]}
        return fingerprint({**identity, **changed})

    @classmethod
    def exists(cls, folder: Path) -> bool:
        return (folder / _METADATA).exists()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open an existing run."""
        path = folder / _METADATA
        try:
            metadata = RunMetadata.model_validate_json(path.read_bytes())
        except OSError as error:
            raise ConfigError(
                f"{folder} contains no run ({error.strerror}: {path.name}); "
                "pass the --output folder of one2set train"
            ) from None
        except ValidationError as error:
            first = error.errors()[0]
            what = f"{'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}"
            raise DataError(what, fix="start a new run", path=path) from None
        return cls(folder, metadata, Config.load(folder / _CONFIG))

    def change(self, config: Config) -> list[str]:
        """Continue with other settings. Returns a message for each that changed; raises ConfigError
        for one that a run cannot change."""
        before, after = self.config.flat(), config.flat()
        changed = [key for key, value in after.items() if value != before[key]]
        for key in changed:
            if key in config.fixed():
                raise ConfigError(
                    f"{key} is {after[key]!r}, but this run was started with {before[key]!r}; "
                    f"keep it, or start a new run (from these weights: --init {self.folder})"
                )
        self.config = config
        return [f"{key} is now {after[key]!r} (was {before[key]!r})" for key in changed]

    def check_arguments(
        self, *, system: str | None, seed: int | None, corpus: "Corpus", init: Path | None = None
    ) -> None:
        """Check that the arguments are those the run was started with."""
        for option, value, own in (
            ("system", system, self.metadata.system),
            ("seed", seed, self.metadata.seed),
        ):
            if value is not None and value != own:
                raise ConfigError(
                    f"--{option} is {value}, but {self.folder} was started with {own}; "
                    "omit the option, or start a new run"
                )
        start = None if self.metadata.init is None else _find_weights(Path(self.metadata.init))
        if init is not None and _find_weights(init) != start:
            raise ConfigError(
                f"--init or --from is {init}, but {self.folder} was started from "
                f"{self.metadata.init or 'random weights'}; omit the option, or start a new run"
            )
        if _hash_manifest(corpus) != self.metadata.corpus_sha256:
            raise DataError(
                f"is not the corpus that {self.folder} was started with",
                fix=f"pass {self.metadata.corpus}, or start a new run",
                path=corpus.folder,
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder if needed, and lock it: within the block no other process can train
        in it."""
        settings = self.config.to_toml()
        if not self.exists(self.folder):
            if self.folder.exists():
                raise ConfigError(
                    f"{self.folder} exists but contains no run; choose another folder"
                )
            with atomic_folder(self.folder) as partial:
                metadata = self.metadata.model_dump_json(indent=2)
                (partial / _METADATA).write_text(metadata, encoding="utf-8")
                (partial / _CONFIG).write_text(settings, encoding="utf-8")
        with (self.folder / _LOCK).open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(
                    f"another process is training in {self.folder}; wait until it ends, or stop it"
                ) from None
            if Config.load(self.folder / _CONFIG) != self.config:
                with atomic_file(self.folder / _CONFIG) as file:
                    file.write(settings.encode())
            yield


def _find_weights(init: Path) -> Path:
    """The absolute path of a model, or of a run's model."""
    return resolve_model_folder(init).resolve()


def _hash_manifest(corpus: "Corpus") -> str:
    # Imported here because finding the model of a run must not require the corpus's dependencies.
    from one2set.data.corpus.corpus import MANIFEST, file_hash

    return file_hash(corpus.folder / MANIFEST)
