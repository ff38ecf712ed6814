"""Trainings as processes of their own, which take their memory with them when they end."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO, Protocol


class Child(Protocol):
    """A process that trains."""

    def poll(self) -> int | None:
        """Its exit code; none as long as it runs."""

    def wait(self) -> int:
        """Its exit code, once it has ended."""

    def terminate(self) -> None:
        """Ask it to stop: it saves a checkpoint first."""


# Starts one2set with arguments. Its messages go to the first file; the second one is a lock, which
# it holds until it ends.
Launch = Callable[[Sequence[str], IO[bytes], IO[bytes]], Child]


def launch(processes: int = 1) -> Launch:
    """Each training in one process, or in several that torchrun starts."""
    python = [sys.executable, "-m"]
    if processes > 1:
        python += ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"]

    def start(arguments: Sequence[str], log: IO[bytes], lock: IO[bytes]) -> Child:
        return subprocess.Popen(
            [*python, "one2set", *arguments],
            stdout=log,
            stderr=log,
            pass_fds=[lock.fileno()],
            start_new_session=True,  # Ctrl-C is ours alone, and we pass it on once
        )

    return start


class InterruptionError(Exception):
    """Somebody asked us to stop, and the training has saved a checkpoint."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal
