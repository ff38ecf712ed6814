"""The loop that trains every system. It knows an objective, a network's phrases, and no system.

It tells what happens as it goes; who listens may print it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import nn

from one2set.data.batch import Batch
from one2set.data.corpus.corpus import Split
from one2set.data.example import Example
from one2set.data.vocabulary import Vocabulary
from one2set.distributed import Processes
from one2set.training.batches import Batches
from one2set.training.checkpoint import Checkpoints
from one2set.training.interruption import interruption
from one2set.training.run import Run
from one2set.training.runlog import RunLog
from one2set.training.schedule import Progress
from one2set.training.step import Stepper
from one2set.training.validation import Generate, Validator, spread


@dataclass(frozen=True)
class Task:
    """What is to be learnt, and from what."""

    objective: nn.Module  # forward(batch) → Loss
    collate: Callable[[Sequence[Example]], Batch]
    generate: Generate  # the phrases by which the network is judged in validation
    save: Callable[[], None]  # write the model folder, in place of the one before it
    vocabulary: Vocabulary
    train: Split  # of which batches are made
    at_step: Callable[[int], Sequence[Example]]  # the same as a step, from 0, sees them
    valid: Split


# --- What the loop tells --------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A step is done."""

    progress: Progress
    losses: dict[str, float]  # per token
    learning_rate: float
    done: float  # of the run, from 0 to 1
    documents_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Validated:
    """A validation is done."""

    step: int
    figures: dict[str, float]
    best: bool


@dataclass(frozen=True)
class Remark:
    """Something that a user should know."""

    text: str


@dataclass(frozen=True)
class Ended:
    """The last that is told. `signal` is what interrupted the run."""

    reason: Literal["limit", "patience", "interrupted"]
    progress: Progress
    signal: int | None = None


Event = Step | Validated | Remark | Ended


def train(task: Task, run: Run, *, processes: Processes) -> Iterator[Event]:
    """Train until a limit, until patience ends or until interrupted, then be ready to go on."""
    with interruption() as signals, _without_denormals():
        trainer = _Trainer(task, run, processes, signals)
        yield from map(Remark, trainer.resume())
        while True:
            if trainer.must_validate():
                validated = trainer.validate()
                if validated is not None:
                    yield validated
            reason = trainer.ending()
            if reason is not None:
                trainer.save()
                trainer.finish()
                yield Ended(reason, trainer.progress, signals[0] if signals else None)
                return
            if trainer.must_save():
                trainer.save()
            yield trainer.step()


