"""How far a run has come, what learning rate that means, and whether it should go on."""

import math
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel

from one2set.settings import Limits, Train, Validation

_SMALLEST_CUT = 1e-8  # the authors halve the learning rate only by more than this


class Progress(BaseModel):
    """The numbers that say where a run is. They are saved with every checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    documents: int = 0
    seconds: float = 0.0  # of training, over all sittings
    validated: int = 0  # the step of the last validation
    best: float | None = None  # the loss or the F1 that the best weights had
    best_loss: float | None = None  # their loss in any case
    best_step: int = 0
    misses: int = 0  # validations since
    scale: float = 1.0  # what plateaus have made of the learning rate
    # Of each loss, its sum and its tokens since the last line of the log.
    recent: dict[str, tuple[float, int]] = {}

    @property
    def epochs_begun(self) -> int:
        return self.epoch + (self.batch > 0)

    def advance(self, *, documents: int, last: bool) -> None:
        """A step is done, perhaps the last one of its epoch."""
        self.step += 1
        self.documents += documents
        self.epoch, self.batch = (self.epoch + 1, 0) if last else (self.epoch, self.batch + 1)

    def add(self, losses: Mapping[str, float], tokens: int) -> None:
        """Remember a step's losses for the log; not every step has all of them."""
        for name, value in losses.items():
            before, count = self.recent.get(name, (0.0, 0))
            self.recent[name] = (before + value, count + tokens)

    def mean_losses(self) -> dict[str, float]:
        """The losses per token since this was last asked."""
        means = {name: value / tokens for name, (value, tokens) in self.recent.items()}
        self.recent.clear()
        return means

    def judge(self, figures: Mapping[str, float], settings: Validation, train: Train) -> bool:
        """Take note of a validation; whether it is the best so far. Of equal F1s, the one with the
        lower loss is better: a network that cannot say anything right yet may still be learning."""
        self.validated = self.step
        value, loss = figures[settings.select_by], figures["loss"]
        sign = 1 if settings.select_by == "loss" else -1
        lowest = math.inf if self.best is None else sign * self.best
        lowest_loss = math.inf if self.best_loss is None else self.best_loss
        # Not a number is never better.
        if (sign * value, loss) < (lowest, lowest_loss):
            self.best, self.best_loss, self.best_step, self.misses = value, loss, self.step, 0
            return True
        self.misses += 1
        if train.schedule == "plateau":
            rate = train.learning_rate * self.scale
            if rate / 2 > _SMALLEST_CUT:
                self.scale /= 2
        return False

    def learning_rate(self, done: float, settings: Train) -> float:
        """The rate of the next step, where `done` of the run is behind us."""
        match settings.schedule:
            case "linear":
                shape = 1 - done
            case "cosine":
                shape = (1 + math.cos(math.pi * done)) / 2
            case _:
                shape = self.scale
        if self.step < settings.warmup_steps:
            shape *= (self.step + 1) / settings.warmup_steps
        return settings.learning_rate * shape

    def done(self, limits: Limits, *, epoch_documents: int) -> float:
        """The part of the run that is behind us, from 0 to 1; the nearest limit counts."""
        parts = [
            (self.step, limits.steps),
            (self.documents, limits.documents),
            (self.documents, limits.epochs * epoch_documents),
            (self.seconds, limits.minutes * 60),
        ]
        return min(1.0, max(value / limit for value, limit in parts if limit))

    def ending(self, done: float, settings: Validation) -> Literal["limit", "patience"] | None:
        """Why the run is over, if it is."""
        if done >= 1:
            return "limit"
        if settings.patience and self.misses >= settings.patience:
            return "patience"
        return None
