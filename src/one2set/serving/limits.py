"""Limits: what protects the server from its clients, wittingly or not.

`Gate` stands before everything that costs: who may come in, how many at once, how much each may
bring and how long it may take. It reads a request's body whole, within its limit, before anything
else sees it.
"""

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from one2set.errors import ConfigError

# Paths for which a token is needed, where one is set.
_GUARDED = ("/v1/", "/metrics")


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them."""

    body: int = 1_000_000  # bytes of a request
    characters: int = 200_000  # of a document
    documents: int = 64  # of a request
    queue: int = 256  # documents that wait, of all requests
    seconds: float = 60.0  # that a request may take

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not (value := getattr(self, name)) > 0:
                raise ConfigError(f"the limit of {name} is {value}; expected more than 0")
        if self.documents > self.queue:
            raise ConfigError(
                f"a request may have {self.documents} documents, but only {self.queue} can wait; "
                "pass a longer --queue or smaller --max-documents"
            )


class ProblemError(Exception):
    """A request that is refused: the status, and what the client is told."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers

    def response(self) -> JSONResponse:
        """As the client gets it."""
        return JSONResponse({"detail": self.detail}, self.status, self.headers)


class BusyError(ProblemError):
    """There is too much to do already."""

    def __init__(self, retry_after: int) -> None:
        headers = {"Retry-After": str(retry_after)}
        super().__init__(429, f"too much to do; try again in {retry_after} s", headers)


class Gate:
    """The layer that enforces what can be enforced without reading what a request says."""

    def __init__(
        self, app: ASGIApp, limits: Limits, token: str | None, retry_after: Callable[[], int]
    ) -> None:
        self._app, self._limits, self._retry_after = app, limits, retry_after
        self._token = None if token is None else token.encode()
        self._inside = 0  # requests that may hold a body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_token(scope)
            if scope["method"] in ("GET", "HEAD", "OPTIONS"):
                await self._app(scope, receive, send)
                return
            if self._inside >= self._limits.queue:
                raise BusyError(self._retry_after())
            self._inside += 1
            try:
                await self._admit(scope, receive, send)
            finally:
                self._inside -= 1
        except ProblemError as problem:
            await problem.response()(scope, receive, send)

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
                raise
            headers = {"Retry-After": str(self._retry_after())}
            told = f"not done in {self._limits.seconds:g} s; send less, or try again later"
            raise ProblemError(503, told, headers) from None

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """None if the client leaves."""
        told = f"the request is too large; at most {self._limits.body:,} bytes are read"
        stated = Headers(scope=scope).get("content-length", "0")
        if stated.isdecimal() and int(stated) > self._limits.body:
            raise ProblemError(413, told)
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self._limits.body:
                raise ProblemError(413, told)
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Let the request through, until it is answered or its client leaves."""

        async def replay() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        work = asyncio.ensure_future(_run(self._app, scope, replay, send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, leaving):
                task.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
