"""Limits: protect the server from clients that ask too much, on purpose or not.

`Gate` runs before everything expensive. It checks who may use the server, how many requests run at
once, how large they are and how long they take. It reads the whole body of a request, up to the
limit, before other code sees it. `connections` has the limits before a request is complete.
"""

import asyncio
import hmac
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from one2set.errors import ConfigError

FILES_PATH = "/v1/text"  # clients send files here
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = "*"
# As browsers send it; that of a page from a file is null.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\sA-Z/?#@]+|null|\*")
# These need the token, if one is set.
_PROTECTED = ("/v1/", "/metrics")
# Seconds; large files take as long to read. The queue of documents says nothing about files.
_FILE_RETRY = 2
MAX_SHOWN = 100  # characters of a client's input in an error message


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server."""

    body: int = 1_000_000  # bytes of a request's body, unless it is a file
    file: int = 20_000_000  # bytes of a file
    files: int = 4  # in memory at once
    characters: int = 200_000  # of a document
    documents: int = 64  # of a request
    queue: int = 256  # waiting documents of all requests
    seconds: float = 60.0  # of a request
    answer: int = 10_000_000  # bytes of an answer
    head: int = 65_536  # bytes of a request's head: its first line and its headers
    head_seconds: float = 10.0  # until the head has arrived
    connections: int = 512  # open at once
    client_connections: int = 256  # of these, by one address

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ConfigError(
                    f"the limit of {name} is {value}; expected a finite number above 0"
                )
        if self.documents > self.queue:
            raise ConfigError(
                f"a request may have {self.documents} documents, but only {self.queue} can wait; "
                "pass a longer --queue or smaller --max-documents"
            )

    @property
    def client_queue(self) -> int:
        """Maximum of waiting documents of one client. A quarter of the queue is reserved for
        others, unless a single request may fill it."""
        return max(self.documents, self.queue - self.queue // 4)

    @property
    def client_files(self) -> int:
        """Maximum of files of one client: half of all, so that idle uploads of one address do not
        keep out others."""
        return max(1, self.files // 2)

    def get_body_limit(self, path: str) -> int:
        """Maximum bytes of the body of a request to this path."""
        return self.file if path == FILES_PATH else self.body


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the server."""

    token: str | None = None  # that clients must send; None to allow everyone
    hosts: tuple[str, ...] = LOOPBACK  # allowed values of the Host header
    origins: tuple[str, ...] = ()  # sites whose pages may send requests (CORS)

    def __post_init__(self) -> None:
        if self.token is not None and (not self.token or self.token != self.token.strip()):
            state = "begins or ends with white space" if self.token.strip() else "is empty"
            raise ConfigError(
                f"the token {state}; expected a secret word; pass another --token or set "
                "ONE2SET_TOKEN, or neither to allow everyone"
            )
        for host in self.hosts:
            if host != ANY_HOST and _parse_host(host if ":" not in host else f"[{host}]") != host:
                raise ConfigError(
                    f"the allowed host is {host!r}; expected a name or an address in lower case, "
                    f"without scheme and port, such as keyphrases.example.org, or {ANY_HOST}"
                )
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"the allowed origin is {origin!r}; expected scheme and host in lower case "
                    "without a path, such as https://example.org, or *"
                )


class ProblemError(HTTPException):
    """A refused request: the status, and the message for the client."""

    def response(self) -> JSONResponse:
        """The response to the client."""
        return JSONResponse({"detail": self.detail}, self.status_code, self.headers)


class BusyError(ProblemError):
    """The queue is full."""

    def __init__(self, retry_after: int) -> None:
        headers = {"Retry-After": str(retry_after)}
        super().__init__(429, f"the server is busy; try again in {retry_after} s", headers)


