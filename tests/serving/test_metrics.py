"""Requests and batches are counted, and clients cannot create series."""

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families


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
