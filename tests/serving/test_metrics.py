"""Requests and batches are counted, and clients cannot create series."""

import asyncio

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Message, Receive, Scope, Send

from one2set.serving.metrics import Metrics, Observer


def read_counters(client: TestClient) -> dict[tuple[str, ...], float]:
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def test_requests_documents_and_batches_are_counted(client: TestClient) -> None:
    client.post("/v1/keyphrases", json={"documents": ["words", "of", "a set"]})
    client.post("/v1/keyphrases", json={"documents": []})
    result = read_counters(client)
    assert result["one2set_requests_total", "/v1/keyphrases", "200"] == 1
    assert result["one2set_requests_total", "/v1/keyphrases", "422"] == 1
    assert result["one2set_documents_total",] == 3
    assert result["one2set_batch_documents_sum",] == 3
    assert result["one2set_batch_seconds_count",] == 1
    assert result["one2set_batch_seconds_sum",] > 0
    assert result["one2set_request_seconds_count", "/v1/keyphrases"] == 2
    assert result["one2set_waiting_documents",] == 0
    assert read_counters(client)["one2set_requests_total", "/metrics", "200"] == 1


def test_unknown_paths_are_one_series(client: TestClient) -> None:
    for number in range(5):
        client.get(f"/made-up-{number}")
    result = read_counters(client)
    assert result["one2set_requests_total", "other", "404"] == 5
    assert not [key for key in result if "/made-up-1" in key]


@pytest.mark.parametrize(
    ("error", "started", "status"),
    [
        (ZeroDivisionError, False, "500"),
        (ZeroDivisionError, True, "500"),
        (asyncio.CancelledError, False, "499"),
        (asyncio.CancelledError, True, "200"),
    ],
)
def test_internal_errors_and_clients_that_leave_are_told_apart(
    error: type[BaseException], started: bool, status: str
) -> None:
    async def fail(scope: Scope, receive: Receive, send: Send) -> None:
        if started:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    async def ignore(message: Message) -> None:
        pass

    async def never() -> Message:
        raise AssertionError

    metrics = Metrics()
    observer = Observer(fail, metrics, frozenset({"/v1/text"}))
    with pytest.raises(error):
        asyncio.run(observer({"type": "http", "path": "/v1/text"}, never, ignore))
    (counted,) = (
        sample.labels
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name == "one2set_requests_total"
    )
    assert counted == {"path": "/v1/text", "status": status}