@contextmanager
def _without_denormals() -> Iterator[None]:
    """Numbers too small to be normal are as slow as they are small: take them for 0 meanwhile."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class _Trainer:
    """The parts of a run, and what `train` does with them."""

    def __init__(self, task: Task, run: Run, processes: Processes, signals: Sequence[int]) -> None:
        self._task, self._run, self._config = task, run, run.config
        self._processes, self._signals = processes, signals
        self._interrupted = False
        self._stepper = Stepper(
            task.objective, task.collate, run.config, seed=run.facts.seed, processes=processes
        )
        self._checkpoints = Checkpoints(run.checkpoints, owner=run.owner)
        batches = partial(
            Batches,
            documents=run.config.train.batch_documents,
            tokens=run.config.train.batch_tokens,
            pool=run.config.train.pool_batches,
            seed=run.facts.seed,
        )
        self._batches = batches(task.train.source_lengths())
        chosen = spread(len(task.valid), run.config.validation.documents)
        self._validator = Validator(
            objective=task.objective,
            examples=[task.valid[index] for index in chosen],
            batches=batches(task.valid.source_lengths()[chosen]),
            collate=self._stepper.batch,
            generate=task.generate,
            vocabulary=task.vocabulary,
            processes=processes,
        )

    def resume(self) -> list[str]:
        """Go to where the last checkpoint is, or to the start; and what there is to say of it."""
        path, remarks = self._processes.on_main(self._checkpoints.find)
        self.progress = Progress()
        if path is not None:
            self.progress = self._checkpoints.load(path, self._stepper)
            remarks.append(f"continuing from {path}")
        self._saved = self.progress.model_copy(deep=True)
        self._epoch = self._batches.epoch(self.progress.epoch)
        self._clock = _Clock(self.progress, self._done())
        self._log = (
            RunLog(self._run.folder, self._config.record, self.progress)
            if self._processes.is_main
            else None
        )
        return remarks

    def step(self) -> Step:
        """One batch, one change of the weights."""
        progress = self.progress
        rate = progress.learning_rate(self._done(), self._config.train)
        batch = self._epoch[progress.batch]
        losses, tokens = self._stepper.step(
            self._task.at_step(progress.step), batch, number=progress.step, rate=rate
        )
        progress.advance(documents=len(batch), last=progress.batch + 1 == len(self._epoch))
        if progress.batch == 0:
            self._epoch = self._batches.epoch(progress.epoch)
        self._agree()

        progress.add(losses, tokens)
        done, speed = self._done(), self._clock.documents_per_second(progress.documents)
        if progress.step % self._config.record.log_steps == 0:
            row = progress.mean_losses() | {
                "learning_rate": rate,
                "epoch": progress.epoch,
                "documents": progress.documents,
                "documents_per_second": speed,
                "seconds": progress.seconds,
            }
            if self._log is not None:
                self._log.write("train", progress.step, row)
        return Step(
            progress=progress.model_copy(),
            losses={name: value / tokens for name, value in losses.items()},
            learning_rate=rate,
            done=done,
            documents_per_second=speed,
            seconds_left=self._clock.seconds_left(done),
        )

    def _agree(self) -> None:
        """All processes go by the first one's clock, and stop when one of them is asked to."""
        seconds = self._clock.seconds() if self._processes.is_main else 0.0
        self.progress.seconds, asked = self._processes.sum([seconds, len(self._signals)])
        self._interrupted = asked > 0

    def must_validate(self) -> bool:
        """At the end, and when it is time."""
        progress, settings = self.progress, self._config.validation
        if not len(self._task.valid) or progress.validated == progress.step or self._interrupted:
            return False
        if self._done() >= 1:
            return True
        if progress.epochs_begun < settings.first_epoch:
            return False
        return progress.step % settings.every == 0 if settings.every else progress.batch == 0

    def validate(self) -> Validated | None:
        """Measure the averaged weights; if they are the best yet, they are the model. None when
        interrupted: the validation is then made when the run is resumed."""
        torch.manual_seed(self._run.facts.seed)
        with self._stepper.average.applied():
            with self._stepper.autocast():
                figures = self._validator.run(stopped=lambda: bool(self._signals))
            if figures is None:
                self._interrupted = True
                return None
            best = self.progress.judge(figures, self._config.validation, self._config.train)
            if best:
                self._processes.on_main(self._task.save)
        if self._log is not None:
            self._log.write("valid", self.progress.step, figures)
            self._log.draw()
        return Validated(self.progress.step, figures, best)

    def ending(self) -> Literal["limit", "patience", "interrupted"] | None:
        """Why the run is over, if it is."""
        if self._interrupted:
            return "interrupted"
        return self.progress.ending(self._done(), self._config.validation)

    def must_save(self) -> bool:
        """Whether a checkpoint is due, by steps or by the clock."""
        settings, progress = self._config.record, self.progress
        if progress.step == self._saved.step:
            return False
        minutes = (progress.seconds - self._saved.seconds) / 60
        by_steps = settings.checkpoint_steps and progress.step % settings.checkpoint_steps == 0
        return bool(by_steps or 0 < settings.checkpoint_minutes <= minutes)

    def save(self) -> None:
        """Write a checkpoint, unless nothing has happened since the last one."""
        if self.progress != self._saved:
            self._processes.on_main(lambda: self._checkpoints.save(self.progress, self._stepper))
            self._saved = self.progress.model_copy(deep=True)

    def finish(self) -> None:
        """Without validation, the last weights are the model."""
        if not len(self._task.valid) and not self._interrupted:
            with self._stepper.average.applied():
                self._processes.on_main(self._task.save)
            if self._log is not None:
                self._log.draw()
        if self._log is not None:
            self._log.close()

    def _done(self) -> float:
        return self.progress.done(self._config.limits, epoch_documents=len(self._task.train))


class _Clock:
    """Seconds of training over all sittings, and what this one lets us expect."""

    def __init__(self, progress: Progress, done: float) -> None:
        self._started = time.monotonic()
        self._before, self._done = progress.seconds, done
        self._recent = [(self._started, progress.documents)]

    def seconds(self) -> float:
        return self._before + time.monotonic() - self._started

    def documents_per_second(self, documents: int) -> float:
        """Over the last steps."""
        self._recent = [*self._recent[-20:], (time.monotonic(), documents)]
        (start, before), (end, after) = self._recent[0], self._recent[-1]
        return (after - before) / max(end - start, 1e-9)

    def seconds_left(self, done: float) -> float:
        passed = time.monotonic() - self._started
        return passed * (1 - done) / max(done - self._done, 1e-9)
