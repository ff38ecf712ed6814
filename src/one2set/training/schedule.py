"""The progress of a run, its learning rate, and when it stops."""

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel

from one2set.training.config import LimitSettings, TrainSettings, ValidationSettings

_MIN_DECREASE = 1e-8  # the authors do not lower the learning rate by less than this


class Progress(BaseModel):
    """How far a run has come. Saved with every checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # completed batches of this epoch
    documents: int = 0  # examples seen, over all epochs
    seconds: float = 0.0  # of training, over all sessions
    validated: int = 0  # the step of the last validation
    best: float | None = None  # loss or F1 of the best weights, depending on `select_by`
    best_loss: float | None = None  # their loss
    best_step: int = 0
    validations_without_improvement: int = 0  # since the best one
    lr_factor: float = 1.0  # the learning rate's factor in the plateau schedule
    # The sum and the number of tokens of each loss since the last line of the log.
    recent: dict[str, tuple[float, int]] = {}

    @property
    def epochs_started(self) -> int:
        return self.epoch + (self.batch > 0)

    def advance(self, *, documents: int, last: bool) -> None:
        """Count a step; `last` if it ends its epoch."""
        self.step += 1
        self.documents += documents
        self.epoch, self.batch = (self.epoch + 1, 0) if last else (self.epoch, self.batch + 1)

    def add(self, losses: Mapping[str, float], tokens: int) -> None:
        """Add a step's losses to the log's sums. Not every step has all of them."""
        for name, value in losses.items():
            before, count = self.recent.get(name, (0.0, 0))
            self.recent[name] = (before + value, count + tokens)

    def pop_mean_losses(self) -> dict[str, float]:
        """Return the mean losses per token since the last call, and reset the sums."""
        means = {name: value / tokens for name, (value, tokens) in self.recent.items()}
        self.recent.clear()
        return means

    def record_validation(
        self, metrics: Mapping[str, float], settings: ValidationSettings, train: TrainSettings
    ) -> bool:
        """Record the result of a validation. Returns whether it is the best so far.

        If two have the same F1, the one with the lower loss is better: a network that generates
        nothing correct yet may still be learning.
        """
        self.validated = self.step
        value, loss = metrics[settings.select_by], metrics["loss"]
        sign = 1 if settings.select_by == "loss" else -1
        lowest = math.inf if self.best is None else sign * self.best
        lowest_loss = math.inf if self.best_loss is None else self.best_loss
        # NaN is never better.
        if (sign * value, loss) < (lowest, lowest_loss):
            self.best, self.best_loss, self.best_step = value, loss, self.step
            self.validations_without_improvement = 0
            return True
        self.validations_without_improvement += 1
        if train.schedule == "plateau":
            rate = train.learning_rate * self.lr_factor
            if rate / 2 > _MIN_DECREASE:
                self.lr_factor /= 2
        return False

    def learning_rate(self, fraction_done: float, settings: TrainSettings) -> float:
        """The learning rate of the next step."""
        match settings.schedule:
            case "linear":
                factor = 1 - fraction_done
            case "cosine":
                factor = (1 + math.cos(math.pi * fraction_done)) / 2
            case _:
                factor = self.lr_factor
        if self.step < settings.warmup_steps:
            factor *= (self.step + 1) / settings.warmup_steps
        return settings.learning_rate * factor

    def fraction_done(self, limits: LimitSettings, *, epoch_documents: int) -> float:
        """The completed fraction of the run, from 0 to 1, by the limit that is nearest."""
        pairs = [
            (self.step, limits.steps),
            (self.documents, limits.documents),
            (self.documents, limits.epochs * epoch_documents),
            (self.seconds, limits.minutes * 60),
        ]
        return min(1.0, max(value / limit for value, limit in pairs if limit))

    def stop_reason(
        self, fraction_done: float, settings: ValidationSettings
    ) -> Literal["limit", "patience"] | None:
        """Why the run should stop; None if it should go on."""
        if fraction_done >= 1:
            return "limit"
        if 0 < settings.patience <= self.validations_without_improvement:
            return "patience"
        return None
