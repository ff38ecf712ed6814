"""Requests beyond a limit or without a token are refused, and no others."""

import asyncio
import math
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from one2set.data.document import Document, StemmedDocument
from one2set.errors import ConfigError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.inputs import AnyDocument
from one2set.keyphrases.results import Keyphrase, KeyphraseList
from one2set.serving.app import create_app
from one2set.serving.limits import FILES_PATH, Access, Gate, Limits
from tests.serving.running import URL

KEYPHRASES = "/v1/keyphrases"
BODY = {"documents": ["a text"]}


class Slow(KeyphraseGenerator):
    """A slow generator that finds nothing."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.done = seconds, 0

    def stream_selected(
        self, documents: Iterable[AnyDocument], *selection: Any, **options: Any
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        for document in map(StemmedDocument.of, documents):
            time.sleep(self.seconds)
            self.done += 1
            yield document.document, KeyphraseList()


class Held(Slow):
    """A generator that waits for an event."""

    def __init__(self) -> None:
        super().__init__(0)
        self.free = threading.Event()

    def stream_selected(
        self, documents: Iterable[AnyDocument], *selection: Any, **options: Any
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        self.free.wait(60)
        return super().stream_selected(documents, *selection, **options)


def served(generator: KeyphraseGenerator, **limits: Any) -> TestClient:
    return TestClient(create_app(generator, Limits(**limits)), base_url=URL)


def test_a_body_that_is_too_large_gets_413() -> None:
    with served(Slow(0), body=100) as client:
        assert client.post(KEYPHRASES, json=BODY).status_code == 200
        response = client.post(KEYPHRASES, json={"documents": ["x" * 100]})
        assert response.status_code == 413
        assert "at most 100 bytes" in response.json()["detail"]
        parts = (b'{"documents": [', b'"' + b"x" * 100, b'"]}')  # of which no length is stated
        assert client.post(KEYPHRASES, content=iter(parts)).status_code == 413


def test_texts_and_requests_that_are_too_long_get_422() -> None:
    with served(Slow(0), characters=10, documents=2) as client:
        for documents, status, message in (
            (["x" * 10, "y"], 200, None),
            (["x" * 11], 422, "11 characters; at most 10"),
            ([{"title": "xxxxx", "text": "yyyyy"}], 422, "11 characters"),
            (["x"] * 3, 422, "3 documents; at most 2"),
        ):
            response = client.post(KEYPHRASES, json={"documents": documents})
            assert response.status_code == status
            assert message is None or message in response.json()["detail"]
        assert client.post("/v1/explore", json={"text": "x" * 11}).status_code == 422


def test_a_full_queue_gets_429() -> None:
    """And what was taken is answered."""
    generator = Held()
    with served(generator, queue=4, documents=4) as client, ThreadPoolExecutor(24) as threads:

        def ask() -> tuple[int, str | None]:
            response = client.post(KEYPHRASES, json={"documents": ["a", "b"]})
            return response.status_code, response.headers.get("retry-after")

        asked = [threads.submit(ask) for _ in range(24)]
        next(as_completed(asked))  # none is answered yet, so this one was rejected
        generator.free.set()
        result = [request.result() for request in asked]
    statuses = [status for status, _ in result]
    assert set(statuses) == {200, 429}
    assert generator.done == 2 * statuses.count(200)
    assert {after is None for status, after in result if status == 200} == {True}
    assert all(1 <= int(after or 0) <= 60 for status, after in result if status == 429)


def test_a_request_that_takes_too_long_gets_503() -> None:
    """It gets 503, and its queued documents are not computed."""
    generator = Held()
    with served(generator, seconds=0.3) as client:
        long = ["x" * 20_000] * 20  # of which a turn has five
        response = client.post(KEYPHRASES, json={"documents": long})
        assert response.status_code == 503
        assert "not done in 0.3 s" in response.json()["detail"]
        assert "retry-after" in response.headers
        generator.free.set()
    assert generator.done <= 5


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer geheim", 200),
        ("bearer geheim", 200),
        ("Bearer geheim ", 200),
        ("Bearer Geheim", 401),
        ("Bearer geheimer", 401),
        ("Bearer gehei\xe4", 401),
        ("Bearer ", 401),
        ("Basic geheim", 401),
        ("geheim", 401),
        (None, 401),
    ],
)
def test_a_missing_or_wrong_token_gets_401(header: str | None, status: int) -> None:
    with TestClient(create_app(Slow(0), access=Access("geheim")), base_url=URL) as client:
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        response = client.post(KEYPHRASES, json=BODY, headers=headers)  # type: ignore[arg-type]
        assert response.status_code == status
        assert client.get("/metrics", headers=headers).status_code == status  # type: ignore[arg-type]
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
        if status == 401:
            assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("token", ["", " ", "geheim ", "\n"])
def test_an_empty_or_padded_token_is_an_error(token: str) -> None:
    with pytest.raises(ConfigError, match=r"the token (is empty|begins or ends with)"):
        Access(token)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("evil.example:8000", 400),
        ("localhost.evil.example", 400),
        ("127.0.0.1.evil.example", 400),
        ("[::1", 400),
        ("", 400),
    ],
)
def test_other_host_headers_get_400(host: str, status: int) -> None:
    """Pages of a site that points its name at the server (DNS rebinding) learn nothing."""
    with served(Slow(0)) as client:
        for path in ("/", "/healthz", "/openapi.json"):
            response = client.get(path, headers={"Host": host})
            assert response.status_code == status
        response = client.post(KEYPHRASES, json=BODY, headers={"Host": host})
        assert response.status_code == status
        if status == 400:
            assert "--allowed-host" in response.json()["detail"]


def test_only_allowed_hosts_are_accepted() -> None:
    for hosts, allowed in ((("keyphrases.example", "10.0.0.7"), "10.0.0.7"), (("*",), "any")):
        app = create_app(Slow(0), access=Access(hosts=hosts))
        with TestClient(app, base_url=f"http://{allowed}") as client:
            assert client.get("/healthz").status_code == 200
            refused = client.get("/healthz", headers={"Host": "localhost"})
            assert refused.status_code == (200 if hosts == ("*",) else 400)
            two = [(b"host", allowed.encode()), (b"host", b"evil.example")]
            asked = client.get("/healthz", headers=two)
            assert asked.status_code == (200 if hosts == ("*",) else 400)
    for wrong in ("http://a.example", "a.example:80", "A.example", "a.example/", ""):
        with pytest.raises(ConfigError, match="the allowed host is"):
            Access(hosts=(wrong,))


def test_an_origin_that_no_browser_sends_is_refused() -> None:
    Access(origins=("https://a.example", "http://localhost:3000", "http://[::1]:8", "null", "*"))
    for wrong in ("a.example", "https://a.example/", "https://A.example", "https://", ""):
        with pytest.raises(ConfigError, match="the allowed origin is"):
            Access(origins=(wrong,))


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/healthz", 200), (KEYPHRASES, 405), ("/none", 404)]
)
def test_head_answers_like_get_without_the_body(path: str, status: int) -> None:
    with served(Slow(0)) as client:
        head, get = client.head(path), client.get(path)
        assert head.status_code == get.status_code == status
        assert head.content == b""
        assert head.headers == get.headers


class Repeated(Slow):
    """A generator that finds a phrase everywhere."""

    def stream_selected(
        self, documents: Iterable[AnyDocument], *selection: Any, **options: Any
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        for document in map(StemmedDocument.of, documents):
            spans = [(n, n + 1) for n in range(len(document.document.text))]
            result = [Keyphrase("x", 1.0, present=True, spans=tuple(spans))]
            yield document.document, KeyphraseList(result)


def test_an_answer_that_is_too_large_gets_422() -> None:
    """By what can be guessed of it, and by what it is; answers of many pieces arrive whole."""
    with served(Repeated(0), answer=100_000) as client:
        response = client.post(KEYPHRASES, json={"documents": ["x" * 7_000]})
        assert response.status_code == 200
        (document,) = response.json()["documents"]
        assert document["keyphrases"][0]["spans"] == [[n, n + 1] for n in range(7_000)]
        assert 65_536 < len(response.content) <= 100_000
        for text, id in (("x" * 9_000, "short"), ("x" * 5_000, "x" * 50_000)):
            body = {"documents": [{"text": text, "id": id}]}
            response = client.post(KEYPHRASES, json=body)
            assert response.status_code == 422
            assert "at most 100,000 are sent" in response.json()["detail"]


def test_invalid_limits_are_errors() -> None:
    with pytest.raises(ConfigError, match="the limit of body is 0"):
        Limits(body=0)
    for value in (math.inf, math.nan):  # the event loop has no such times
        with pytest.raises(ConfigError, match=f"seconds is {value}; expected a finite number"):
            Limits(seconds=value)
    with pytest.raises(ConfigError, match="only 10 can wait"):
        Limits(documents=11, queue=10)


class Client:
    """The other end of a connection, by hand."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)
        self.leaves = asyncio.Event()
        self.answers: list[Message] = []

    async def receive(self) -> Message:
        if self.parts:
            part = self.parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": part != b""}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.answers.append(message)


