"""One job in its folder: train, measure, and leave nothing half done.

    job.json            what it is, and the command that trains it
    run/                the run of one2set train; its messages are train.log
    sittings.jsonl      what each sitting took of the processor
    made.json           what the training came to, written when it has ended
    measured/SET.json   what was measured on a set; SET.npy: each document's part in it

A job is claimed by a lock, which the training process holds too: it is free again when the last of
them has ended, however that came.
"""

import fcntl
import platform
import resource
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
from pydantic import BaseModel, ConfigDict

from one2set.arrays import Floats
from one2set.atomic import atomic_file
from one2set.data.corpus.corpus import TRAIN, VALID, Corpus
from one2set.errors import DataError
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import AS_TRAINED, NullBias
from one2set.reproduction.launching import InterruptionError, Launch
from one2set.reproduction.measure import Measured, documents_of, measure, tuned_bias
from one2set.reproduction.plan import Job, Setup
from one2set.training.checkpoint import Checkpoints
from one2set.training.interruption import catch_signals
from one2set.training.run import Run
from one2set.training.schedule import Progress
from one2set.training.validation import spread_indices

_LOOK = (0.05, 2.0)  # seconds between looks at a training: first, at most
_LOG_LINES = 12  # shown of a training that failed
_TUNING = 1000  # validation documents for a bias on ∅


