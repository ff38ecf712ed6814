"""`one2set` commands as processes of their own, which can be killed.

They are forked from a server that has imported everything, so that each starts at once.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

_context = get_context("forkserver")
_context.set_forkserver_preload(
    ["one2set.systems", "one2set.cli", "torch._dynamo", "scipy.optimize", "matplotlib.figure"]
)


def start(
    arguments: Sequence[str],
    *,
    output: Path,
    environment: Mapping[str, str] | None = None,
    slow_writes: bool = False,
) -> BaseProcess:
    """Start a command; what it prints goes to the file `output`.

    With `slow_writes`, every file takes its time to reach the disk.
    """
    child = _context.Process(
        target=_run, args=(list(arguments), output, dict(environment or {}), slow_writes)
    )
    child.start()
    return child


def finish(child: BaseProcess) -> int:
    """Wait for a command to end; its exit code."""
    child.join(timeout=120)
    assert child.exitcode is not None, "it hangs"
    return child.exitcode


def _run(
    arguments: list[str], output: Path, environment: dict[str, str], slow_writes: bool
) -> None:
    os.environ.update(environment)
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    if slow_writes:
        sync = os.fsync

        def slowly(handle: int) -> None:
            time.sleep(0.02)
            sync(handle)

        os.fsync = slowly
    sys.argv = ["one2set", *arguments]
    from one2set.cli import main

    main()
