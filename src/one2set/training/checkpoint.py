"""Checkpoints: everything a run needs to continue as if it had never stopped.

    checkpoints/00000500/
        checkpoint.json      the fingerprint of its run, and the hashes of the other files
        progress.json        how far the run has come
        weights.safetensors  the parameters of the objective
        average.safetensors  their moving average, if there is one
        optimizer.pt         the state of the optimizer

Checkpoints are written atomically. The last two are kept, in case one is damaged later. There is no
random state to save: all random numbers are derived from the seed and the step. A file `discarded`
instead of checkpoints says that the run has ended.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model

from one2set.atomic import atomic_folder, clear_leftovers
from one2set.data.corpus.corpus import file_hash
from one2set.errors import DataError
from one2set.training.schedule import Progress
from one2set.training.step import Stepper

_KEPT = 2
_MANIFEST, _PROGRESS, _WEIGHTS, _AVERAGE, _OPTIMIZER = (
    "checkpoint.json",
    "progress.json",
    "weights.safetensors",
    "average.safetensors",
    "optimizer.pt",
)
_DISCARDED, _UNREADABLE = "discarded", ".unreadable"
_FILES = frozenset((_MANIFEST, _PROGRESS, _WEIGHTS, _AVERAGE, _OPTIMIZER))


class _Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    run_fingerprint: str
    sha256: dict[str, str]


class Checkpoints:
    """The checkpoints of the run with the given fingerprint."""

    def __init__(self, folder: Path, *, run_fingerprint: str) -> None:
        self.folder, self._run_fingerprint = folder, run_fingerprint

    def has_started(self) -> bool:
        """Whether a checkpoint was ever written, even if none can be used."""
        return any(self.folder.glob("[!.]*"))

    def last(self) -> Path | None:
        """The newest checkpoint."""
        return next(self._newest_first(), None)

    def save(self, progress: Progress, stepper: Stepper) -> None:
        """Write a checkpoint, then remove old ones."""
        path = self.folder / f"{progress.step:08d}"
        try:
            with atomic_folder(path, own_files=lambda _: _FILES) as partial:
                save_model(stepper.objective, str(partial / _WEIGHTS))
                if stepper.average.tensors:
                    save_file(stepper.average.tensors, partial / _AVERAGE)
                torch.save(stepper.optimizer.state_dict(), partial / _OPTIMIZER)
                (partial / _PROGRESS).write_text(progress.model_dump_json(indent=2))
                hashes = {file.name: file_hash(file) for file in partial.iterdir()}
                manifest = _Manifest(run_fingerprint=self._run_fingerprint, sha256=hashes)
                (partial / _MANIFEST).write_text(manifest.model_dump_json(indent=2))
        except (OSError, SafetensorError, RuntimeError) as error:  # torch raises RuntimeError
            raise self._explain_failure(path, error) from error
        for old in list(self._newest_first())[_KEPT:]:
            shutil.rmtree(old)

    def discard(self) -> None:
        """Delete all checkpoints of a run that has ended. It cannot be resumed after that, not even
        from the beginning."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        (self.folder / _DISCARDED).touch()

    def find(self) -> tuple[Path | None, list[str]]:
        """Return the newest usable checkpoint (None if none was ever written), and a message for
        each unusable one, which is renamed."""
        if (self.folder / _DISCARDED).exists():
            raise DataError(
                "the run has ended, and its checkpoints were deleted",
                fix="start a new run, with --init to continue from its model",
                path=self.folder,
            )
        clear_leftovers(self.folder)  # the run is locked
        messages: list[str] = []
        for path in list(self._newest_first()):
            try:
                self._check(path)
            except _DamageError as damage:
                aside = path.with_name(f"{path.name}{_UNREADABLE}")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
                messages.append(f"{path} cannot be used ({damage}); it is now {aside.name}")
            else:
                return path, messages
        # Those of an earlier attempt count, too: to begin again would replace the model.
        if unreadable := sorted(path.name for path in self.folder.glob(f"*{_UNREADABLE}")):
            raise DataError(
                f"no checkpoint can be used: {'; '.join(messages or unreadable)}",
                fix="start a new run, with --init if this one has a model",
                path=self.folder,
            )
        return None, messages

    def load(self, path: Path, stepper: Stepper) -> Progress:
        """Load a checkpoint that `find` returned. Returns the run's progress."""
        load_model(stepper.objective, path / _WEIGHTS)
        if stepper.average.tensors:
            stepper.average.load(load_file(path / _AVERAGE))
        stepper.optimizer.load_state_dict(
            torch.load(path / _OPTIMIZER, map_location="cpu", weights_only=True)
        )
        return self.progress(path)

    def progress(self, path: Path) -> Progress:
        """Read the progress of a checkpoint."""
        return Progress.model_validate_json((path / _PROGRESS).read_bytes())

    def _newest_first(self) -> Iterator[Path]:
        paths = [path for path in self.folder.glob("*") if path.name.isdecimal()]
        return iter(sorted(paths, key=lambda path: int(path.name), reverse=True))

    def _check(self, path: Path) -> None:
        """Raise _DamageError unless a checkpoint belongs to this run and is unchanged."""
        try:
            manifest = _Manifest.model_validate_json((path / _MANIFEST).read_bytes())
            for name, sha256 in manifest.sha256.items():
                if file_hash(path / name) != sha256:
                    raise _DamageError(f"{name} has changed since it was written")
        except ValidationError:
            raise _DamageError(f"{_MANIFEST} is damaged") from None
        except OSError as error:
            raise _DamageError(f"{Path(error.filename).name}: {error.strerror}") from None
        if manifest.run_fingerprint != self._run_fingerprint:
            raise _DamageError("it belongs to another run")

    def _explain_failure(self, path: Path, error: Exception) -> DataError:
        reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        free = shutil.disk_usage(self.folder).free
        last = self.last()
        last_checkpoint = (
            f"the last good checkpoint is {last}" if last else "there is no checkpoint yet"
        )
        return DataError(
            f"the checkpoint could not be written ({reason}; {free / 1e6:,.0f} MB free)",
            fix=f"free some space and continue with --resume; {last_checkpoint}",
            path=path,
        )


class _DamageError(Exception):
    """Why a checkpoint cannot be used."""
