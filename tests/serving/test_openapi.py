"""Answers conform to the OpenAPI description, for any request."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving.app import create_app
from one2set.serving.limits import Limits
from tests.serving.running import served

_CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_READ = ["/healthz", "/readyz", "/metrics"]
_ASK = ["/v1/keyphrases", "/v1/explore"]
_SEND = "/v1/text"  # where most bytes are no file that can be read


@pytest.fixture(scope="module")
def schema(generator: KeyphraseGenerator) -> Iterator[Any]:
    # Whatever is generated is short: a low limit of documents is met now and then.
    with served(create_app(generator, Limits(documents=3))) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


def test_every_path_is_tried(schema: Any) -> None:
    assert {*schema} == {*_READ, *_ASK, _SEND}


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        *((path, GenerationMode.POSITIVE) for path in _READ),
        *((path, mode) for path in _ASK for mode in GenerationMode),
        (_SEND, GenerationMode.POSITIVE),
    ],
)
def test_answers_conform_to_the_openapi_description(
    schema: Any, path: str, mode: GenerationMode
) -> None:
    """Requests as described, and such that are not."""
    operation = schema[path]["GET" if path in _READ else "POST"]
    statuses = set()

    @settings(max_examples=1 if path in _READ else 25, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        response = case.call()
        statuses.add(response.status_code)
        case.validate_response(response, checks=_CHECKS)

    answers()
    refused = mode is GenerationMode.NEGATIVE
    assert path == _SEND or (422 if refused else 200) in statuses
