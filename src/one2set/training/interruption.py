"""Catch Ctrl-C and SIGTERM, so that the loop can stop between two steps."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """Yield a list to which the first signal is appended. A second signal has its usual effect: the
    previous handlers are back."""
    caught: list[int] = []
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def on_signal(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        restore()

    for number in previous:
        signal.signal(number, on_signal)
    try:
        yield caught
    finally:
        restore()
