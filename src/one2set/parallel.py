"""Work on several cores, in order and in bounded memory."""

import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from threading import current_thread, main_thread
from types import FrameType
from typing import TypeVar

from one2set.errors import ConfigError

Task = TypeVar("Task")
Result = TypeVar("Result")


def count_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int
) -> Iterator[Result]:
    """`map` over worker processes. Results keep the order of the tasks; the queue is bounded."""
    if workers < 1:
        raise ConfigError(
            f"--workers is {workers}; expected 1 or more (this machine: {count_cores()})"
        )
    if workers == 1:
        yield from map(function, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    # Forked workers share loaded modules and data with the parent, and start at once.
    context = get_context("fork") if sys.platform == "linux" else None
    executor = ProcessPoolExecutor(
        workers, context, initializer=_die_with_parent, initargs=(os.getpid(),)
    )
    try:
        for task in tasks:
            with _defer_interrupts():
                waiting.append(executor.submit(function, task))
            if len(waiting) > 3 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _defer_interrupts() -> Iterator[None]:
    """Defer Ctrl-C: while workers start, it would be lost or leave orphaned workers behind."""
    if current_thread() is not main_thread():
        yield  # only the main thread receives signals
        return
    received: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *which: received.append(which))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received and callable(handler):
        handler(*received[0])


def _die_with_parent(parent: int) -> None:
    """In a worker: leave Ctrl-C to the parent, and exit when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl was called
            os._exit(1)
