"""`one2set` commands as processes of their own, which can be killed.

They are forked from a server that has imported everything, so that each starts at once.
"""

import os
import resource
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

_context = get_context("forkserver")
_context.set_forkserver_preload(
    [
        "one2set.training.systems",
        "one2set.cli",
        "torch._dynamo",
        "scipy.optimize",
        "matplotlib.figure",
    ]
)


def start(
    arguments: Sequence[str],
    *,
    output: Path,
    environment: Mapping[str, str] | None = None,
    slow_writes: bool = False,
    full_after: Path | None = None,
) -> BaseProcess:
    """Start a command; what it prints goes to the file `output`.

    With `slow_writes`, every file takes its time to reach the disk. Once `full_after` exists, no
    file can grow beyond 10 kB.
    """
    child = _context.Process(
        target=_run,
        args=(list(arguments), output, dict(environment or {}), slow_writes, full_after),
    )
    child.start()
    return child


def finish(child: BaseProcess) -> int:
    """Wait for a command to end; its exit code."""
    child.join(timeout=600)  # only one that hangs takes so long
    assert child.exitcode is not None, "it hangs"
    return child.exitcode


def _run(
    arguments: list[str],
    output: Path,
    environment: dict[str, str],
    slow_writes: bool,
    full_after: Path | None,
) -> None:
    os.environ.update(environment)
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    if slow_writes:
        sync = os.fsync

        def sync_slowly(fd: int) -> None:
            time.sleep(0.01)
            sync(fd)

        os.fsync = sync_slowly  # type: ignore[assignment]
    if full_after is not None:
        threading.Thread(target=_fill, args=(full_after,), daemon=True).start()
    sys.argv = ["one2set", *arguments]
    from one2set.cli import main

    main()


def _fill(path: Path) -> None:
    while not path.exists():
        time.sleep(0.0005)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
