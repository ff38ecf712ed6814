"""What we compute on, and with whom: several processes as one, devices, threads, precision.

`torchrun` starts the processes and tells each its rank in the environment. Without it there is one,
and everything here is trivial. Small numbers travel by gloo over the CPU; gradients by nccl on CUDA
devices, otherwise by gloo as well.
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
from one2set.parallel import cores

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes of a run, seen from one of them."""

    rank: int
    count: int

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """The sum over all processes, number by number; the same in each of them."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(total)
        return total.tolist()

    def gather(self, value: Value) -> list[Value]:
        """Every process's value, in every process."""
        if self.count == 1:
            return [value]
        gathered: list[Value | None] = [None] * self.count
        dist.all_gather_object(gathered, value)
        return gathered  # type: ignore[return-value]

    def lead(self, action: Callable[[], Value]) -> Value:
        """Let the first process do something, while the others wait. Its result, or the user's
        error that it raises, is everyone's."""
        if self.count == 1:
            return action()
        sent: list[Value | str | None] = [None, None]  # result, error
        failure = None
        if self.first:
            try:
                sent[0] = action()
            except One2SetError as error:
                sent[1], failure = str(error), error
        dist.broadcast_object_list(sent)
        if sent[1] is not None:
            raise failure or One2SetError(sent[1])
        return sent[0]  # type: ignore[return-value]

    def wrap(self, objective: nn.Module, *, staged: bool = False) -> nn.Module:
        """An objective whose gradients are averaged over the processes as they arise; not every
        step has all of them where it is `staged`."""
        if self.count == 1:
            return objective
        # No buffer is trained, so none needs to be sent; and views save a copy of the gradients.
        return DistributedDataParallel(
            objective,
            broadcast_buffers=False,
            gradient_as_bucket_view=True,
            find_unused_parameters=staged,
        )


@contextmanager
def processes() -> Iterator[Processes]:
    """Meet the other processes that `torchrun` started, and part from them at the end."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes(0, 1)
        return
    if not dist.is_available():
        raise ConfigError("this build of torch has no torch.distributed; run a single process")
    if torch.cuda.is_available():
        torch.cuda.set_device(_local_rank())
        dist.init_process_group("cpu:gloo,cuda:nccl")
    else:
        dist.init_process_group("gloo")
    try:
        yield Processes(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()


def choose_device(name: str) -> torch.device:
    """The device of this process; `auto` is the best that the machine has."""
    found = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    chosen = next(kind for kind in found if found[kind]) if name == "auto" else name
    if not found[chosen]:
        raise ConfigError(
            f"machine.device is {chosen!r}, which this machine (or build of torch) does not have; "
            "leave it at auto"
        )
    return torch.device(chosen, _local_rank()) if chosen == "cuda" else torch.device(chosen)


def use_threads(count: int) -> None:
    """Use so many threads; 0 for our share of the cores, unless OMP_NUM_THREADS says otherwise."""
    if count or "OMP_NUM_THREADS" not in os.environ:
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(count or max(1, cores() // here))


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context in which networks compute; `auto` is bfloat16 where the device is made for it."""
    made_for_it = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    mixed = precision == "bfloat16" or (precision == "auto" and made_for_it)
    return torch.autocast(device.type, torch.bfloat16, enabled=mixed)


def _local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", "0"))
