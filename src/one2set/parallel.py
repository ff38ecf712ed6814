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


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int
) -> Iterator[Result]:
    """`map` over processes: results in the order of the tasks, few of them waiting at a time."""
    if workers < 1:
        raise ConfigError(f"--workers is {workers}; expected 1 or more (this machine: {cores()})")
    if workers == 1:
        yield from map(function, tasks)
        return
    waiting: deque[Future[Result]] = deque()
    # Forked workers share what is loaded already, and start at once.
    context = get_context("fork") if sys.platform == "linux" else None
    executor = ProcessPoolExecutor(
        workers, context, initializer=_follow_parent, initargs=(os.getpid(),)
    )
    try:
        for task in tasks:
            with _uninterrupted():
                waiting.append(executor.submit(function, task))
            if len(waiting) > 3 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put off Ctrl-C: amid the start of workers it would be lost, or leave them unled."""
    if current_thread() is not main_thread():
        yield  # Python tells the main thread only
        return
    came: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *which: came.append(which))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if came and callable(handler):
        handler(*came[0])


def _follow_parent(parent: int) -> None:
    """In a worker: Ctrl-C is the parent's to handle, and its death is ours."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked to be told
            os._exit(1)
