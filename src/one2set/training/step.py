"""One step: from a batch to changed weights, in one process or several.

An objective gives the sum of its losses, and the number of tokens to divide it by. A batch can be
computed in shares, one after another or by several processes: the gradients of the sums add up and
are divided by the tokens of the whole batch, so the step is that of the whole batch.

Everything random in a step is drawn from the seed, the step and the share. So neither a restart nor
the number of processes changes it, and there is no random state to save.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import get_total_norm

from one2set.config import Config
from one2set.data.batch import Batch
from one2set.data.example import Example
from one2set.distributed import Processes, autocast, choose_device, set_num_threads
from one2set.errors import DataError
from one2set.training.average import Average
from one2set.training.batches import Indices, deal


@runtime_checkable
class Staged(Protocol):
    """An objective with several kinds of steps, each of which changes some of the weights."""

    def begin(self, step: int) -> float:
        """Prepare for a step, counted from 0; what its learning rate is to be multiplied by."""


class Stepper:
    """An objective on its device, its optimiser and its averaged weights."""

    def __init__(
        self,
        objective: nn.Module,
        collate: Callable[[Sequence[Example]], Batch],
        config: Config,
        *,
        seed: int,
        processes: Processes,
    ) -> None:
        set_num_threads(config.machine.threads)
        self._device = choose_device(config.machine.device)
        self.autocast = partial(autocast, self._device, config.machine.precision)
        self.objective = objective.to(self._device).train()
        if config.machine.compile:
            self.objective.compile(dynamic=True)  # every batch has other lengths
        self.average = Average(self.objective, decay=config.train.average_decay)
        self.optimizer = torch.optim.Adam(
            _groups(self.objective, encoder_rate=config.train.encoder_rate),
            lr=config.train.learning_rate,
            betas=(config.train.beta1, config.train.beta2),
            eps=config.train.epsilon,
            fused=True,  # ten times as fast on a CPU
        )
        self._collate, self._clip_norm = collate, config.train.clip_norm
        self._seed, self._processes = seed, processes
        self._wrapped = processes.wrap(self.objective, staged=isinstance(objective, Staged))
        # As many shares as asked for, and equally many for every process.
        self._shares = math.ceil(config.train.shares / processes.count) * processes.count

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Examples on the objective's device."""
        return self._collate(examples).to(self._device)

    def step(
        self, examples: Sequence[Example], indices: Indices, *, number: int, rate: float
    ) -> tuple[dict[str, float], int]:
        """Take step `number` (from 0) on some of the examples. The losses, as sums, and the tokens
        they are to be divided by."""
        if isinstance(self.objective, Staged):
            rate *= self.objective.begin(number)
        losses, tokens = self._backward(examples, deal(indices, self._shares), number)
        self._scale_gradients(tokens, [examples[index] for index in indices.tolist()], number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(number + 1)
        return losses, tokens

    def _backward(
        self, examples: Sequence[Example], shares: Sequence[Indices], number: int
    ) -> tuple[dict[str, float], int]:
        """Add up the gradients of all shares."""
        sums: dict[str, float] = {}
        tokens = 0.0
        by_share = [0.0] * len(shares)
        mine = range(self._processes.rank, len(shares), self._processes.count)
        for share in mine:
            # Gradients travel with a process's last share, and every process must have one: in
            # place of an empty share, the batch's first document without any weight.
            indices, weight = (shares[share], 1) if len(shares[share]) else (shares[0][:1], 0)
            batch = self.batch([examples[index] for index in indices.tolist()])
            torch.manual_seed(_random_seed(self._seed, number, share))
            with self._gathering(now=share == mine[-1]), self.autocast():
                loss = self._wrapped(batch)
                (loss.sum * weight).backward()
            tokens += loss.tokens * weight
            by_share[share] = loss.sum.item() * weight
            for name, value in loss.parts.items():
                sums[name] = sums.get(name, 0.0) + value.item() * weight

        total, *numbers = self._processes.sum([tokens, *by_share, *sums.values()])
        by_share, of_parts = numbers[: len(shares)], numbers[len(shares) :]
        for indices, value in zip(shares, by_share, strict=True):
            if not math.isfinite(value):
                blamed = [examples[index] for index in indices.tolist()]
                raise self._not_finite(f"the loss is {value}", blamed, number)
        return {"loss": sum(by_share), **dict(zip(sums, of_parts, strict=True))}, int(total)

    def _scale_gradients(self, tokens: int, examples: Sequence[Example], number: int) -> None:
        """Turn the gradient of a sum into that of a mean over tokens, clipped, in one pass."""
        weights = self.objective.parameters()
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        to_mean = self._processes.count / tokens  # the processes' gradients are averaged already
        norm = get_total_norm(gradients).item() * to_mean
        if not math.isfinite(norm):
            raise self._not_finite(f"the gradient's norm is {norm}", examples, number)
        clip = min(1.0, self._clip_norm / (norm + 1e-6))
        torch._foreach_mul_(gradients, to_mean * clip)

    @contextmanager
    def _gathering(self, *, now: bool) -> Iterator[None]:
        """Within the block gradients are averaged over the processes, or only added to our own."""
        if now or not isinstance(self._wrapped, DistributedDataParallel):
            yield
        else:
            with self._wrapped.no_sync():
                yield

    def _not_finite(self, what: str, examples: Sequence[Example], number: int) -> DataError:
        """The error for a step that cannot be taken; it names the documents that are to blame."""
        with torch.no_grad(), self.autocast():
            losses = [self.objective(self.batch([example])).sum for example in examples]
        guilty = [e for e, loss in zip(examples, losses, strict=True) if not loss.isfinite()]
        names = ", ".join(example.id for example in guilty or examples)
        return DataError(
            f"{what} at step {number + 1}; documents: {names}",
            fix="the last checkpoint is as it was: leave these documents out, or continue with "
            "--resume and a lower rate (--set train.learning_rate=…)",
        )


def _groups(objective: nn.Module, *, encoder_rate: float) -> list[dict[str, Any]]:
    """The weights that learn, by what their learning rate is multiplied by."""
    by_factor: dict[float, list[nn.Parameter]] = {encoder_rate: [], 1.0: []}
    for name, weight in objective.named_parameters():
        if weight.requires_grad:
            by_factor[encoder_rate if name.startswith("network.encoder.") else 1.0].append(weight)
    return [{"params": weights, "factor": factor} for factor, weights in by_factor.items()]


def _random_seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
