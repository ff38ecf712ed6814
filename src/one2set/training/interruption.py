"""Catch Ctrl-C and SIGTERM, so that the loop can stop between two steps."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds in which another signal is the same request. Slurm and systemd send one to torchrun and to
# its workers, and torchrun sends it to the workers again.
_SAME_REQUEST = 1.0


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """Yield a list to which the first signal is appended. A second request has its usual effect:
    the previous handlers are back."""
    caught: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    first = 0.0

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if not caught:
            caught.append(number)
            first = time.monotonic()
        elif time.monotonic() - first >= _SAME_REQUEST:
            restore()
            signal.raise_signal(number)

    for number in previous:
        signal.signal(number, on_signal)
    try:
        yield caught
    finally:
        restore()
