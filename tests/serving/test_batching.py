"""Batches: their order, limits and cancellation."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from one2set.data.document import Document
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.prediction.predictor import Check
from one2set.serving import batching
from one2set.serving.batching import Batcher
from one2set.serving.limits import BusyError, Limits
from one2set.serving.metrics import Metrics

PATIENCE = 60  # seconds that only a test which fails waits


@dataclass
class Engine:
    """A generator that waits for `free`, then records each batch."""

    turns: list[list[str]] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Shout:
    """An operation that returns the id of each document, with a mark."""

    mark: str = "!"

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check
    ) -> Iterable[str]:
        engine = cast(Engine, generator)
        engine.free.wait(PATIENCE)
        engine.turns.append([document.id for document in documents])
        for document in documents:
            if document.id == "bad":
                raise LookupError("bad")
            yield document.id + self.mark


def documents(*ids: str, text: str = "words") -> list[Document]:
    return [Document(id, "", text) for id in ids]


def make(engine: Engine, queue: int = 1000) -> Batcher:
    limits = Limits(queue=queue, documents=1)
    return Batcher(cast(KeyphraseGenerator, engine), Metrics(), limits)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 2 * PATIENCE))


def from_clients(batcher: Batcher, *sent: tuple[str, str]) -> list[Coroutine[Any, Any, Any]]:
    """Requests: who asks, and for which documents."""
    return [batcher.answer(documents(*ids), Shout(), client) for client, ids in sent]


async def begun(batcher: Batcher, *asked: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """The requests, all of them in the queue, the first one in the engine."""
    tasks = []
    for request in asked:
        tasks.append(asyncio.ensure_future(request))
        await asyncio.sleep(0.01)
    return tasks


def test_waiting_documents_are_one_batch() -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        async with batcher.run():
            asked = [batcher.answer(documents(*ids), Shout(), "") for ids in ("a", "bc", "d", "ef")]
            tasks = await begun(batcher, *asked)
            engine.free.set()
            answers = await asyncio.gather(*tasks)
        assert answers == [["a!"], ["b!", "c!"], ["d!"], ["e!", "f!"]]
        assert engine.turns == [["a"], list("bcdef")]

    run(test())


def test_different_operations_have_different_batches() -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        async with batcher.run():
            asked = [
                batcher.answer(documents(id), Shout(mark), "")
                for id, mark in (("a", "!"), ("b", "?"), ("c", "!"), ("d", "?"), ("e", "!"))
            ]
            tasks = await begun(batcher, *asked)
            engine.free.set()
            answers = await asyncio.gather(*tasks)
        assert answers == [["a!"], ["b?"], ["c!"], ["d?"], ["e!"]]
        assert engine.turns == [["a"], ["b", "d"], ["c", "e"]]

    run(test())


@pytest.mark.parametrize(("text", "size"), [("words", 64), ("x" * 20_000, 5), ("x" * 20_001, 1)])
def test_batches_are_limited(text: str, size: int) -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        async with batcher.run():
            ids = [str(n) for n in range(200 if size == 64 else 7)]
            tasks = await begun(batcher, batcher.answer(documents(*ids, text=text), Shout(), ""))
            engine.free.set()
            assert await tasks[0] == [f"{id}!" for id in ids]
        assert max(map(len, engine.turns)) == size

    run(test())


def test_clients_share_batches_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much one has sent: who had a turn goes behind those who had none."""
    monkeypatch.setattr(batching, "_BATCH_DOCUMENTS", 3)

    async def test() -> None:
        batcher = make(engine := Engine())
        async with batcher.run():
            sent = (("a", "1"), ("a", "abcdefg"), ("b", "rst"), ("c", "x"), ("d", "y"))
            tasks = await begun(batcher, *from_clients(batcher, *sent))
            engine.free.set()
            await asyncio.gather(*tasks)
        assert engine.turns == [["1"], list("arx"), list("ybs"), list("ctd"), list("efg")]

    run(test())


def test_no_client_fills_the_queue() -> None:
    async def test() -> None:
        batcher = make(engine := Engine(), queue=8)
        async with batcher.run():
            sent = (("a", "1"), ("a", "bcdefg"))  # the first is computed, six wait
            tasks = await begun(batcher, *from_clients(batcher, *sent))
            with pytest.raises(BusyError):
                await batcher.answer(documents("h"), Shout(), "a")
            tasks += await begun(batcher, *from_clients(batcher, ("b", "xy")))
            with pytest.raises(BusyError):
                await batcher.answer(documents("z"), Shout(), "c")
            engine.free.set()
            await asyncio.gather(*tasks)

    run(test())


@dataclass(frozen=True)
class Hold:
    """An operation of a given duration."""

    free: threading.Event = field(default_factory=threading.Event)
    done: list[str] = field(default_factory=list)

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check
    ) -> Iterable[str]:
        self.free.wait(PATIENCE)
        self.done.extend(document.id for document in documents)
        return [document.id for document in documents]


