"""Dynamic batching: the documents of many clients on one generator.

When the generator is free, all waiting documents become its next batch. So no document waits for a
batch to fill, and batches are large exactly when the load is high. Clients share a batch evenly,
however much each of them has sent.

Long documents take many seconds. They run in batches of their own, in a second thread, so that
short ones do not wait for them. Only the generator runs in threads; everything else runs in the
event loop and needs no locks.
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
from one2set.prediction.predictor import Check
from one2set.serving.limits import BusyError, Limits
from one2set.serving.metrics import Metrics

_BATCH_DOCUMENTS = 64
_BATCH_CHARACTERS = 100_000
_LONG = 20_000  # characters; a longer document is a batch of its own, so that it can be cancelled
_LONGEST_RETRY = 60  # seconds

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)


class Operation(Protocol[Answer_co]):
    """A computation on documents. Equal operations of several clients share a batch."""

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check, /
    ) -> Iterable[Answer_co]:
        """Return an answer for each document, in order. Call `check` often: it raises once no
        client waits for the answers."""


@dataclass(eq=False, slots=True)
class _Job:
    document: Document
    operation: Operation[Any]
    answer: asyncio.Future[Any]

    @property
    def is_long(self) -> bool:
        return len(self.document.text) > _LONG


class _AbandonedError(Exception):
    """All clients of a batch have disconnected."""


class Batcher:
    """The generator and the queue of documents for it."""

    def __init__(self, generator: KeyphraseGenerator, metrics: Metrics, limits: Limits) -> None:
        self._generator, self._metrics, self._limits = generator, metrics, limits
        # By client; the next one to be served is first. No client has an empty queue.
        self._waiting: dict[str, deque[_Job]] = {}
        # Keyed by whether documents are long.
        self._arrived = {long: asyncio.Event() for long in (False, True)}
        self._seconds_per_document = 0.05  # a moving average
        self.running = False

    async def answer(
        self, documents: Sequence[Document], operation: Operation[Answer], client: str
    ) -> list[Answer]:
        """Return the answers, in order. If the client disconnects, its waiting documents are
        dropped, and a batch that only it waits for is cancelled."""
        self._drop_abandoned()
        total, own = self._count(), len(self._waiting.get(client, ()))
        if (
            total + len(documents) > self._limits.queue
            or own + len(documents) > self._limits.client_queue
        ):
            raise BusyError(self.retry_after())
        loop = asyncio.get_running_loop()
        jobs = [_Job(document, operation, loop.create_future()) for document in documents]
        self._waiting.setdefault(client, deque()).extend(jobs)
        self._metrics.waiting.set(self._count())
        for job in jobs:
            self._arrived[job.is_long].set()
        return list(await asyncio.gather(*(job.answer for job in jobs)))

    def retry_after(self) -> int:
        """Estimate the seconds until all waiting documents are done."""
        return max(1, min(_LONGEST_RETRY, math.ceil(self._count() * self._seconds_per_document)))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run the generator within the block. Accepted documents are answered before it ends."""
        with ThreadPoolExecutor(2, thread_name_prefix="generator") as threads:
            self.running = True
            workers = [
                asyncio.create_task(self._run_batches(threads, long=long)) for long in self._arrived
            ]
            try:
                yield
            finally:
                self.running = False
                for arrived in self._arrived.values():
                    arrived.set()
                await asyncio.gather(*workers)

    async def _run_batches(self, threads: ThreadPoolExecutor, *, long: bool) -> None:
        """Run batches until the queue is empty and `run` has ended."""
        loop = asyncio.get_running_loop()
        while True:
            await self._arrived[long].wait()
            if jobs := self._next_batch(long=long):
                await loop.run_in_executor(threads, self._run_batch, jobs, loop)
            elif not self.running:
                return
            else:
                self._arrived[long].clear()

    def _next_batch(self, *, long: bool) -> list[_Job]:
        """Take documents of all clients in turn that have the same operation as the first one."""
        self._drop_abandoned()
        rounds = zip_longest(*self._waiting.values())
        in_turn = [job for round in rounds for job in round if job and job.is_long == long]
        batch: list[_Job] = []
        characters = 0
        for job in in_turn:
            if batch and (
                long or len(batch) == _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS
            ):
                break
            if not batch or job.operation == batch[0].operation:
                batch.append(job)
                characters += len(job.document.text)
        self._take(batch)
        return batch

    def _take(self, batch: Sequence[_Job]) -> None:
        """Remove jobs from the queues. Clients that are served move behind those that are not."""
        taken = set(batch)
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

    def _drop_abandoned(self) -> None:
        kept = {
            client: deque(job for job in jobs if not job.answer.done())
            for client, jobs in self._waiting.items()
        }
        self._waiting = {client: jobs for client, jobs in kept.items() if jobs}

    def _run_batch(self, jobs: Sequence[_Job], loop: asyncio.AbstractEventLoop) -> None:
        """Run a batch, in a thread. If it fails, run its documents one by one."""

        def check() -> None:
            if all(job.answer.done() for job in jobs):
                raise _AbandonedError

        start = time.perf_counter()
        try:
            documents = [job.document for job in jobs]
            answers = list(jobs[0].operation(self._generator, documents, check))
        except _AbandonedError:
            return
        except Exception as error:
            if len(jobs) == 1:
                loop.call_soon_threadsafe(_set_error, jobs[0], error)
            else:
                for job in jobs:
                    if not job.answer.done():
                        self._run_batch([job], loop)
            return
        seconds = time.perf_counter() - start
        loop.call_soon_threadsafe(self._finish, jobs, answers, seconds)

    def _finish(self, jobs: Sequence[_Job], answers: Sequence[object], seconds: float) -> None:
        """Record a batch and pass on its answers, in the event loop."""
        self._seconds_per_document += 0.2 * (seconds / len(jobs) - self._seconds_per_document)
        self._metrics.record_batch(len(jobs), seconds)
        for job, answer in zip(jobs, answers, strict=True):
            if not job.answer.done():
                job.answer.set_result(answer)


def _set_error(job: _Job, error: Exception) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)
