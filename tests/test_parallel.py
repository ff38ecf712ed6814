"""`ordered_map` keeps the order, is lazy, and leaves no orphans."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from one2set.cores import count_cores
from one2set.errors import ConfigError, DataError
from one2set.parallel import ordered_map
from tests.processes import wait_until_ended

WORKERS = pytest.mark.parametrize("workers", [1, 2, 3])


def late_square(number: int) -> int:
    time.sleep(0.01 if number % 3 == 0 else 0)  # so that later tasks end first
    return number * number


def refuse_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven")
    return number


@WORKERS
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    numbers = range(40)
    assert list(ordered_map(late_square, numbers, workers=workers)) == [n * n for n in numbers]


@WORKERS
def test_there_may_be_nothing_to_do(workers: int) -> None:
    assert list(ordered_map(late_square, [], workers=workers)) == []


@WORKERS
def test_tasks_are_consumed_as_results_are_requested(workers: int) -> None:
    taken = 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for number in range(10_000):
            taken += 1
            yield number

    results = ordered_map(abs, tasks(), workers=workers)
    assert taken == 0
    for asked in range(1, 20):
        next(results)
        assert asked <= taken <= asked + 3 * workers
    results.close()  # type: ignore[attr-defined]


@WORKERS
def test_errors_of_the_work_and_of_the_tasks_come_through(workers: int) -> None:
    results = ordered_map(refuse_seven, range(100), workers=workers)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(ValueError, match="seven"):
        next(results)

    def tasks() -> Iterator[int]:
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(ordered_map(abs, tasks(), workers=workers))


@WORKERS
def test_several_workers_run_in_other_processes(workers: int) -> None:
    processes = set(ordered_map(process_of, range(20), workers=workers))
    assert (os.getpid() in processes) == (workers == 1)
    assert len(processes) <= workers


def process_of(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("workers", [0, -1])
def test_there_is_at_least_one_worker(workers: int) -> None:
    with pytest.raises(
        ConfigError, match=rf"--workers is {workers}; expected 1 or more .*{count_cores()}"
    ):
        next(ordered_map(abs, [1], workers=workers))


def test_ctrl_c_is_put_off_while_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    submit, submitted = ProcessPoolExecutor.submit, 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal submitted
        signal.raise_signal(signal.SIGINT)
        future = submit(*arguments)
        submitted += 1
        return future

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(abs, [1, 2], workers=2))
    assert submitted == 1


def take_long(folder: Path) -> None:
    (folder / f"begun-{os.getpid()}").touch()
    time.sleep(30)  # tests that pass never wait for it
    (folder / f"done-{os.getpid()}").touch()


@pytest.mark.parametrize("why", [OSError, KeyboardInterrupt, GeneratorExit])
def test_after_an_error_the_work_that_is_queued_is_not_done(
    tmp_path: Path, why: type[BaseException]
) -> None:
    """The input cannot be read on, the user presses Ctrl-C, or nobody wants the other results."""

    def tasks() -> Iterator[Path]:
        yield from [tmp_path] * 6
        while len(list(tmp_path.glob("begun-*"))) < 2:
            time.sleep(0.01)
        raise why

    with pytest.raises(why):
        list(ordered_map(take_long, tasks(), workers=2))
    assert wait_until_ended(int(path.name[6:]) for path in tmp_path.glob("begun-*"))
    assert not list(tmp_path.glob("done-*"))


INTERRUPTED_RESULTS = """
import random, time
from one2set.parallel import ordered_map

def send_much(task):
    return task * 20

def tasks():
    yield from [b"x" * 200_000] * 6
    time.sleep(random.uniform(0, 0.05))
    raise OSError("no more")

for _ in range(20):
    try:
        list(ordered_map(send_much, tasks(), workers=2))
    except OSError as error:
        print(error)
"""


def test_workers_can_be_killed_while_they_send_a_result() -> None:
    """They have sent a part of it, and nobody may wait for the rest. Tasks and results are larger
    than what a pipe holds."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_RESULTS],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "no more\n" * 20
    assert done.stderr == ""


DEAD_WHILE_SENDING = """
import os, signal
from multiprocessing.connection import Connection
from one2set.parallel import ordered_map

def send_half_and_die(connection, content):
    os.write(connection.fileno(), bytes(content)[:len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

def work(number):
    if number == {fatal} and not os.path.exists("died"):
        open("died", "w").close()
        Connection._send = send_half_and_die
    return number

print(list(ordered_map(work, range(30), workers=2)))
"""


@pytest.mark.parametrize("fatal", [3, 29])
def test_a_worker_that_dies_while_it_sends_a_result_is_replaced(fatal: int, tmp_path: Path) -> None:
    code = DEAD_WHILE_SENDING.format(fatal=fatal)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == f"{list(range(30))}\n"
    assert (tmp_path / "died").exists()


def test_cores_are_those_we_may_use() -> None:
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


ENDLESS = """
import itertools, os, time
from one2set.parallel import ordered_map

def work(number):
    time.sleep(0.01)
    return os.getpid()

for process in ordered_map(work, itertools.count(), workers=2):
    print(process, flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent(how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    workers = {int(next(parent.stdout)) for _ in range(30)}
    parent.send_signal(how)
    parent.wait(timeout=60)
    parent.stdout.close()
    assert wait_until_ended(workers)


def die_once(task: tuple[int, Path]) -> int:
    """Kills its process the first time that it sees 5."""
    number, folder = task
    if number == 5 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once_then_take_long(folder: Path) -> None:
    if not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    take_long(folder)


def test_a_repeated_task_can_be_interrupted(tmp_path: Path) -> None:
    def interrupt() -> None:
        while not list(tmp_path.glob("begun-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(die_once_then_take_long, [tmp_path], workers=2))
    thread.join()
    assert wait_until_ended(int(path.name[6:]) for path in tmp_path.glob("begun-*"))
    assert not list(tmp_path.glob("done-*"))


def die_always(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_tasks_of_dead_workers_are_repeated(tmp_path: Path) -> None:
    tasks = [(number, tmp_path) for number in range(30)]
    assert list(ordered_map(die_once, tasks, workers=2)) == list(range(30))
    assert (tmp_path / "died").exists()


def test_the_task_that_kills_its_workers_is_named() -> None:
    results = ordered_map(die_always, range(30), workers=2, describe="number {}".format)
    result: list[int] = []
    with pytest.raises(DataError, match=r"died 3 times at number 5; .*fewer --workers"):
        result.extend(results)
    assert result == list(range(5))


def test_workers_that_die_from_outside_are_replaced() -> None:
    """As by the kernel when memory is short."""
    results = ordered_map(process_of, range(60), workers=2)
    result = []
    for number, process in enumerate(results):
        result.append(process)
        if number in (3, 20):
            os.kill(process, signal.SIGKILL)
    assert len(result) == 60
    assert len(set(result)) > 2
