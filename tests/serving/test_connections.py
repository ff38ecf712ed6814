"""Clients that send too much, too slowly or too often are limited, tested by sockets."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
import uvicorn
from uvicorn.server import ServerState

from one2set.data.document import Document
from one2set.keyphrases.inputs import AnyDocument
from one2set.keyphrases.results import KeyphraseList
from one2set.prediction.predictor import Check, never_stop
from one2set.serving.app import create_app
from one2set.serving.connections import make_limited_protocol
from one2set.serving.limits import FILES_PATH, Limits
from tests.serving.running import served
from tests.serving.test_limits import Slow

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    b"POST /v1/keyphrases HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n"
)
SOON, LATE = 0.3, 60.0  # seconds; tests that pass never wait for the second


@contextmanager
def run_server(**limits: float) -> Iterator[tuple[str, int]]:
    """The address of a server."""
    chosen = Limits(**limits)  # type: ignore[arg-type]
    with served(create_app(Slow(0), chosen), chosen) as url:
        yield "127.0.0.1", urlsplit(url).port or 0


def connect(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=LATE)


def send(client: socket.socket, *pieces: bytes) -> None:
    """As much as the server takes."""
    with contextlib.suppress(ConnectionError):
        for piece in pieces:
            client.sendall(piece)


def read(client: socket.socket) -> bytes:
    """Until the server closes."""
    result = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65_536):
            result += piece
    return result


def read_answer(client: socket.socket) -> bytes:
    """One answer. Its body may arrive after its head, if the machine is busy."""
    result = b""
    while piece := client.recv(65_536):
        result += piece
        head, end, body = result.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].split()[0]):
            break
    return result


def connect_and_send(address: tuple[str, int], request: bytes) -> tuple[socket.socket, bytes]:
    """A connection and the first answer on it. On a busy machine a head may arrive after `SOON`,
    so that the server closes without an answer; then we try again."""
    for _ in range(20):
        client = connect(address)
        send(client, request)
        with contextlib.suppress(ConnectionResetError):
            if answer := read_answer(client):
                return client, answer
        client.close()
    raise AssertionError("the server never answers")


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


@pytest.mark.parametrize("piece", [500, 5_000])
@pytest.mark.parametrize(
    "header", [b"X: " + b"x" * 3_000 + b"\r\n", b"X: x\r\n" * 400, b"X: x\r\n" * 20]
)
def test_a_head_that_is_too_large_gets_431(header: bytes, piece: int) -> None:
    """In one header or in many, at once or in pieces."""
    head = GET + header + b"Connection: close\r\n\r\n"
    with run_server(head=2_000) as address, connect(address) as client:
        send(client, *(head[n : n + piece] for n in range(0, len(head), piece)))
        answer = read(client)
        if len(head) < 2_000:
            assert status(answer) == 200
        elif answer:  # else the connection was reset while we were sending
            assert status(answer) == 431
            assert "more than 2,000 bytes" in json.loads(answer.split(b"\r\n\r\n")[1])["detail"]


def test_an_endless_head_is_not_read() -> None:
    endless = b"x" * 20_000_000
    with (
        run_server(head=2_000, head_seconds=600) as address,
        connect(address) as client,
        pytest.raises(ConnectionError),
    ):
        client.sendall(GET + endless)


def test_sizes_are_counted_per_request() -> None:
    """Limits are those of one request, not of a connection."""
    body = json.dumps({"documents": ["x" * 1_500]}).encode()
    post = POST + b"X: " + b"x" * 1_500 + b"\r\n\r\n" + chunk(body) + b"0\r\n\r\n"
    with run_server(head=2_000, body=2_000) as address, connect(address) as client:
        for _ in range(5):
            client.sendall(post)
            assert status(read_answer(client)) == 200


@pytest.mark.parametrize("begun", [b"\r\n", b"GET / HT", GET + b"X: 1\r\n"])
def test_a_slow_head_times_out(begun: bytes) -> None:
    """On a new connection, and after an answer."""
    with run_server(head_seconds=SOON) as address, connect(address) as client:
        assert read(client) == b"", "nor does one that never begins"
    with run_server(head_seconds=SOON) as address, connect(address) as client:
        send(client, begun)
        assert read(client) == b""
    with run_server(head_seconds=SOON) as address:
        client, answer = connect_and_send(address, GET + b"\r\n")
        with client:
            assert status(answer) == 200
            send(client, begun)
            assert read(client) == b""


def test_the_head_timeout_does_not_apply_to_the_answer() -> None:
    limits = Limits(head_seconds=SOON)
    body = json.dumps({"documents": ["a"]}).encode()
    with served(create_app(Slow(3 * SOON), limits), limits) as url:
        address = "127.0.0.1", urlsplit(url).port or 0
        client, answer = connect_and_send(address, POST + b"\r\n" + chunk(body) + b"0\r\n\r\n")
        client.close()
        assert status(answer) == 200


def test_a_refused_body_is_read_for_a_while() -> None:
    """So that a client which sends first and reads then learns why; but not for ever."""
    with run_server(body=1_000, head_seconds=SOON) as address:
        client, answer = connect_and_send(address, POST + b"\r\n" + chunk(b"x" * 500_000) * 4)
        with client:
            assert status(answer) == 413
            send(client, chunk(b"x"))
            assert read(client) == b""


@pytest.mark.parametrize(
    "junk", [chunk(b"x") * 49_000, chunk(b"{}") + b"0\r\n" + b"X: x\r\n" * 200_000]
)
def test_chunks_and_trailers_are_limited(junk: bytes) -> None:
    """What a body may have of its own around its content."""
    with run_server(body=50_000, head=2_000) as address, connect(address) as client:
        send(client, POST + b"\r\n", junk)
        answer = read(client)
        assert not answer or status(answer) == 413


def test_files_have_a_limit_of_their_own() -> None:
    """They are larger than requests with texts."""
    post = POST.replace(b"/v1/keyphrases", FILES_PATH.encode()).replace(
        b"application/json", b"application/octet-stream"
    )
    with run_server(body=1_000, file=2_000_000, characters=2_000_000) as address:
        for size, expected in ((1_800_000, 200), (6_000_000, 413)):
            with connect(address) as client:
                send(client, post + b"\r\n", chunk(b"words " * (size // 6)), b"0\r\n\r\n")
                assert status(read_answer(client)) == expected


def test_trailers_are_dropped() -> None:
    body = json.dumps({"documents": ["a"]}).encode()
    with run_server() as address, connect(address) as client:
        client.sendall(POST + b"\r\n" + chunk(body) + b"0\r\nHost: elsewhere\r\n\r\n")
        assert status(read_answer(client)) == 200


# As the HTTP client of Java sends it.
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"


@pytest.mark.parametrize("piece", [1, 50, 10_000])
def test_requests_that_offer_another_protocol_are_read_to_their_end(piece: int) -> None:
    """In pieces or whole, by each kind of body, and so is what follows on the connection."""
    body = json.dumps({"documents": ["a"]}).encode()
    stated = POST.replace(b"Transfer-Encoding: chunked", b"Content-Length: %d" % len(body))
    requests = (
        POST + OFFER + b"\r\n" + chunk(body) + b"0\r\n\r\n",
        stated + OFFER + b"\r\n" + body,
        GET + OFFER + b"\r\n",
        GET + b"\r\n",
    )
    with run_server() as address, connect(address) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for request in requests:
            send(client, *(request[n : n + piece] for n in range(0, len(request), piece)))
            assert status(read_answer(client)) == 200
        send(client, *requests * 3, GET + OFFER.replace(b"Upgrade,", b"Upgrade, close,") + b"\r\n")
        assert read(client).count(b"HTTP/1.1 200") == 13


def test_requests_that_offer_another_protocol_are_limited() -> None:
    with run_server(head=2_000) as address:
        with connect(address) as client:
            send(client, GET + OFFER.replace(b"h2c", b"h2c, " * 500) + b"\r\n")
            answer = read(client)
            assert not answer or status(answer) == 431
        with connect(address) as client:
            send(client, (GET + OFFER + b"\r\n") * 1_000)
            assert 0 < read(client).count(b"HTTP/1.1 ") < 100
        with connect(address) as client:
            send(client, b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n" + OFFER + b"\r\n")
            assert status(read_answer(client)) == 400


def test_pipelined_requests_are_limited() -> None:
    with run_server() as address, connect(address) as client:
        send(client, (GET + b"\r\n") * 12 + GET + b"Connection: close\r\n\r\n")
        assert read(client).count(b"HTTP/1.1 200") == 13
    with run_server() as address, connect(address) as client:
        send(client, (GET + b"\r\n") * 1_000)
        assert read(client).count(b"HTTP/1.1 200") < 100


@pytest.mark.parametrize("limits", [{"connections": 3}, {"client_connections": 3}])
def test_connections_are_limited(limits: dict[str, float]) -> None:
    """Those that are refused learn why, and those that end make room."""
    with run_server(**limits) as address, ExitStack() as stack:
        clients = [stack.enter_context(connect(address)) for _ in range(3)]
        for client in clients:
            client.sendall(GET + b"\r\n")
            assert status(read_answer(client)) == 200
        with connect(address) as refused:
            answer = read(refused)
            assert status(answer) == 503
            assert b"too many connections" in answer
        clients[0].sendall(GET + b"Connection: close\r\n\r\n")
        assert status(read(clients[0])) == 200
        with connect(address) as late:
            late.sendall(GET + b"\r\n")
            assert status(read_answer(late)) == 200


def test_clients_are_told_apart_by_their_address() -> None:
    with run_server(client_connections=1) as address, ExitStack() as stack:
        for source in ("127.0.0.1", "127.0.0.2"):
            client = socket.create_connection(address, timeout=LATE, source_address=(source, 0))
            stack.enter_context(client)
            client.sendall(GET + b"\r\n")
            assert status(read_answer(client)) == 200


def test_many_concurrent_clients_are_served() -> None:
    with run_server() as address, ThreadPoolExecutor(16) as threads:

        def ask(_: int) -> int:
            with connect(address) as client:
                client.sendall(GET + b"Connection: close\r\n\r\n")
                return status(read(client))

        assert set(threads.map(ask, range(300))) == {200}


def test_a_client_that_does_not_read_is_disconnected() -> None:
    """Its answer stays in memory no longer than a request may take."""
    texts = [f"{n} " * 300 for n in range(64)]
    body = json.dumps({"documents": [{"id": text * 16, "text": text} for text in texts]}).encode()
    limits = Limits(seconds=1.0, client_connections=1, head_seconds=60)
    with (
        served(create_app(Slow(0), limits), limits) as url,
        socket.socket() as client,
    ):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.settimeout(LATE)
        address = "127.0.0.1", urlsplit(url).port or 0
        client.connect(address)
        # Answers of one megabyte, of which the system buffers some.
        send(client, *[POST + b"\r\n" + chunk(body) + b"0\r\n\r\n"] * 8)
        deadline = time.monotonic() + LATE
        while True:
            assert time.monotonic() < deadline
            with connect(address) as other:
                send(other, GET + b"Connection: close\r\n\r\n")
                if status(read(other) or b"- 503") == 200:
                    break  # the only connection that is allowed has ended
            time.sleep(0.1)


def test_the_timers_of_a_lost_connection_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they keep it in memory for as long as a request may take."""
    timers: list[asyncio.TimerHandle] = []
    make_protocol: Any = make_limited_protocol(Limits())

    async def lose() -> None:
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def note(*arguments: Any, **named: Any) -> asyncio.TimerHandle:
            timers.append(call_later(*arguments, **named))
            return timers[-1]

        monkeypatch.setattr(loop, "call_later", note)
        config = uvicorn.Config(create_app(Slow(0)), lifespan="off")
        config.load()
        protocol = make_protocol(config=config, server_state=ServerState(), app_state={})
        transport = Mock(spec=asyncio.Transport)
        transport.get_extra_info.return_value = None
        protocol.connection_made(transport)
        protocol.pause_writing()
        assert len(timers) == 2, "one for the head, one for writing"
        protocol.connection_lost(None)

    asyncio.run(lose())
    assert all(timer.cancelled() for timer in timers)


class Endless(Slow):
    """A generator that works until its check raises."""

    def __init__(self) -> None:
        super().__init__(0)
        self.begun, self.ended = threading.Event(), threading.Event()

    def stream_selected(
        self, documents: Iterable[AnyDocument], *selection: Any, check: Check = never_stop
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        self.begun.set()
        deadline = time.monotonic() + LATE
        try:
            while time.monotonic() < deadline:
                check()
                time.sleep(0.01)
        finally:
            self.ended.set()
        yield from ()


def test_work_ends_when_its_client_disconnects() -> None:
    """And what else it has sent is not begun."""
    body = json.dumps({"documents": ["x" * 30_000] * 3}).encode()  # long ones are batches
    generator = Endless()
    with served(create_app(generator)) as url:
        client = connect(("127.0.0.1", urlsplit(url).port or 0))
        client.sendall(POST + b"\r\n" + chunk(body) + b"0\r\n\r\n")
        assert generator.begun.wait(LATE)
        assert not generator.ended.is_set()
        generator.begun.clear()
        client.close()
        assert generator.ended.wait(LATE / 2)
    assert not generator.begun.is_set()
