"""Work on several cores, in order and in bounded memory."""

import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, get_context
from threading import current_thread, main_thread
from types import FrameType
from typing import Generic, TypeVar

from one2set.cores import count_cores
from one2set.errors import ConfigError, DataError

_REPEATS = 2  # of a task whose worker died
_TICK = 1.0  # seconds between two looks at the workers
Task = TypeVar("Task")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    workers: int,
    describe: Callable[[Task], str] = repr,
) -> Iterator[Result]:
    """`map` over worker processes. Results keep the order of the tasks; the queue is bounded.

    If a worker dies, its task is repeated. If that fails too, the error names the task with
    `describe`.
    """
    if workers < 1:
        raise ConfigError(
            f"--workers is {workers}; expected 1 or more (this machine: {count_cores()})"
        )
    if workers == 1:
        yield from map(function, tasks)
        return
    pool = _Pool(function, workers, describe)
    try:
        for task in tasks:
            pool.submit(task)
            if len(pool) > 3 * workers:
                yield pool.result()
        while len(pool):
            yield pool.result()
    except BaseException:  # also if nobody wants the other results
        pool.kill()
        raise
    finally:
        pool.shutdown()


class _Pool(Generic[Task, Result]):
    """Workers, and the tasks they were given, oldest first."""

    def __init__(
        self, function: Callable[[Task], Result], workers: int, describe: Callable[[Task], str]
    ) -> None:
        self._function, self._workers, self._describe = function, workers, describe
        self._waiting: deque[tuple[Task, Future[Result]]] = deque()
        self._executor = _start(workers)

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, task: Task) -> None:
        """Give a task to the workers."""
        try:
            with _defer_interrupts():
                self._waiting.append((task, self._executor.submit(self._function, task)))
        except BrokenProcessPool:
            self._repair()
            self.submit(task)

    def result(self) -> Result:
        """Wait for the result of the oldest task."""
        while True:
            _, future = self._waiting[0]
            _wait(future, self._executor)
            try:
                result = future.result()
            except BrokenProcessPool:
                self._repair()
                continue
            self._waiting.popleft()
            return result

    def kill(self) -> None:
        """Kill the workers: they hold nothing to save, and a task may take minutes."""
        _kill(self._executor)

    def shutdown(self) -> None:
        self._executor.shutdown(cancel_futures=True)

    def _repair(self) -> None:
        """Repeat the tasks that were lost when a worker died, one at a time, to find out which task
        kills its worker."""
        self._executor.shutdown()
        for index, (task, future) in enumerate(self._waiting):
            if isinstance(future.exception(), BrokenProcessPool):
                self._waiting[index] = task, self._repeat(task)
        self._executor = _start(self._workers)

    def _repeat(self, task: Task) -> Future[Result]:
        for _ in range(_REPEATS):
            with _start(1) as executor:
                try:
                    with _defer_interrupts():
                        future = executor.submit(self._function, task)
                    _wait(future, executor)
                except BaseException:  # such as Ctrl-C: the executor would wait for the task
                    _kill(executor)
                    raise
                if not isinstance(future.exception(), BrokenProcessPool):
                    return future
        failed: Future[Result] = Future()  # so that the results before it come first
        what = f"a worker process died {_REPEATS + 1} times at {self._describe(task)}"
        fix = "check that there is enough memory, use fewer --workers, or remove these documents"
        failed.set_exception(DataError(what, fix=fix))
        return failed


def _wait(future: Future[Result], executor: ProcessPoolExecutor) -> None:
    """Wait until a future is done. If a worker dies while it sends a result, the executor does not
    notice: it waits for the rest of the result, forever."""
    while wait([future], timeout=_TICK).not_done:
        processes = list((executor._processes or {}).values())
        if connection.wait([process.sentinel for process in processes], timeout=0):
            _kill(executor)


def _kill(executor: ProcessPoolExecutor) -> None:
    if (results := executor._result_queue) is not None:  # it is not shut down
        # The executor waits for the rest of a result as long as any process has the pipe open for
        # writing. This process has, too.
        results._writer.close()  # type: ignore[attr-defined]
    for process in list((executor._processes or {}).values()):
        process.kill()


def _start(workers: int) -> ProcessPoolExecutor:
    # Forked workers share loaded modules and data with the parent, and start at once.
    context = get_context("fork") if sys.platform == "linux" else None
    return ProcessPoolExecutor(
        workers, context, initializer=_die_with_parent, initargs=(os.getpid(),)
    )


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