class Gate:
    """Middleware that enforces the limits that do not depend on the content of a request."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        access: Access,
        retry_after: Callable[[], int],
        count_abandoned: Callable[[], int],
    ) -> None:
        """`retry_after` gives the seconds after which a refused client may try again, and
        `count_abandoned` the number of files that stay in memory after their requests."""
        self._app, self._limits, self._retry_after = app, limits, retry_after
        self._count_abandoned = count_abandoned
        self._token = None if access.token is None else access.token.encode()
        self._hosts = frozenset(access.hosts)
        # The number of requests that have a body, keyed by whether the path accepts files, and by
        # the address of the client.
        self._active: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_host(scope)
            self._check_token(scope)
            if scope["method"] == "HEAD":
                await self._app({**scope, "method": "GET"}, receive, _drop_body(send))
            elif scope["method"] in ("GET", "OPTIONS"):
                await self._app(scope, receive, send)
            else:
                await self._admit(scope, receive, send)
        except ProblemError as problem:
            await problem.response()(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        """Prevent DNS rebinding: a site can give its own name the address of this server. To the
        browser we are then that site, and its pages can read our answers."""
        # Starlette's TrustedHostMiddleware answers in plain text, without advice.
        if ANY_HOST in self._hosts:
            return
        given = Headers(scope=scope).getlist("host")
        if len(given) != 1 or _parse_host(given[0]) not in self._hosts:
            shown = ", ".join(given)[:MAX_SHOWN] or "missing"
            raise ProblemError(
                400,
                f"the Host header is {shown}; allowed are {', '.join(sorted(self._hosts))}; "
                "start the server with --allowed-host to allow another name",
            )

    def _check_token(self, scope: Scope) -> None:
        if self._token is None or not scope["path"].startswith(_PROTECTED):
            return
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        # In constant time, so that the time does not tell how much of the token is right.
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            given.strip().encode("latin-1"), self._token
        ):
            headers = {"WWW-Authenticate": "Bearer"}
            raise ProblemError(401, "a token is needed: Authorization: Bearer …", headers)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = scope["path"] == FILES_PATH
        active, address = self._active[file], (scope.get("client") or ("",))[0]
        if file:
            held = active.total() + self._count_abandoned()
            full = held >= self._limits.files or active[address] >= self._limits.client_files
        else:
            full = active.total() >= self._limits.connections
        if full:
            raise BusyError(_FILE_RETRY if file else self._retry_after())
        active[address] += 1
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._read_body(scope, receive)
                if body is not None:
                    await self._answer(scope, body, receive, send_and_note)
        except TimeoutError:
            if started:
                return  # the client reads too slowly: the connection is closed
            headers = {"Retry-After": str(_FILE_RETRY if file else self._retry_after())}
            detail = f"not done in {self._limits.seconds:g} s; send less, or try again later"
            raise ProblemError(503, detail, headers) from None
        finally:
            active[address] -= 1
            if not active[address]:
                del active[address]

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the body; None if the client disconnects."""
        most = self._limits.get_body_limit(scope["path"])
        detail = f"the request is too large; at most {most:,} bytes are allowed"
        stated = Headers(scope=scope).get("content-length", "0")
        if stated.isdecimal() and int(stated) > most:
            raise ProblemError(413, detail)
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise ProblemError(413, detail)
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application until it has answered or the client disconnects."""
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))

        async def replay() -> Message:
            return unread.pop() if unread else await asyncio.shield(disconnect)

        work = asyncio.ensure_future(_run(self._app, scope, replay, send))
        try:
            await asyncio.wait({work, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, disconnect):
                task.cancel()
            await asyncio.gather(work, disconnect, return_exceptions=True)


def _parse_host(given: str) -> str | None:
    """Remove the port of a Host header, and the brackets of an IPv6 address."""
    try:
        return urlsplit(f"//{given}").hostname
    except ValueError:
        return None


def _drop_body(send: Send) -> Send:
    """Send the answer to GET without its body, for HEAD."""

    async def send_head(message: Message) -> None:
        await send({**message, "body": b""} if "body" in message else message)

    return send_head


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _wait_for_disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
