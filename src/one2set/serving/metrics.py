"""Metrics: what the server has done, in Prometheus's form."""

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64)
_ELSEWHERE = "other"  # all paths that do not exist: a client must not make up new series


class Metrics:
    """Counters of one server; another one in the same process has its own."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        self.waiting = Gauge("one2set_waiting_documents", "Documents in the queue.", registry=own)
        self._requests = Counter(
            "one2set_requests", "Requests answered.", ["path", "status"], registry=own
        )
        self._seconds = Histogram(
            "one2set_request_seconds",
            "From a request's head to the end of its answer.",
            ["path"],
            buckets=_SECONDS,
            registry=own,
        )
        self._documents = Counter("one2set_documents", "Documents computed.", registry=own)
        self._batch_documents = Histogram(
            "one2set_batch_documents",
            "Documents that the engine computes together.",
            buckets=_DOCUMENTS,
            registry=own,
        )
        self._batch_seconds = Histogram(
            "one2set_batch_seconds", "Time to compute such a batch.", buckets=_SECONDS, registry=own
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
        """All metrics in the format of Prometheus."""
        return generate_latest(self._registry)


class Observer:
    """Counts every request. The outermost layer, so that it sees what others refuse."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 499  # nginx's number for a client that has left

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observed)
        finally:
            path = scope["path"] if scope["path"] in self._paths else _ELSEWHERE
            self._metrics.record_request(path, status, time.perf_counter() - start)
