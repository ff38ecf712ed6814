"""Batching: many clients' documents over one engine.

Whatever waits when the engine is free becomes its next turn, so that nobody waits for a batch to
fill, and batches are large exactly when there is much to do. Only the engine has a thread of its
own; all else happens in the event loop and needs no locks.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from one2set.data.document import Document
from one2set.inference.generator import KeyphraseGenerator
from one2set.serving.limits import BusyError
from one2set.serving.metrics import Metrics

_TURN_DOCUMENTS = 64
_TURN_CHARACTERS = 100_000
_LONGEST_RETRY = 60  # seconds

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class Wish(Protocol[Answer_co]):
    """What is wished of documents. Equal wishes of several clients are granted together."""

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], /
    ) -> Iterable[Answer_co]:
        """An answer for each document, in their order."""


@dataclass(eq=False, slots=True)
class _Job:
    document: Document
    wish: Wish[Any]
    answer: asyncio.Future[Any]


class Batcher:
    """The engine, and what waits for it."""

    def __init__(
        self, generator: KeyphraseGenerator, metrics: Metrics, *, longest_queue: int
    ) -> None:
        self._generator, self._metrics, self._longest = generator, metrics, longest_queue
        self._waiting: deque[_Job] = deque()
        self._arrived = asyncio.Event()
        self._pace = 0.05  # seconds for a document, of late
        self.running = False

    async def answer(self, documents: Sequence[Document], wish: Wish[Answer]) -> list[Answer]:
        """The answers, in order. Documents whose client gives up before their turn are dropped."""
        self._forget_who_left()
        if len(self._waiting) + len(documents) > self._longest:
            raise BusyError(self.retry_after())
        loop = asyncio.get_running_loop()
        jobs = [_Job(document, wish, loop.create_future()) for document in documents]
        self._waiting.extend(jobs)
        self._metrics.waiting.set(len(self._waiting))
        self._arrived.set()
        return list(await asyncio.gather(*(job.answer for job in jobs)))

    def retry_after(self) -> int:
        """Seconds in which what waits should be done."""
        return max(1, min(_LONGEST_RETRY, math.ceil(len(self._waiting) * self._pace)))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """The engine works in this block. What was accepted is answered before the block ends."""
        with ThreadPoolExecutor(1, thread_name_prefix="engine") as engine:
            turns = asyncio.create_task(self._take_turns(engine))
            self.running = True
            try:
                yield
                while self._waiting and not turns.done():
                    await asyncio.sleep(0.01)
            finally:
                turns.cancel()
                await asyncio.gather(turns, return_exceptions=True)
                self.running = False

    async def _take_turns(self, engine: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived.wait()
            if jobs := self._next_turn():
                await loop.run_in_executor(engine, self._grant, jobs, loop)
            else:
                self._arrived.clear()

    def _next_turn(self) -> list[_Job]:
        """The job that has waited longest, and others with the same wish."""
        self._forget_who_left()
        turn: list[_Job] = []
        others: list[_Job] = []
        characters = 0
        while self._waiting and len(turn) < _TURN_DOCUMENTS and characters < _TURN_CHARACTERS:
            job = self._waiting.popleft()
            if turn and job.wish != turn[0].wish:
                others.append(job)
            else:
                turn.append(job)
                characters += len(job.document.text)
        self._waiting.extendleft(reversed(others))
        self._metrics.waiting.set(len(self._waiting))
        return turn

    def _forget_who_left(self) -> None:
        if any(job.answer.done() for job in self._waiting):
            self._waiting = deque(job for job in self._waiting if not job.answer.done())

    def _grant(self, jobs: Sequence[_Job], loop: asyncio.AbstractEventLoop) -> None:
        """In the engine's thread. A document that cannot be computed spoils no other's answer."""
        start = time.perf_counter()
        try:
            documents = [job.document for job in jobs]
            answers = list(jobs[0].wish(self._generator, documents))
        except Exception as error:
            if len(jobs) == 1:
                loop.call_soon_threadsafe(_fail, jobs[0], error)
            else:
                for job in jobs:
                    self._grant([job], loop)
            return
        seconds = time.perf_counter() - start
        self._pace += 0.2 * (seconds / len(jobs) - self._pace)
        self._metrics.took_turn(len(jobs), seconds)
        loop.call_soon_threadsafe(_settle, jobs, answers)


def _settle(jobs: Sequence[_Job], answers: Sequence[object]) -> None:
    for job, answer in zip(jobs, answers, strict=True):
        if not job.answer.done():
            job.answer.set_result(answer)


def _fail(job: _Job, error: Exception) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)