def test_a_long_document_delays_no_short_one() -> None:
    """And what its client has left undone is given up, document by document."""

    async def test() -> None:
        batcher = make(engine := Engine())
        engine.free.set()
        hold = Hold()
        async with batcher.run():
            long = documents("first", "second", text="x" * 20_001)
            (task,) = await begun(batcher, batcher.answer(long, hold, "a"))
            assert await batcher.answer(documents("short"), Shout(), "b") == ["short!"]
            assert hold.done == []
            task.cancel()
            await asyncio.sleep(0.01)
            hold.free.set()
        assert hold.done == ["first"]

    run(test())


def test_a_failing_document_does_not_affect_others() -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        async with batcher.run():
            asked = [batcher.answer(documents(id), Shout(), "") for id in ("a", "b", "bad", "c")]
            tasks = await begun(batcher, *asked)
            engine.free.set()
            result = await asyncio.gather(*tasks, return_exceptions=True)
        assert result[:2] + result[3:] == [["a!"], ["b!"], ["c!"]]
        assert isinstance(result[2], LookupError)

    run(test())


def test_the_queue_is_limited_and_disconnected_clients_free_it() -> None:
    async def test() -> None:
        batcher = make(engine := Engine(), queue=3)
        async with batcher.run():
            asked = [batcher.answer(documents(*ids), Shout(), "") for ids in ("a", "bc", "d")]
            tasks = await begun(batcher, *asked)
            with pytest.raises(BusyError) as refused:
                await batcher.answer(documents("e"), Shout(), "")
            assert refused.value.status_code == 429
            tasks[1].cancel()
            await asyncio.sleep(0.01)
            later = await begun(batcher, batcher.answer(documents("f", "g"), Shout(), ""))
            engine.free.set()
            assert await later[0] == ["f!", "g!"]
            assert await tasks[2] == ["d!"]
        assert engine.turns == [["a"], ["d", "f", "g"]]

    run(test())


def test_retry_after_grows_with_the_queue() -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        assert batcher.retry_after() == 1
        async with batcher.run():
            ids = [str(n) for n in range(500)]
            tasks = await begun(batcher, batcher.answer(documents(*ids), Shout(), ""))
            assert 10 < batcher.retry_after() <= 60
            engine.free.set()
            await tasks[0]
        assert batcher.retry_after() == 1

    run(test())


def test_shutdown_waits_for_all_answers() -> None:
    async def test() -> None:
        batcher = make(engine := Engine())
        assert not batcher.running
        async with batcher.run():
            assert batcher.running
            asked = [batcher.answer(documents(id), Shout(), "") for id in ("a", "b", "c")]
            tasks = await begun(batcher, *asked)
            threading.Timer(0.1, engine.free.set).start()
        assert not batcher.running
        assert await asyncio.gather(*tasks) == [["a!"], ["b!"], ["c!"]]

    run(test())


def test_shutdown_waits_for_slow_threads() -> None:
    """On a busy machine a batch may be taken long before its thread runs."""

    async def test() -> None:
        batcher = make(engine := Engine())
        engine.free.set()
        loop = asyncio.get_running_loop()
        start = loop.run_in_executor

        def start_late(threads: Any, work: Any, *given: Any) -> asyncio.Future[Any]:
            for _ in range(2):  # which keeps both threads busy
                threads.submit(time.sleep, 0.1)
            return start(threads, work, *given)

        async with batcher.run():
            loop.run_in_executor = start_late  # type: ignore[method-assign, assignment]
            (task,) = await begun(batcher, batcher.answer(documents("a"), Shout(), ""))
        assert await task == ["a!"]

    run(test())


@dataclass(frozen=True)
class Work:
    """An operation that works until its check raises."""

    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check
    ) -> Iterable[str]:
        self.begun.set()
        try:
            deadline = time.monotonic() + 2 * PATIENCE
            while time.monotonic() < deadline:
                check()
                time.sleep(0.01)
        finally:
            self.ended.set()
        return [document.id for document in documents]


def test_a_batch_is_cancelled_when_all_its_clients_disconnect() -> None:
    """And not before: the last one may still wait."""

    async def test() -> None:
        batcher = make(engine := Engine())
        operation = Work()
        async with batcher.run():
            both = (batcher.answer(documents(id), operation, id) for id in "ab")
            tasks = [asyncio.ensure_future(task) for task in both]
            await asyncio.to_thread(operation.begun.wait, PATIENCE)
            tasks[0].cancel()
            assert not await asyncio.to_thread(operation.ended.wait, 0.1)
            tasks[1].cancel()
            assert await asyncio.to_thread(operation.ended.wait, PATIENCE)
            engine.free.set()
            assert await batcher.answer(documents("c"), Shout(), "c") == ["c!"]

    run(test())
