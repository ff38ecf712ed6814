"""One optimizer step on a batch, in one process or several.

An objective returns the sum of its losses and the number of tokens to divide it by. A batch can be
split into micro-batches, which are computed one after another or by several processes. Their
gradients are added and divided by the tokens of the whole batch, so the result does not depend on
the split.

All random numbers of a step are derived from the seed, the step and the micro-batch. So neither a
restart nor the number of processes changes them, and there is no random state to save.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import get_total_norm

from one2set.data.batch import Batch
from one2set.data.example import Example
from one2set.errors import DataError
from one2set.model.device import choose_bfloat16, choose_device, set_num_threads
from one2set.model.layers import bfloat16_products, find_wide_linears
from one2set.training.batches import Indices, split_batch
from one2set.training.config import Config
from one2set.training.distributed import Processes
from one2set.training.optimizer import MovingAverage, build_optimizer, set_learning_rate


@runtime_checkable
class AlternatingObjective(Protocol):
    """An objective whose steps alternate between parts of its parameters."""

    def start_step(self, step: int) -> float:
        """Prepare for a step, counted from 0. Returns the factor of its learning rate."""


class Stepper:
    """An objective on its device, with its optimizer and its moving average."""

    def __init__(
        self,
        objective: nn.Module,
        collate: Callable[[Sequence[Example]], Batch],
        config: Config,
        *,
        seed: int,
        processes: Processes,
    ) -> None:
        self._device = choose_device(config.machine.device)
        self.bfloat16 = choose_bfloat16(self._device, config.machine.precision)
        set_num_threads(config.machine.threads)
        if self._device.type == "cpu":
            self.bfloat16 = self.bfloat16 and bool(find_wide_linears(objective))
        self.objective = objective.to(self._device).train()
        if config.machine.compile:
            self.objective.compile(dynamic=True)  # lengths differ from batch to batch
        self.average = MovingAverage(self.objective, decay=config.train.average_decay)
        self.optimizer = build_optimizer(self.objective, config.train)
        self._collate, self._clip_norm = collate, config.train.clip_norm
        self._seed, self._processes = seed, processes
        self._wrapped = processes.wrap(
            self.objective, find_unused_parameters=isinstance(objective, AlternatingObjective)
        )
        # At least as many micro-batches as configured, and the same number for every process.
        self._micro_batches = (
            math.ceil(config.train.micro_batches / processes.count) * processes.count
        )

    def autocast(self) -> AbstractContextManager[None]:
        """The context in which the objective computes, for one forward and backward pass or for
        passes without a gradient."""
        if self.bfloat16 and self._device.type == "cpu":
            return bfloat16_products(self.objective)
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self.bfloat16)

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Collate examples and move them to the objective's device."""
        return self._collate(examples).to(self._device)

    def step(
        self, examples: Sequence[Example], indices: Indices, *, number: int, learning_rate: float
    ) -> tuple[dict[str, float], int]:
        """Take step `number` (from 0) on the examples at `indices`.

        Returns the sums of the losses, and the number of tokens to divide them by.
        """
        if isinstance(self.objective, AlternatingObjective):
            learning_rate *= self.objective.start_step(number)
        losses, tokens = self._backward(examples, split_batch(indices, self._micro_batches), number)
        self._scale_gradients(tokens, [examples[index] for index in indices.tolist()], number)
        set_learning_rate(self.optimizer, learning_rate)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(number + 1)
        return losses, tokens

    def _backward(
        self, examples: Sequence[Example], micro_batches: Sequence[Indices], number: int
    ) -> tuple[dict[str, float], int]:
        """Accumulate the gradients of all micro-batches."""
        sums: dict[str, float] = {}
        tokens = 0.0
        loss_sums = [0.0] * len(micro_batches)
        own = range(self._processes.rank, len(micro_batches), self._processes.count)
        for at in own:
            # Processes exchange gradients with their last micro-batch, so each must have one. An
            # empty micro-batch is replaced by the first document of the batch with weight 0.
            indices, weight = micro_batches[at], 1
            if not len(indices):
                indices, weight = micro_batches[0][:1], 0
            batch = self.batch([examples[index] for index in indices.tolist()])
            torch.manual_seed(_derive_seed(self._seed, number, at))
            with self._synchronising(now=at == own[-1]), self.autocast():
                loss = self._wrapped(batch)
                (loss.sum * weight).backward()
            tokens += loss.tokens * weight
            loss_sums[at] = loss.sum.item() * weight
            for name, value in loss.parts.items():
                sums[name] = sums.get(name, 0.0) + value.item() * weight

        total, *numbers = self._processes.sum([tokens, *loss_sums, *sums.values()])
        loss_sums, part_sums = numbers[: len(micro_batches)], numbers[len(micro_batches) :]
        for indices, value in zip(micro_batches, loss_sums, strict=True):
            if not math.isfinite(value):
                suspects = [examples[index] for index in indices.tolist()]
                raise self._not_finite(f"the loss is {value}", suspects, number)
        return {"loss": sum(loss_sums), **dict(zip(sums, part_sums, strict=True))}, int(total)

    def _scale_gradients(self, tokens: int, examples: Sequence[Example], number: int) -> None:
        """Divide the gradient of the summed loss by the tokens, and clip it, in one pass."""
        weights = self.objective.parameters()
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        to_mean = self._processes.count / tokens  # the processes' gradients are averaged already
        norm = get_total_norm(gradients).item() * to_mean
        if not math.isfinite(norm):
            raise self._not_finite(f"the gradient's norm is {norm}", examples, number)
        clip = min(1.0, self._clip_norm / (norm + 1e-6))
        torch._foreach_mul_(gradients, to_mean * clip)

    @contextmanager
    def _synchronising(self, *, now: bool) -> Iterator[None]:
        """Within the block, `backward` averages gradients over the processes if `now`; otherwise it
        only accumulates this process's own."""
        if now or not isinstance(self._wrapped, DistributedDataParallel):
            yield
        else:
            with self._wrapped.no_sync():
                yield

    def _not_finite(self, what: str, examples: Sequence[Example], number: int) -> DataError:
        """The error for a loss or gradient that is not finite; names the documents responsible."""
        with torch.no_grad(), self.autocast():
            losses = [self.objective(self.batch([example])).sum for example in examples]
        guilty = [e for e, loss in zip(examples, losses, strict=True) if not loss.isfinite()]
        names = ", ".join(example.id for example in guilty or examples)
        return DataError(
            f"{what} at step {number + 1}; documents: {names}",
            fix="the last checkpoint is intact: remove these documents, or continue with --resume "
            "and a lower learning rate (--set train.learning_rate=…)",
        )


def _derive_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
