"""Metrics of the server for Prometheus."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64)
_OTHER_PATHS = "other"  # all unknown paths: clients must not create new time series


class Metrics:
    """The metrics of one server; another one in the same process has its own."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self.waiting = Gauge("one2set_waiting_documents", "Documents in the queue.", registry=own)
        self._requests = Counter(
            "one2set_requests", "Requests answered.", ["path", "status"], registry=own
        )
        self._seconds = Histogram(
            "one2set_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=own,
        )
        self._documents = Counter("one2set_documents", "Documents computed.", registry=own)
        self._batch_documents = Histogram(
            "one2set_batch_documents",
            "Documents per batch.",
            buckets=_DOCUMENTS,
            registry=own,
        )
        self._batch_seconds = Histogram(
            "one2set_batch_seconds", "Time to compute a batch.", buckets=_SECONDS, registry=own
        )

    def record_batch(self, documents: int, seconds: float) -> None:
        """Count a computed batch."""
        self._documents.inc(documents)
        self._batch_documents.observe(documents)
        self._batch_seconds.observe(seconds)

    def record_request(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class Observer:
    """Middleware that counts every request. It is the outermost of ours, so it sees refused ones
    too. Only Starlette's answer to internal errors, with status 500, is made outside of it."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 499  # nginx's, if the client leaves before it is answered

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except Exception:
            status = 500
            raise
        finally:
            path = scope["path"] if scope["path"] in self._paths else _OTHER_PATHS
            self._metrics.record_request(path, status, time.perf_counter() - start)
