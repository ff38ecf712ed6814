"""Checkpoints: all that a run needs to continue as if it had never stopped.

    checkpoints/00000500/
        checkpoint.json      whose it is, and the hashes of the other files
        progress.json        where the run is
        weights.safetensors  the objective
        average.safetensors  the moving average of its weights, where there is one
        optimizer.pt         the optimiser

A checkpoint appears complete or not at all. The last two are kept, so that there is a good one
should the other be damaged later. No random state is among them: the loop derives every random
number from the seed and the step.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model

from one2set.atomic import atomic_folder
from one2set.data.corpus.corpus import file_hash
from one2set.errors import DataError
from one2set.training.schedule import Progress
from one2set.training.step import Stepper

_KEPT = 2
_FACTS, _PROGRESS, _WEIGHTS, _AVERAGE, _OPTIMIZER = (
    "checkpoint.json",
    "progress.json",
    "weights.safetensors",
    "average.safetensors",
    "optimizer.pt",
)


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    owner: str
    sha256: dict[str, str]


class Checkpoints:
    """The checkpoints of a run, whose `owner` is a fingerprint of what it is a run of."""

    def __init__(self, folder: Path, *, owner: str) -> None:
        self.folder, self._owner = folder, owner

    def last(self) -> Path | None:
        """The newest checkpoint."""
        return next(self._newest_first(), None)

    def save(self, progress: Progress, stepper: Stepper) -> None:
        """Write a checkpoint, then remove those that are too old."""
        path = self.folder / f"{progress.step:08d}"
        try:
            with atomic_folder(path, overwrite=True) as partial:
                save_model(stepper.objective, str(partial / _WEIGHTS))
                if stepper.average.tensors:
                    save_file(stepper.average.tensors, partial / _AVERAGE)
                torch.save(stepper.optimizer.state_dict(), partial / _OPTIMIZER)
                (partial / _PROGRESS).write_text(progress.model_dump_json(indent=2))
                hashes = {file.name: file_hash(file) for file in partial.iterdir()}
                facts = _Facts(owner=self._owner, sha256=hashes)
                (partial / _FACTS).write_text(facts.model_dump_json(indent=2))
        except (OSError, SafetensorError, RuntimeError) as error:  # torch raises RuntimeError
            raise self._unwritten(path, error) from error
        for old in list(self._newest_first())[_KEPT:]:
            shutil.rmtree(old)

    def find(self) -> tuple[Path | None, list[str]]:
        """The newest checkpoint that can be used, None if there never was one; and what there is
        to say about those that cannot."""
        for partial in self.folder.glob(".*.partial-*"):  # a killed process's
            shutil.rmtree(partial)
        remarks: list[str] = []
        for path in list(self._newest_first()):
            try:
                self._check(path)
            except _DamageError as damage:
                aside = path.with_name(f"{path.name}.unreadable")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
                remarks.append(f"{path} cannot be used ({damage}); it is now {aside.name}")
            else:
                return path, remarks
        if remarks:
            raise DataError(
                f"no checkpoint can be used: {'; '.join(remarks)}",
                fix="start a new run, with --init if this one has a model",
                path=self.folder,
            )
        return None, remarks

    def load(self, path: Path, stepper: Stepper) -> Progress:
        """Load a checkpoint that `find` found; where the run is."""
        load_model(stepper.objective, path / _WEIGHTS)
        if stepper.average.tensors:
            stepper.average.load(load_file(path / _AVERAGE))
        stepper.optimizer.load_state_dict(
            torch.load(path / _OPTIMIZER, map_location="cpu", weights_only=True)
        )
        return self.progress(path)

    def progress(self, path: Path) -> Progress:
        """Where the run was."""
        return Progress.model_validate_json((path / _PROGRESS).read_bytes())

    def _newest_first(self) -> Iterator[Path]:
        paths = [path for path in self.folder.glob("*") if path.name.isdecimal()]
        return iter(sorted(paths, key=lambda path: int(path.name), reverse=True))

    def _check(self, path: Path) -> None:
        """That a checkpoint is ours and as it was written."""
        try:
            facts = _Facts.model_validate_json((path / _FACTS).read_bytes())
            for name, sha256 in facts.sha256.items():
                if file_hash(path / name) != sha256:
                    raise _DamageError(f"{name} has changed since it was written")
        except ValidationError:
            raise _DamageError(f"{_FACTS} is damaged") from None
        except OSError as error:
            raise _DamageError(f"{Path(error.filename).name}: {error.strerror}") from None
        if facts.owner != self._owner:
            raise _DamageError("it belongs to another run")

    def _unwritten(self, path: Path, error: Exception) -> DataError:
        reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        free = shutil.disk_usage(self.folder).free
        last = self.last()
        kept = f"the last good checkpoint is {last}" if last else "there is no checkpoint yet"
        return DataError(
            f"the checkpoint could not be written ({reason}; {free / 1e6:,.0f} MB are free)",
            fix=f"make room and continue with --resume; {kept}",
            path=path,
        )


class _DamageError(Exception):
    """Why a checkpoint cannot be used."""
