"""Connections: limits that apply before a request is complete.

uvicorn waits for the head of a request without a timeout, accepts any number of connections, and
reads heads of any size. Its parser copies a header again for every piece that arrives, in quadratic
time. This protocol adds limits; those of `Gate` come after it. It also reads the bodies of requests
that offer another protocol, which uvicorn loses.
"""

import asyncio
import json
from collections import Counter
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from one2set.serving.limits import Limits

_MAX_PIPELINED = 16  # requests that a client may send before the first is answered


class _Parser(httptools.HttpRequestParser):
    """A parser that ignores offers to speak another protocol, such as HTTP/2.

    httptools takes all that follows such a head for the other protocol, so the body of the request
    would be lost. The HTTP client of Java offers HTTP/2 with every request.
    """

    def __init__(self, protocol: Any) -> None:
        super().__init__(protocol)
        self._protocol = protocol
        self.set_dangerous_leniencies(lenient_data_after_close=True)  # like uvicorn

    def feed_data(self, data: Any) -> None:
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as stopped:
            protocol = self._protocol
            if not protocol.has_ignored_offer:
                raise
            version = self.get_http_version().encode()
            lines = [b"%s %s HTTP/%s" % (self.get_method(), protocol.url, version)]
            lines += [b"%s: %s" % header for header in protocol.headers if header[0] != b"upgrade"]
            # This one would be in the state after an upgrade.
            protocol.parser = _Parser(protocol)
            protocol.parser.feed_data(b"\r\n".join([*lines, b"", data[stopped.args[0] :]]))


def make_limited_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Make uvicorn's protocol with limits. The class counts the connections of one server."""
    counts: Counter[str] = Counter()  # open connections by the address of the client

    class LimitedProtocol(HttpToolsProtocol):
        _address: str | None = None  # if the connection is counted
        _in_head = True  # or before a head; False in a body
        _head_size = 0  # bytes of the head that are parsed
        _received = 0  # bytes since the head or the body began
        _head_timer: asyncio.TimerHandle | None = None
        _write_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.parser = _Parser(self)
            transport.set_write_buffer_limits(0)  # calls `pause_writing` whenever data is unsent
            address = self.client[0] if self.client else ""
            full = counts.total() >= limits.connections
            if full or counts[address] >= limits.client_connections:
                self._refuse(503, "too many connections; try again later")
                return
            counts[address] += 1
            self._address = address
            self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._address is not None:
                counts[self._address] -= 1
                if not counts[self._address]:
                    del counts[self._address]
            self._stop_head_timer()
            self._stop_write_timer()  # uvicorn does not call `resume_writing` here
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            self._received += len(data)
            super().data_received(data)
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete:
                # The rest of a refused request is read, which is cheap, but not for ever.
                self._expect_head()
            if self._in_head and self._received > limits.head:
                self._refuse(431, f"the head of the request has more than {limits.head:,} bytes")
            elif self._answering:
                most = limits.get_body_limit(self.cycle.scope["path"])
                # Chunked encoding adds lines to a body; in useful chunks, fewer bytes than data.
                if self._received > limits.head + 2 * most:
                    self._refuse(413, f"the body of the request has more than {most:,} bytes")

        @property
        def _answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        @property
        def has_ignored_offer(self) -> bool:
            """Whether the head that is being parsed offers a protocol that we do not speak."""
            if not self.parser.should_upgrade() or self._should_upgrade():
                return False
            return any(name == b"upgrade" for name, _ in self.headers)  # else it is CONNECT

        # Callbacks of the parser; if the head has an ignored offer, it is parsed again without it.

        def on_message_begin(self) -> None:
            if len(self.pipeline) >= _MAX_PIPELINED:
                raise httptools.HttpParserError("too many requests at once")
            self._head_size = 0
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._head_size += len(url)
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._in_head:  # trailers after a body are ignored
                self._head_size += len(name) + len(value) + len(": \r\n")
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            if self._head_size > limits.head:
                raise httptools.HttpParserError("the head is too large")
            if self.has_ignored_offer:
                return
            self._in_head, self._received = False, 0
            self._stop_head_timer()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            if self.has_ignored_offer:
                return
            self._in_head, self._received = True, 0
            super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            if self._head_size > limits.head:
                self._refuse(431, f"the head of the request has more than {limits.head:,} bytes")
            else:
                self._refuse(400, "the request is not valid HTTP/1.1")

        # Timeouts

        def _expect_head(self) -> None:
            if self._head_timer is None:
                close = self.transport.close
                self._head_timer = self.loop.call_later(limits.head_seconds, close)

        def _stop_head_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def pause_writing(self) -> None:
            super().pause_writing()
            # If the client does not read, `close` would never end the connection.
            self._write_timer = self.loop.call_later(limits.seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_write_timer()

        def _stop_write_timer(self) -> None:
            if self._write_timer is not None:
                self._write_timer.cancel()
                self._write_timer = None

        def _refuse(self, status: int, detail: str) -> None:
            """Close the connection, after an error response unless an answer has started."""
            if not self._answering or not self.cycle.response_started:
                body = json.dumps({"detail": detail}).encode()
                head = (
                    f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
                    f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
                    "connection: close\r\n\r\n"
                )
                self.transport.write(head.encode() + body)
            self.transport.close()

    return LimitedProtocol
