"""Ctrl-C and SIGTERM as a wish that the loop grants between two steps."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruption() -> Iterator[list[int]]:
    """A list to which a signal adds itself. The second one ends the program as usual."""
    caught: list[int] = []
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    def take_note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        restore()

    for number in usual:
        signal.signal(number, take_note)
    try:
        yield caught
    finally:
        restore()
