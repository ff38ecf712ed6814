"""Large bodies are handled in a thread, and few errors are reported."""

import json
import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel, ValidationError

from one2set.serving import bodies
from one2set.serving.bodies import parse
from one2set.serving.limits import Limits, ProblemError
from one2set.serving.schema import ExploreRequest, KeyphrasesRequest, SizedRequest


@pytest.mark.parametrize(("length", "apart"), [(10, False), (100_000, True)])
def test_large_bodies_do_not_block_the_event_loop(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, length: int, apart: bool
) -> None:
    names: list[str] = []

    def noted(*given: Any) -> Any:
        names.append(threading.current_thread().name)
        return parse(*given)

    monkeypatch.setattr(bodies, "parse", noted)
    text = ("a set of words " * length)[:length]
    response = client.post("/v1/explore", json={"text": text})
    assert response.status_code == 200
    assert ["AnyIO worker" in name for name in names] == [apart]


def test_what_was_parsed_is_what_is_answered(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastAPI neither parses a body again nor validates it."""
    actual = ExploreRequest(text="Words of a set.")
    expected = client.post("/v1/explore", json={"text": actual.text}).json()
    monkeypatch.setattr(bodies, "parse", lambda *_: actual)
    assert client.post("/v1/explore", json={"never": "read"}).json() == expected


def refused(model: type[SizedRequest], body: bytes, **limits: int) -> ProblemError:
    with pytest.raises(ProblemError) as found:
        parse(model, body, Limits(**limits))
    return found.value


@pytest.mark.parametrize(
    "given",
    [
        {"documents": [1] * 64},
        {"documents": [{"id": 1, "title": 2, "text": 3}] * 64, "top": "x", "more": "y"},
        {f"k{n}": 1 for n in range(1_000)},
        {"documents": [{f"k{n}": 1 for n in range(1_000)}] * 64},
    ],
)
def test_at_most_three_errors_are_reported(given: dict[str, Any]) -> None:
    """However many things are wrong: what a client can make many of makes one error."""
    with pytest.raises(ValidationError) as found:
        KeyphrasesRequest.model_validate(given)
    assert 1 <= found.value.error_count() <= 20
    assert len(refused(KeyphrasesRequest, json.dumps(given).encode()).detail) < 500


def test_sizes_are_checked_before_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it is too large to be validated")

    monkeypatch.setattr(BaseModel, "model_validate", never)
    many = json.dumps({"documents": [1] * 5}).encode()
    assert "5 documents; at most 4" in refused(KeyphrasesRequest, many, documents=4).detail
    long = json.dumps({"documents": [{"text": "\ud800" * 5, "id": 7}]}).encode()
    assert "5 characters; at most 4" in refused(KeyphrasesRequest, long, characters=4).detail
    long = json.dumps({"text": "12345"}).encode()
    assert "5 characters; at most 4" in refused(ExploreRequest, long, characters=4).detail


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"text": "\xff"}'])
def test_invalid_json_is_refused(body: bytes) -> None:
    assert refused(ExploreRequest, body).status_code == 400


@pytest.mark.parametrize("body", [b"7", b"[]", b"null", b'"text"', b"[[[1]]]"])
def test_json_that_is_not_an_object_is_refused(body: bytes) -> None:
    assert refused(ExploreRequest, body).status_code == 422


def test_other_content_types_are_refused(client: TestClient) -> None:
    """Pages of other sites can send these without asking the server first."""
    body = json.dumps({"documents": ["a"]})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        response = client.post("/v1/keyphrases", content=body, headers={"Content-Type": kind})
        assert response.status_code == 422
        assert "application/json" in response.json()["detail"]
