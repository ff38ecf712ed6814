"""The processes of distributed training.

`torchrun` starts the processes and sets the rank of each in the environment. Without it there is a
single process, and every operation here is trivial. Gradients are reduced with nccl on CUDA
devices; everything else uses gloo on the CPU.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from one2set.errors import ConfigError, One2SetError
from one2set.model.device import get_local_rank

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Processes:
    """The process group of a run: the rank of this process and the number of processes."""

    rank: int
    count: int

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0, the process that writes files."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """All-reduce: the elementwise sum over all processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()

    def gather(self, value: Value) -> list[Value]:
        """All-gather: the values of all processes, in order of rank."""
        if self.count == 1:
            return [value]
        gathered: list[Value | None] = [None] * self.count
        dist.all_gather_object(gathered, value)
        return gathered  # type: ignore[return-value]

    def on_main(self, action: Callable[[], Value]) -> Value:
        """Run `action` in rank 0 while the others wait. All processes return its result, or raise
        its error if it is a One2SetError."""
        if self.count == 1:
            return action()
        sent: list[Value | str | None] = [None, None]  # result, error
        failure = None
        if self.is_main:
            try:
                sent[0] = action()
            except One2SetError as error:
                sent[1], failure = str(error), error
        dist.broadcast_object_list(sent)
        if sent[1] is not None:
            raise failure or One2SetError(sent[1])
        return sent[0]  # type: ignore[return-value]

    def wrap(self, objective: nn.Module, *, find_unused_parameters: bool = False) -> nn.Module:
        """Average gradients over the processes. `find_unused_parameters` is needed if a step leaves
        some parameters without a gradient."""
        if self.count == 1:
            return objective
        # Bucket views save a copy of the gradients.
        return DistributedDataParallel(
            objective,
            gradient_as_bucket_view=True,
            find_unused_parameters=find_unused_parameters,
        )


@contextmanager
def join_processes() -> Iterator[Processes]:
    """Join the process group that `torchrun` started; leave it at the end of the block."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes(0, 1)
        return
    if not dist.is_available():
        raise ConfigError("this build of torch has no torch.distributed; run a single process")
    if torch.cuda.is_available():
        torch.cuda.set_device(get_local_rank())
        dist.init_process_group("cpu:gloo,cuda:nccl")
    else:
        dist.init_process_group("gloo")
    try:
        yield Processes(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()
