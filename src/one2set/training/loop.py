"""The training loop of all systems: step, validate, save, until a limit is reached.

`train` yields events, which the command line prints.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from one2set.data.corpus.corpus import spread_indices
from one2set.training.batches import Batches
from one2set.training.checkpoint import Checkpoints
from one2set.training.distributed import Processes
from one2set.training.interruption import catch_signals
from one2set.training.runlog import RunLog
from one2set.training.schedule import Progress
from one2set.training.step import Stepper
from one2set.training.task import Task
from one2set.training.validation import Validator

# --- Events ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A training step."""

    step: int
    epoch: int  # from 1
    losses: dict[str, float]  # per token
    learning_rate: float
    fraction_done: float  # of the run, from 0 to 1
    documents_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Validated:
    """A validation."""

    step: int
    metrics: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Message:
    """A message for the user."""

    text: str


@dataclass(frozen=True)
class Ended:
    """The last event. `signal` is the signal that interrupted the run, if any."""

    reason: Literal["limit", "patience", "interrupted"]
    progress: Progress
    signal: int | None = None


Event = Step | Validated | Message | Ended


def train(task: Task, *, processes: Processes) -> Iterator[Event]:
    """Train until a limit is reached, patience runs out or a signal arrives. The run can then be
    resumed."""
    with catch_signals() as signals, _flush_denormals():
        trainer = _Trainer(task, processes, signals)
        yield from map(Message, trainer.resume())
        while True:
            if trainer.should_validate():
                validated = trainer.validate()
                if validated is not None:
                    yield validated
            reason = trainer.stop_reason()
            if reason is not None:
                trainer.save()
                trainer.finish()
                yield Ended(reason, trainer.progress, signals[0] if signals else None)
                return
            if trainer.should_save():
                trainer.save()
            yield trainer.step()


