"""Batching: many clients' documents over one generator.

Whatever waits when the generator is free becomes its next turn, so that nobody waits for a batch to
fill, and batches are large exactly when there is much to do. Clients share a turn evenly, however
much each of them has sent.

Long documents take turns of their own, in a second thread: they take many seconds, for which nobody
who has sent a short one should wait. All else happens in the event loop and needs no locks.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol, TypeVar

from one2set.data.document import Document
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving.limits import BusyError, Limits
from one2set.serving.metrics import Metrics

_TURN_DOCUMENTS = 64
_TURN_CHARACTERS = 100_000
_LONG = 20_000  # characters; a longer document has a turn to itself, so that it can be given up
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

    @property
    def long(self) -> bool:
        return len(self.document.text) > _LONG


class Batcher:
    """The generator, and what waits for it."""

    def __init__(self, generator: KeyphraseGenerator, metrics: Metrics, limits: Limits) -> None:
        self._generator, self._metrics, self._limits = generator, metrics, limits
        # By client, whose turn comes first at the front. No client has an empty queue.
        self._waiting: dict[str, deque[_Job]] = {}
        self._arrived = {long: asyncio.Event() for long in (False, True)}
        self._pace = 0.05  # seconds for a document, of late
        self.running = False

    async def answer(
        self, documents: Sequence[Document], wish: Wish[Answer], client: str
    ) -> list[Answer]:
        """The answers, in order. Documents whose client gives up before their turn are dropped."""
        self._forget_who_left()
        every, own = self._count(), len(self._waiting.get(client, ()))
        if (
            every + len(documents) > self._limits.queue
            or own + len(documents) > self._limits.client_queue
        ):
            raise BusyError(self.retry_after())
        loop = asyncio.get_running_loop()
        jobs = [_Job(document, wish, loop.create_future()) for document in documents]
        self._waiting.setdefault(client, deque()).extend(jobs)
        self._metrics.waiting.set(self._count())
        for job in jobs:
            self._arrived[job.long].set()
        return list(await asyncio.gather(*(job.answer for job in jobs)))

    def retry_after(self) -> int:
        """Seconds in which what waits should be done."""
        return max(1, min(_LONGEST_RETRY, math.ceil(self._count() * self._pace)))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """The generator works in this block. What was accepted is answered before it ends."""
        with ThreadPoolExecutor(2, thread_name_prefix="generator") as threads:
            turns = [
                asyncio.create_task(self._take_turns(threads, long=long)) for long in self._arrived
            ]
            self.running = True
            try:
                yield
                while self._waiting and not any(one.done() for one in turns):
                    await asyncio.sleep(0.01)
            finally:
                for one in turns:
                    one.cancel()
                await asyncio.gather(*turns, return_exceptions=True)
                self.running = False

    async def _take_turns(self, threads: ThreadPoolExecutor, *, long: bool) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived[long].wait()
            if jobs := self._next_turn(long=long):
                await loop.run_in_executor(threads, self._grant, jobs, loop)
            else:
                self._arrived[long].clear()

    def _next_turn(self, *, long: bool) -> list[_Job]:
        """Documents of all clients by turns, with the wish of the first of them."""
        self._forget_who_left()
        rounds = zip_longest(*self._waiting.values())
        fair = [job for each in rounds for job in each if job and job.long == long]
        turn: list[_Job] = []
        characters = 0
        for job in fair:
            if turn and (long or len(turn) == _TURN_DOCUMENTS or characters >= _TURN_CHARACTERS):
                break
            if not turn or job.wish == turn[0].wish:
                turn.append(job)
                characters += len(job.document.text)
        self._take(turn)
        return turn

    def _take(self, turn: Sequence[_Job]) -> None:
        """Out of the queues; clients that had a turn go behind those that had none."""
        taken = set(turn)
        remaining = {
            client: deque(job for job in jobs if job not in taken)
            for client, jobs in self._waiting.items()
        }
        served = [client for client, jobs in remaining.items() if jobs != self._waiting[client]]
        for client in served:
            remaining[client] = remaining.pop(client)
        self._waiting = {client: jobs for client, jobs in remaining.items() if jobs}
        self._metrics.waiting.set(self._count())

    def _count(self) -> int:
        return sum(map(len, self._waiting.values()))

    def _forget_who_left(self) -> None:
        kept = {
            client: deque(job for job in jobs if not job.answer.done())
            for client, jobs in self._waiting.items()
        }
        self._waiting = {client: jobs for client, jobs in kept.items() if jobs}

    def _grant(self, jobs: Sequence[_Job], loop: asyncio.AbstractEventLoop) -> None:
        """In a thread. A document that cannot be computed spoils no other's answer."""
        start = time.perf_counter()
        try:
            documents = [job.document for job in jobs]
            answers = list(jobs[0].wish(self._generator, documents))
        except Exception as error:
            if len(jobs) == 1:
                loop.call_soon_threadsafe(_fail, jobs[0], error)
            else:
                for job in jobs:
                    if not job.answer.done():
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
