"""A job in its folder: train and measure. All files are written atomically.

    job.json            its row, seed and settings, and the command that trains it
    run/                the run of one2set train; its messages are train.log
    sessions.jsonl      the CPU time of each session: training may be interrupted and resumed
    training.json       the record of the training, written at its end
    measured/SET.json   the metrics on a set; SET.npz: each document's addends to them

A process locks a job before it works on it. The training process holds the lock too, so a job is
free when the last of them has ended, even if it was killed.
"""

import fcntl
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import orjson
import torch
from pydantic import BaseModel, ConfigDict

from one2set.atomic import atomic_file
from one2set.data.corpus.corpus import TRAIN, VALID, Corpus, spread_indices
from one2set.errors import DataError
from one2set.model.device import set_num_threads
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import AS_TRAINED, NullBias
from one2set.reproduction.measure import (
    DocumentAddends,
    Measured,
    load_documents,
    measure,
    tune_null_bias,
)
from one2set.reproduction.plan import Job, Setup
from one2set.training.checkpoint import Checkpoints
from one2set.training.interruption import catch_signals
from one2set.training.run import Run
from one2set.training.schedule import Progress

_POLL_SECONDS = (0.05, 2.0)  # between checks of a training process: at first, at most
_LOG_LINES = 12  # of a failed training's log in the error message
_TUNING_DOCUMENTS = 1000  # validation documents on which a bias on ∅ is tuned


# --- Training processes ---------------------------------------------------------------------------


class TrainingProcess(Protocol):
    """A training in a process of its own, which frees all its memory when it ends."""

    def poll(self) -> int | None:
        """The exit code; None while it runs."""

    def wait(self) -> int:
        """Wait for the end, and return the exit code."""

    def terminate(self) -> None:
        """Ask it to save a checkpoint and stop."""


# Starts one2set with these arguments. The first file receives its messages; the second is a lock
# that it holds until it ends.
Launch = Callable[[Sequence[str], IO[bytes], IO[bytes]], TrainingProcess]


def launch(processes: int = 1) -> Launch:
    """A function that starts trainings, each in one process, or in several through torchrun."""
    python = [sys.executable, "-m"]
    if processes > 1:
        python += ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]

    def start(arguments: Sequence[str], log: IO[bytes], lock: IO[bytes]) -> TrainingProcess:
        return subprocess.Popen(
            [*python, "one2set", *arguments],
            stdout=log,
            stderr=log,
            pass_fds=[lock.fileno()],
            start_new_session=True,  # only we receive Ctrl-C, and pass it on once
        )

    return start


class InterruptionError(Exception):
    """A signal stopped the command, and the training has saved a checkpoint."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


# --- Jobs -----------------------------------------------------------------------------------------


class TrainingRecord(BaseModel):
    """The outcome of a job's training, or of its tuning if it is not trained."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    examples_seen: int  # documents seen in training, counted again in every epoch
    seconds: float  # wall time of training over all sessions, with validation
    cpu_seconds: float  # of the sessions whose end we saw
    cpu_examples: int  # the examples in those sessions
    parameters: int
    null_bias: NullBias
    ended: datetime
    machine: str
    hardware: str = ""  # that its speed depends on; earlier versions did not record it
    versions: dict[str, str]


