"""Inspect other processes, by /proc."""

import time
from collections.abc import Iterable
from pathlib import Path


def running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # ended, and only waiting for its parent to take note


def wait_until_ended(processes: Iterable[int]) -> bool:
    """Whether all of them end. A death takes a moment to be noticed, so there is patience."""
    left = set(processes)
    for _ in range(3000):
        left = {process for process in left if running(process)}
        if not left:
            return True
        time.sleep(0.01)
    return False


def descendants(process: int) -> set[int]:
    """The processes below this one."""
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
        lists = [(thread / "children").read_text().split() for thread in threads]
    except (FileNotFoundError, ProcessLookupError):
        return set()
    result = {int(child) for children in lists for child in children}
    return result.union(*map(descendants, result))