@contextmanager
def _flush_denormals() -> Iterator[None]:
    """Within the block, denormal numbers are flushed to zero: computing with them is slow."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class _Trainer:
    """The state of a run, and the operations of `train`."""

    def __init__(self, task: Task, processes: Processes, signals: Sequence[int]) -> None:
        run, built = task.run, task.built
        self._task, self._run, self._config = task, run, run.config
        self._processes, self._signals = processes, signals
        self._interrupted = False
        self._stepper = Stepper(
            built.objective, built.collate, run.config, seed=run.metadata.seed, processes=processes
        )
        self._checkpoints = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint)
        batches = partial(
            Batches,
            documents=run.config.train.batch_documents,
            tokens=run.config.train.batch_tokens,
            pool=run.config.train.pool_batches,
            seed=run.metadata.seed,
        )
        self._batches = batches(task.train.source_lengths())
        chosen = spread_indices(len(task.valid), run.config.validation.documents)
        self._validator = Validator(
            objective=built.objective,
            examples=[task.valid[index] for index in chosen],
            batches=batches(task.valid.source_lengths()[chosen]),
            collate=self._stepper.batch,
            generate=task.generate,
            vocabulary=task.vocabulary,
            processes=processes,
        )

    def resume(self) -> list[str]:
        """Load the last checkpoint, if there is one. Returns messages for the user."""
        path, messages = self._processes.on_main(self._checkpoints.find)
        if self._stepper.bfloat16 and self._config.machine.precision == "auto":
            messages.append(
                "computing in bfloat16, which this machine supports natively; "
                "for float32, pass --set machine.precision=float32"
            )
        self.progress = Progress()
        if path is not None:
            self.progress = self._checkpoints.load(path, self._stepper)
            messages.append(f"resuming from {path}")
        self._saved = self.progress.model_copy(deep=True)
        self._epoch = self._batches.epoch(self.progress.epoch)
        self._clock = _Clock(self.progress, self._fraction_done())
        self._log = (
            RunLog(self._run.folder, self._config.logging, self.progress)
            if self._processes.is_main
            else None
        )
        return messages

    def step(self) -> Step:
        """Train on the next batch."""
        progress = self.progress
        learning_rate = progress.learning_rate(self._fraction_done(), self._config.train)
        batch = self._epoch[progress.batch]
        losses, tokens = self._stepper.step(
            self._task.train,
            batch,
            number=progress.step,
            learning_rate=learning_rate,
        )
        progress.advance(documents=len(batch), last=progress.batch + 1 == len(self._epoch))
        if progress.batch == 0:
            self._epoch = self._batches.epoch(progress.epoch)
        self._synchronise()

        progress.add(losses, tokens)
        fraction_done, speed = (
            self._fraction_done(),
            self._clock.documents_per_second(progress.documents),
        )
        if progress.step % self._config.logging.log_steps == 0:
            row = progress.pop_mean_losses() | {
                "learning_rate": learning_rate,
                "epoch": progress.epoch,
                "documents": progress.documents,
                "documents_per_second": speed,
                "seconds": progress.seconds,
            }
            if self._log is not None:
                self._log.write("train", progress.step, row)
        return Step(
            step=progress.step,
            epoch=progress.epochs_started,
            losses={name: value / tokens for name, value in losses.items()},
            learning_rate=learning_rate,
            fraction_done=fraction_done,
            documents_per_second=speed,
            seconds_left=self._clock.seconds_left(fraction_done),
        )

    def _synchronise(self) -> None:
        """All processes use the clock of the first, and all stop when one receives a signal."""
        seconds = self._clock.seconds() if self._processes.is_main else 0.0
        self.progress.seconds, signals = self._processes.sum([seconds, len(self._signals)])
        self._interrupted = signals > 0

    def should_validate(self) -> bool:
        """Whether a validation is due: at the end of the run, or as configured."""
        progress, settings = self.progress, self._config.validation
        if not len(self._task.valid) or progress.validated == progress.step or self._interrupted:
            return False
        if self._fraction_done() >= 1:
            return True
        if progress.epochs_started < settings.first_epoch:
            return False
        return progress.step % settings.every == 0 if settings.every else progress.batch == 0

    def validate(self) -> Validated | None:
        """Validate the averaged weights, and save them as the model if they are the best so far.

        None if interrupted; the validation is then repeated when the run is resumed.
        """
        torch.manual_seed(self._run.metadata.seed)
        with self._stepper.average.applied():
            with self._stepper.autocast():
                metrics = self._validator.run(stopped=lambda: bool(self._signals))
            if metrics is None:
                self._interrupted = True
                return None
            best = self.progress.record_validation(
                metrics, self._config.validation, self._config.train
            )
            if best:
                self._processes.on_main(self._task.save)
        if self._log is not None:
            self._log.write("valid", self.progress.step, metrics)
            self._log.draw()
        return Validated(self.progress.step, metrics, best)

    def stop_reason(self) -> Literal["limit", "patience", "interrupted"] | None:
        """Why the run should stop; None if it should go on."""
        if self._interrupted:
            return "interrupted"
        return self.progress.stop_reason(self._fraction_done(), self._config.validation)

    def should_save(self) -> bool:
        """Whether a checkpoint is due, by steps or by the clock."""
        settings, progress = self._config.logging, self.progress
        if progress.step == self._saved.step:
            return False
        minutes = (progress.seconds - self._saved.seconds) / 60
        by_steps = settings.checkpoint_steps and progress.step % settings.checkpoint_steps == 0
        return bool(by_steps or 0 < settings.checkpoint_minutes <= minutes)

    def save(self) -> None:
        """Write a checkpoint, unless nothing changed since the last one."""
        if self.progress != self._saved:
            self._processes.on_main(lambda: self._checkpoints.save(self.progress, self._stepper))
            self._saved = self.progress.model_copy(deep=True)

    def finish(self) -> None:
        """Close the log. Without validation documents, the final weights are the model."""
        if not len(self._task.valid) and not self._interrupted:
            with self._stepper.average.applied():
                self._processes.on_main(self._task.save)
            if self._log is not None:
                self._log.draw()
        if self._log is not None:
            self._log.close()

    def _fraction_done(self) -> float:
        return self.progress.fraction_done(
            self._config.limits, epoch_documents=len(self._task.train)
        )


class _Clock:
    """Training time over all sessions, and the speed and remaining time of this one."""

    def __init__(self, progress: Progress, fraction_done: float) -> None:
        self._started = time.monotonic()
        self._seconds_before, self._fraction_before = progress.seconds, fraction_done
        self._recent = [(self._started, progress.documents)]

    def seconds(self) -> float:
        return self._seconds_before + time.monotonic() - self._started

    def documents_per_second(self, documents: int) -> float:
        """The mean speed of the last 20 steps."""
        self._recent = [*self._recent[-20:], (time.monotonic(), documents)]
        (start, before), (end, after) = self._recent[0], self._recent[-1]
        return (after - before) / max(end - start, 1e-9)

    def seconds_left(self, fraction_done: float) -> float:
        elapsed = time.monotonic() - self._started
        return elapsed * (1 - fraction_done) / max(fraction_done - self._fraction_before, 1e-9)