ANYWHERE = Access(hosts=("*",))
SCOPE: Scope = {"type": "http", "method": "POST", "path": KEYPHRASES, "headers": []}


def test_a_slow_body_times_out() -> None:
    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("nothing has been asked yet")

    client = Client(b"begins")
    gate = Gate(never, Limits(seconds=0.05), ANYWHERE, lambda: 3, lambda: 0)
    asyncio.run(gate(SCOPE, client.receive, client.send))
    assert client.answers[0]["status"] == 503


@pytest.mark.parametrize("parts", [(b"begins",), (b"whole", b"")])
def test_work_is_cancelled_when_its_client_disconnects(parts: tuple[bytes, ...]) -> None:
    """Before or after it has asked: what it wanted is given up."""
    given_up = []

    async def forever(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.append(True)
            raise

    async def visit() -> None:
        client = Client(*parts)
        gate = Gate(forever, Limits(), ANYWHERE, lambda: 3, lambda: 0)
        asyncio.get_running_loop().call_later(0.05, client.leaves.set)
        await asyncio.wait_for(gate(SCOPE, client.receive, client.send), 50)
        assert client.answers == []

    asyncio.run(visit())
    assert len(given_up) == len(parts) - 1


def test_the_number_of_bodies_in_memory_is_limited() -> None:
    async def forever(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(60)

    async def visit() -> None:
        gate = Gate(forever, Limits(connections=2), ANYWHERE, lambda: 3, lambda: 0)
        clients = [Client(b"x", b"") for _ in range(3)]
        tasks = [
            asyncio.ensure_future(gate(SCOPE, client.receive, client.send)) for client in clients
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=50)
        assert [client.answers[0]["status"] if client.answers else None for client in clients] == [
            None,
            None,
            429,
        ]
        assert (b"retry-after", b"3") in clients[2].answers[0]["headers"]
        for client in clients:
            client.leaves.set()
        await asyncio.wait(tasks, timeout=50)
        late = Client(b"x", b"")
        late.leaves.set()
        await gate(SCOPE, late.receive, late.send)
        assert late.answers == [], "there is room again"

    asyncio.run(visit())


def test_one_client_cannot_hold_all_places_for_files() -> None:
    """Idle uploads of an address leave half of them to others."""

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("no file is complete")

    async def visit() -> None:
        gate = Gate(never, Limits(files=4), ANYWHERE, lambda: 50, lambda: 0)
        tasks = []

        async def upload(address: str) -> Client:
            client, scope = Client(b"begins"), {**SCOPE, "path": FILES_PATH, "client": (address, 1)}
            tasks.append(asyncio.ensure_future(gate(scope, client.receive, client.send)))
            await asyncio.sleep(0)  # until it waits for the rest, or is refused
            return client

        clients = [await upload(address) for address in "aaaabbbc"]
        assert [bool(client.answers) for client in clients] == [
            *(False, False, True, True),
            *(False, False, True),
            True,
        ]
        refused = clients[2].answers[0]
        assert refused["status"] == 429
        assert (b"retry-after", b"2") in refused["headers"], "not that of the queue of documents"
        clients[0].leaves.set()
        await tasks[0]
        assert (await upload("a")).answers == [], "there is room again"
        for task in tasks:
            task.cancel()

    asyncio.run(visit())
    assert [Limits(files=files).client_files for files in (1, 2, 3, 4, 9)] == [1, 1, 1, 2, 4]


def test_a_client_that_reads_too_slowly_is_disconnected() -> None:
    """Its answer has started, so no error can be sent."""

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        assert (await receive())["body"] == b"whole"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(60)

    client = Client(b"whole", b"")
    gate = Gate(slow, Limits(seconds=0.05), ANYWHERE, lambda: 3, lambda: 0)
    asyncio.run(gate(SCOPE, client.receive, client.send))
    assert [answer["type"] for answer in client.answers] == ["http.response.start"]


def test_a_body_is_read_once() -> None:
    """Who asks again waits until the client leaves."""
    received: list[str] = []

    async def listen(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            received.append((await receive())["type"])

    async def visit() -> None:
        client = Client(b"whole", b"")
        gate = Gate(listen, Limits(), ANYWHERE, lambda: 3, lambda: 0)
        asyncio.get_running_loop().call_later(0.05, client.leaves.set)
        await asyncio.wait_for(gate(SCOPE, client.receive, client.send), 50)

    asyncio.run(visit())
    assert received[0] == "http.request"
    assert received[1:] in ([], ["http.disconnect"])


def test_internal_errors_are_not_hidden() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("ours")

    client = Client(b"x", b"")
    with pytest.raises(LookupError, match="ours"):
        asyncio.run(
            Gate(broken, Limits(), ANYWHERE, lambda: 3, lambda: 0)(
                SCOPE, client.receive, client.send
            )
        )