class JobFolder:
    """A job and its folder."""

    def __init__(self, job: Job, setup: Setup, root: Path) -> None:
        self.job, self._setup, self._root = job, setup, root
        self.folder = root / job.name
        self.run = self.folder / "run"

    # --- State ------------------------------------------------------------------------------------

    @property
    def _record_path(self) -> Path:
        return self.folder / "training.json"

    def _measured_path(self, split: str, kind: str) -> Path:
        return self.folder / "measured" / f"{split}.{kind}"

    def done(self, splits: Sequence[str]) -> bool:
        """Whether it is trained, and measured on these sets."""
        return self.trained() and not self.unmeasured(splits)

    def trained(self) -> bool:
        """Whether it is trained, or tuned."""
        return self._record_path.exists()

    def unmeasured(self, splits: Sequence[str]) -> list[str]:
        """The sets on which it is not measured yet."""
        return [
            split
            for split in splits
            if not all(self._measured_path(split, kind).exists() for kind in ("json", "npz"))
        ]

    def training_record(self) -> TrainingRecord:
        return TrainingRecord.model_validate_json(self._record_path.read_bytes())

    def measured(self, split: str) -> Measured:
        return Measured.model_validate_json(self._measured_path(split, "json").read_bytes())

    def addends(self, split: str) -> DocumentAddends:
        """What each document adds to the metrics of a set."""
        with np.load(self._measured_path(split, "npz")) as arrays:
            return DocumentAddends(**arrays)

    def history(self) -> list[dict[str, Any]]:
        """The complete lines of the run's log."""
        path = self.run / "metrics.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [orjson.loads(line) for line in lines if line.endswith(b"\n")]

    def examples_seen(self) -> int:
        """The number of examples seen so far, from the log of the run."""
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

    # --- Work -------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[IO[bytes] | None]:
        """Lock the job for a block. Yields the lock, or None if another process has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / ".claim").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            yield lock

    def is_free(self) -> bool:
        """Whether no process works on it."""
        with self.locked() as lock:
            return lock is not None

    def train(self, lock: IO[bytes], start: Launch, *, tidy: bool) -> Iterator[int]:
        """Train, resume training, or tune. Yields the number of examples seen so far.

        With `tidy`, checkpoints are deleted at the end: those of a whole plan would fill a disk.
        """
        if self.trained():
            return
        self._describe()
        if self.job.row.decoding is not None:
            self._save_record(Progress())
            return
        if not has_ended(self.run, self._setup.corpus):
            yield from self._run_session(lock, start)
        run = Run.load(self.run)
        self._save_record(_read_progress(run))
        if tidy:
            _open_checkpoints(run).discard()

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

    def _run_session(self, lock: IO[bytes], start: Launch) -> Iterator[int]:
        """Train from where the run is to its end."""
        log_path, cpu_before = self.folder / "train.log", _get_children_cpu_seconds()
        # A killed run repeats the steps after its last checkpoint.
        before = _read_progress(Run.load(self.run)).documents if Run.exists(self.run) else 0
        pause, most = _POLL_SECONDS
        with catch_signals() as signals, log_path.open("ab") as log:
            child = start(self.command(), log, lock)
            while (code := child.poll()) is None:
                if signals:
                    child.terminate()
                    child.wait()
                    break
                yield self.examples_seen()
                time.sleep(pause)
                pause = min(pause * 1.3, most)
        session = {
            "cpu_seconds": _get_children_cpu_seconds() - cpu_before,
            "examples": self.examples_seen() - before,
        }
        with (self.folder / "sessions.jsonl").open("ab") as file:
            file.write(orjson.dumps(session, option=orjson.OPT_APPEND_NEWLINE))
        if signals:
            raise InterruptionError(signals[0])
        if code:
            lines = log_path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise DataError(
                f"{self.job.row.name} could not be trained:\n" + "\n".join(lines[-_LOG_LINES:]),
                fix="fix the cause and run the same command again",
                path=log_path,
            )

    def _sessions(self) -> list[dict[str, Any]]:
        path = self.folder / "sessions.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [orjson.loads(line) for line in lines]

    def _save_record(self, progress: Progress) -> None:
        engine, decoding, null_bias = self._engine(), self.job.row.decoding, AS_TRAINED
        if decoding is not None and decoding.tuned_bias:
            valid = load_documents(self._setup.corpus, VALID)
            null_bias = tune_null_bias(
                engine, [valid[i] for i in spread_indices(len(valid), _TUNING_DOCUMENTS)]
            )
        sessions = self._sessions()
        record = TrainingRecord(
            examples_seen=progress.documents,
            seconds=progress.seconds,
            cpu_seconds=sum(session["cpu_seconds"] for session in sessions),
            cpu_examples=sum(session["examples"] for session in sessions),
            parameters=sum(weight.numel() for weight in engine.network.parameters()),
            null_bias=null_bias,
            ended=datetime.now(UTC),
            machine=f"{platform.node()}, {platform.machine()}, {engine.device}",
            hardware=_describe_hardware(engine.device),
            versions={name: version(name) for name in ("one2set", "torch", "numpy")},
        )
        with atomic_file(self._record_path) as file:
            file.write(record.model_dump_json(indent=2).encode())

    def _engine(self) -> Engine:
        """The engine, with the search of the row and the threads of the training: two threads that
        share a busy machine spend most of their CPU time waiting for each other."""
        set_num_threads(self.job.config.machine.threads)
        engine, decoding = Engine.load(self.model), self.job.row.decoding
        if decoding is not None and decoding.beam > 1:
            engine.change_search({"beam": decoding.beam})
        if decoding is not None and decoding.exclusive is not None:
            engine.change_search({"exclusive": decoding.exclusive})
        return engine

    def measure(self, splits: Sequence[str]) -> Iterator[str]:
        """Measure on test sets. Yields the name of each before it is measured."""
        left = self.unmeasured(splits)
        if not left:
            return
        engine, null_bias = self._engine(), self.training_record().null_bias
        for split in left:
            yield split
            documents = load_documents(self._setup.corpus, split)
            measured, addends = measure(engine, documents, null_bias=null_bias)
            with atomic_file(self._measured_path(split, "npz")) as file:
                np.savez_compressed(file, **addends._asdict())
            with atomic_file(self._measured_path(split, "json")) as file:
                file.write(measured.model_dump_json(indent=2).encode())


def has_ended(folder: Path, corpus: Corpus) -> bool:
    """Whether there is a run, and it has ended."""
    if not Run.exists(folder):
        return False
    run = Run.load(folder)
    progress = _read_progress(run)
    done = progress.fraction_done(run.config.limits, epoch_documents=len(corpus.split(TRAIN)))
    return progress.stop_reason(done, run.config.validation) is not None


def _read_progress(run: Run) -> Progress:
    """How far a run has come."""
    checkpoints = _open_checkpoints(run)
    last = checkpoints.last()
    return Progress() if last is None else checkpoints.progress(last)


def _open_checkpoints(run: Run) -> Checkpoints:
    return Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint)


def _describe_hardware(device: torch.device) -> str:
    """The GPU, or the CPU and its widest instructions that torch uses."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    name, cpu_info = platform.processor(), Path("/proc/cpuinfo")
    if cpu_info.exists():
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = next(iter(names), name)
    return f"{name} {torch.backends.cpu.get_cpu_capability()}".strip()


def _get_children_cpu_seconds() -> float:
    """The CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