class Made(BaseModel):
    """What a job's training came to, or its tuning where there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    visits: int
    seconds: float  # of training, over all sittings, validation included
    cpu_seconds: float  # those of the processor, of the sittings that ended under our eyes
    cpu_visits: int  # the visits in those
    parameters: int
    null_bias: NullBias
    ended: datetime
    machine: str
    versions: dict[str, str]


class JobFolder:
    """A job and where it is done."""

    def __init__(self, job: Job, setup: Setup, root: Path) -> None:
        self.job, self._setup, self._root = job, setup, root
        self.folder = root / job.name
        self.run = self.folder / "run"

    # --- What is there ----------------------------------------------------------------------------

    @property
    def _made(self) -> Path:
        return self.folder / "made.json"

    def _measured(self, split: str, kind: str) -> Path:
        return self.folder / "measured" / f"{split}.{kind}"

    def done(self, splits: Sequence[str]) -> bool:
        """Whether it is trained, and measured on these sets."""
        return self.trained() and not self.unmeasured(splits)

    def trained(self) -> bool:
        """Whether it is trained, or tuned."""
        return self._made.exists()

    def unmeasured(self, splits: Sequence[str]) -> list[str]:
        """Those of some sets that it is not measured on yet."""
        return [split for split in splits if not self._measured(split, "json").exists()]

    def made(self) -> Made:
        return Made.model_validate_json(self._made.read_bytes())

    def measured(self, split: str) -> Measured:
        return Measured.model_validate_json(self._measured(split, "json").read_bytes())

    def addends(self, split: str) -> Floats:
        """Each document's part in the F1s: see `measure`."""
        found: Floats = np.load(self._measured(split, "npy"))
        return found

    def history(self) -> list[dict[str, Any]]:
        """The lines of the run's log; one that is being written is none yet."""
        path = self.run / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [orjson.loads(line) for line in lines if line.endswith(b"\n")]

    def visits(self) -> int:
        """How many documents the training has seen so far, by its log."""
        return max((int(row.get("documents", 0)) for row in self.history()), default=0)

    @property
    def before(self) -> "JobFolder | None":
        """The job whose model it starts from, or generates with."""
        before = self.job.before
        return None if before is None else JobFolder(before, self._setup, self._root)

    @property
    def model(self) -> Path:
        """The run whose model is measured."""
        if self.job.row.decoding is None:
            return self.run
        assert self.before is not None
        return self.before.model

    def command(self) -> list[str]:
        """The arguments of one2set that train it."""
        job, setup = self.job, self._setup
        arguments = ["train", str(setup.corpus.folder), "--output", str(self.run), "--resume"]
        arguments += ["--system", job.row.system, "--scale", setup.scale, "--seed", str(job.seed)]
        if self.before is not None:
            arguments += ["--init", str(self.before.run)]
        return arguments + [f"--set={setting}" for setting in setup.settings(job.row)]

    # --- What is done -----------------------------------------------------------------------------

    @contextmanager
    def claimed(self) -> Iterator[IO[bytes] | None]:
        """The lock that is ours within the block; none where another process has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".claim").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            yield lock

    def free(self) -> bool:
        """Whether nobody does it just now."""
        with self.claimed() as lock:
            return lock is not None

    def make(self, lock: IO[bytes], start: Launch, *, tidy: bool) -> Iterator[int]:
        """Train, or go on training, or tune; the visits so far, again and again. With `tidy`,
        checkpoints go when they are needed no longer: a plan's would fill a disk."""
        if self.trained():
            return
        self._describe()
        if self.job.row.decoding is not None:
            self._save_made(Progress())
            return
        if not has_ended(self.run, self._setup.corpus):
            yield from self._sitting(lock, start)
        self._save_made(_progress(Run.load(self.run)))
        if tidy:
            shutil.rmtree(self.run / "checkpoints")

    def _describe(self) -> None:
        job = self.job
        what = {
            "row": job.row.name,
            "seed": job.seed,
            "key": job.key,
            "code": self._setup.code,
            "command": ["one2set", *self.command()],
            "config": job.config.model_dump(),
        }
        with atomic_file(self.folder / "job.json") as file:
            file.write(orjson.dumps(what, option=orjson.OPT_INDENT_2))

    def _sitting(self, lock: IO[bytes], start: Launch) -> Iterator[int]:
        """Train from where the run is to its end."""
        log_path, before, cpu_before = self.folder / "train.log", self.visits(), _children()
        pause, most = _LOOK
        with catch_signals() as signals, log_path.open("ab") as log:
            child = start(self.command(), log, lock)
            while (code := child.poll()) is None:
                if signals:
                    child.terminate()
                    child.wait()
                    break
                yield self.visits()
                time.sleep(pause)
                pause = min(pause * 1.3, most)
        sitting = {"cpu_seconds": _children() - cpu_before, "visits": self.visits() - before}
        with (self.folder / "sittings.jsonl").open("ab") as file:
            file.write(orjson.dumps(sitting, option=orjson.OPT_APPEND_NEWLINE))
        if signals:
            raise InterruptionError(signals[0])
        if code:
            lines = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise DataError(
                f"{self.job.row.name} could not be trained:\n" + "\n".join(lines[-_LOG_LINES:]),
                fix="mend it and run the same again",
                path=log_path,
            )

    def _save_made(self, progress: Progress) -> None:
        engine, decoding, null_bias = self._engine(), self.job.row.decoding, AS_TRAINED
        if decoding is not None and decoding.tuned_bias:
            valid = documents_of(self._setup.corpus, VALID)
            null_bias = tuned_bias(engine, [valid[i] for i in spread_indices(len(valid), _TUNING)])
        path = self.folder / "sittings.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        sittings = [orjson.loads(line) for line in lines]
        made = Made(
            visits=progress.documents,
            seconds=progress.seconds,
            cpu_seconds=sum(one["cpu_seconds"] for one in sittings),
            cpu_visits=sum(one["visits"] for one in sittings),
            parameters=sum(weight.numel() for weight in engine.network.parameters()),
            null_bias=null_bias,
            ended=datetime.now(UTC),
            machine=f"{platform.node()}, {platform.machine()}, {engine.device}",
            versions={name: version(name) for name in ("one2set", "torch", "numpy")},
        )
        with atomic_file(self._made) as file:
            file.write(made.model_dump_json(indent=2).encode())

    def _engine(self) -> Engine:
        """What generates, in the row's own way."""
        engine, decoding = Engine.load(self.model), self.job.row.decoding
        if decoding is not None and decoding.beam > 1:
            engine.change_search({"beam": decoding.beam})
        return engine

    def measure(self, splits: Sequence[str]) -> Iterator[str]:
        """Measure on sets of documents; each one's name before it is measured."""
        left = self.unmeasured(splits)
        if not left:
            return
        engine, null_bias = self._engine(), self.made().null_bias
        for split in left:
            yield split
            documents = documents_of(self._setup.corpus, split)
            found, addends = measure(engine, documents, null_bias=null_bias)
            with atomic_file(self._measured(split, "npy")) as file:
                np.save(file, addends)
            with atomic_file(self._measured(split, "json")) as file:
                file.write(found.model_dump_json(indent=2).encode())


def has_ended(folder: Path, corpus: Corpus) -> bool:
    """Whether there is a run that has come to its end."""
    if not Run.exists(folder):
        return False
    run = Run.load(folder)
    progress = _progress(run)
    done = progress.fraction_done(run.config.limits, epoch_documents=len(corpus.split(TRAIN)))
    return progress.stop_reason(done, run.config.validation) is not None


def _progress(run: Run) -> Progress:
    """How far a run has come."""
    checkpoints = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint)
    last = checkpoints.last()
    return Progress() if last is None else checkpoints.progress(last)


def _children() -> float:
    """The processor's seconds of all processes that we have started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
