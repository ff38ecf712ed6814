"""Limits: what protects the server from its clients, whether they mean harm or not.

`Gate` stands before everything that costs: who may come in, how many at once, how much each may
send and how long it may take. It reads the whole body of a request, within its limit, before
anything else sees it. `connections` guards what happens before a request has arrived.
"""

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from one2set.errors import ConfigError

FILES_PATH = "/v1/text"  # where clients send files
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = "*"
# Paths for which a token is needed, where one is set.
_GUARDED = ("/v1/", "/metrics")
_LONGEST_NAME = 100  # characters of a client's words in an error message


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them."""

    body: int = 1_000_000  # bytes of a request's body, unless it is a file
    file: int = 20_000_000  # bytes of a file
    files: int = 4  # that are held at once
    characters: int = 200_000  # of a document
    documents: int = 64  # of a request
    queue: int = 256  # documents that wait, of all requests
    seconds: float = 60.0  # that a request may take
    answer: int = 10_000_000  # bytes of an answer
    head: int = 65_536  # bytes of a request's head: its first line and its headers
    head_seconds: float = 10.0  # in which the head must arrive
    connections: int = 512  # open at once
    client_connections: int = 256  # of these, from one address

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not (value := getattr(self, name)) > 0:
                raise ConfigError(f"the limit of {name} is {value}; expected more than 0")
        if self.documents > self.queue:
            raise ConfigError(
                f"a request may have {self.documents} documents, but only {self.queue} can wait; "
                "pass a longer --queue or smaller --max-documents"
            )

    @property
    def client_queue(self) -> int:
        """Documents of one client that wait. A quarter of the queue is left to others, unless a
        single request may fill it."""
        return max(self.documents, self.queue - self.queue // 4)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the server."""

    token: str | None = None  # clients must send it; None lets everyone in
    hosts: tuple[str, ...] = LOOPBACK  # names by which clients may call the server
    origins: tuple[str, ...] = ()  # sites whose pages may use it from a browser

    def __post_init__(self) -> None:
        if self.token is not None and (not self.token or self.token != self.token.strip()):
            state = "begins or ends with white space" if self.token.strip() else "is empty"
            raise ConfigError(
                f"the token {state}; expected a secret word; pass another --token or set "
                "ONE2SET_TOKEN to one, or use neither to let everyone in"
            )
        for host in self.hosts:
            if host != ANY_HOST and _host_name(host if ":" not in host else f"[{host}]") != host:
                raise ConfigError(
                    f"the allowed host is {host!r}; expected a name or an address in lower case, "
                    f"without scheme and port, such as keyphrases.example.org, or {ANY_HOST}"
                )


class ProblemError(HTTPException):
    """A request that is refused: the status, and what the client is told."""

    def response(self) -> JSONResponse:
        """As the client gets it."""
        return JSONResponse({"detail": self.detail}, self.status_code, self.headers)


class BusyError(ProblemError):
    """There is too much to do already."""

    def __init__(self, retry_after: int) -> None:
        headers = {"Retry-After": str(retry_after)}
        super().__init__(429, f"the server is busy; try again in {retry_after} s", headers)


class Gate:
    """The layer that enforces what can be enforced without reading what a request says."""

    def __init__(
        self, app: ASGIApp, limits: Limits, access: Access, retry_after: Callable[[], int]
    ) -> None:
        self._app, self._limits, self._retry_after = app, limits, retry_after
        self._token = None if access.token is None else access.token.encode()
        self._hosts = frozenset(access.hosts)
        # Requests that may hold a body, and that may hold a file.
        self._inside = {False: 0, True: 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_host(scope)
            self._check_token(scope)
            if scope["method"] == "HEAD":
                await self._app({**scope, "method": "GET"}, receive, _without_body(send))
            elif scope["method"] in ("GET", "OPTIONS"):
                await self._app(scope, receive, send)
            else:
                await self._admit(scope, receive, send)
        except ProblemError as problem:
            await problem.response()(scope, receive, send)

    def _check_host(self, scope: Scope) -> None:
        """A site can give its own name the address of this server. Its pages could then read our
        answers, because for the browser we are that site (DNS rebinding). The name tells."""
        # Starlette's TrustedHostMiddleware answers in plain text that does not say what to do.
        if ANY_HOST in self._hosts:
            return
        given = Headers(scope=scope).getlist("host")
        if len(given) != 1 or _host_name(given[0]) not in self._hosts:
            named = ", ".join(given)[:_LONGEST_NAME] or "missing"
            raise ProblemError(
                400,
                f"the Host header is {named}; allowed are {', '.join(sorted(self._hosts))}; "
                "start the server with --allowed-host for another name",
            )

    def _check_token(self, scope: Scope) -> None:
        if self._token is None or not scope["path"].startswith(_GUARDED):
            return
        scheme, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        # Compared in constant time: how long it takes must not tell how much of it is right.
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            given.strip().encode("latin-1"), self._token
        ):
            headers = {"WWW-Authenticate": "Bearer"}
            raise ProblemError(401, "a token is needed: Authorization: Bearer …", headers)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = scope["path"] == FILES_PATH
        if self._inside[file] >= (self._limits.files if file else self._limits.connections):
            raise BusyError(self._retry_after())
        self._inside[file] += 1
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            async with asyncio.timeout(self._limits.seconds):
                body = await self._body(scope, receive)
                if body is not None:
                    await self._answer(scope, body, receive, sending)
        except TimeoutError:
            if begun:
                return  # the client reads too slowly: the connection is closed
            headers = {"Retry-After": str(self._retry_after())}
            told = f"not done in {self._limits.seconds:g} s; send less, or try again later"
            raise ProblemError(503, told, headers) from None
        finally:
            self._inside[file] -= 1

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """None if the client leaves."""
        most = self._limits.file if scope["path"] == FILES_PATH else self._limits.body
        told = f"the request is too large; at most {most:,} bytes are read"
        stated = Headers(scope=scope).get("content-length", "0")
        if stated.isdecimal() and int(stated) > most:
            raise ProblemError(413, told)
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise ProblemError(413, told)
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the request through, until it is answered or its client leaves."""
        unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        leaving = asyncio.ensure_future(_left(receive))

        async def replay() -> Message:
            return unread.pop() if unread else await asyncio.shield(leaving)

        work = asyncio.ensure_future(_run(self._app, scope, replay, send))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, leaving):
                task.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)


def _host_name(given: str) -> str | None:
    """A Host header without its port, and an IPv6 address without its brackets."""
    try:
        return urlsplit(f"//{given}").hostname
    except ValueError:
        return None


def _without_body(send: Send) -> Send:
    """For HEAD, which is answered as GET is, without the body."""

    async def headed(message: Message) -> None:
        await send({**message, "body": b""} if "body" in message else message)

    return headed


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _left(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
