"""Bodies: parse requests and serialise answers, large ones in a thread.

The event loop serves all clients, so nothing may block it for long. Lists are counted before they
are validated: an error for each of 500,000 numbers takes a gigabyte.
"""

import json
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from one2set.keyphrases.results import Keyphrase
from one2set.serving.limits import Limits, ProblemError
from one2set.serving.schema import KeyphrasesRequest, SizedRequest, TitledText

_SMALL = 16_384  # bytes; less takes longer to pass to a thread than to handle
_SPAN_BYTES = 12  # such as "[1234,1240],"
_PIECE = 65_536  # bytes of an answer, sent at once
_MAX_ERRORS = 3  # in a message
_FIELDS = KeyphrasesRequest.model_fields.keys() | TitledText.model_fields.keys()
# What is expected, by the type of pydantic's error.
_EXPECTED = {
    "string_type": "a text",
    "list_type": "a list",
    "model_type": "an object with fields",
    "model_attributes_type": "an object with fields",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
}

Given = ParamSpec("Given")
Result = TypeVar("Result")
Parsed = TypeVar("Parsed", bound=SizedRequest)


async def run_off_loop(
    size: int, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
) -> Result:
    """Run work on `size` bytes, in a thread if they are many."""
    if size <= _SMALL:
        return work(*args, **kwargs)
    return await run_in_threadpool(work, *args, **kwargs)


def parse(model: type[Parsed], body: bytes, limits: Limits) -> Parsed:
    """Parse a body, and check its limits."""
    try:
        given = json.loads(body)
    except json.JSONDecodeError as error:
        raise ProblemError(400, f"the body is not valid JSON: {error}") from None
    except (ValueError, RecursionError):  # not UTF-8, too many digits, nested too deeply
        raise ProblemError(400, "the body cannot be read; expected JSON in UTF-8") from None
    if isinstance(given, dict):
        model.check_size(given, limits)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ProblemError(422, _explain(error)) from None


def make_parsing_route(limits: Limits) -> type[APIRoute]:
    """Make a class of routes that use `parse`. FastAPI itself would parse in the event loop."""

    class ParsingRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            if self.body_field is None:
                return handle
            annotation = self.body_field.field_info.annotation
            assert isinstance(annotation, type)
            assert issubclass(annotation, SizedRequest)
            model: type[SizedRequest] = annotation

            class ParsedRequest(Request):
                async def json(self) -> SizedRequest:
                    # FastAPI accepts an instance of the model as it is.
                    body = await self.body()
                    return await run_off_loop(len(body), parse, model, body, limits)

            async def handle_parsed(request: Request) -> Response:
                return await handle(ParsedRequest(request.scope, request.receive))

            return handle_parsed

    return ParsingRoute


async def respond(
    build: Callable[[], BaseModel], keyphrases: Iterable[Keyphrase], limits: Limits
) -> Response:
    """Build and serialise an answer with these keyphrases, unless it is too large."""
    num_spans = sum(len(keyphrase.spans) for keyphrase in keyphrases)
    size = _SPAN_BYTES * num_spans
    content = b""
    if size <= limits.answer:
        content = await run_off_loop(size, lambda: build().model_dump_json().encode())
        size = len(content)
    if size > limits.answer:
        raise ProblemError(
            422,
            f"the answer would have about {size:,} bytes; at most {limits.answer:,} are sent; "
            "send shorter texts or fewer, or start the server with a larger --max-answer",
        )
    return _PiecewiseResponse(content, media_type="application/json")


class _PiecewiseResponse(Response):
    """Sends a piece only after the client has read the one before. So clients that do not read
    cannot fill the memory, and the time limit applies to them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        for begin in range(0, max(len(self.body), 1), _PIECE):
            end = begin + _PIECE
            piece = bytes(self.body[begin:end])
            more = end < len(self.body)
            await send({"type": "http.response.body", "body": piece, "more_body": more})


def _explain(error: ValidationError) -> str:
    """Say what is wrong and where, but not the values that were sent: they may be long."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    problems_at: dict[str, list[str]] = {}  # a value may be wrong in several ways
    for detail in errors:
        problem = _explain_problem(detail["type"], detail["msg"])
        problems_at.setdefault(_format_location(detail["loc"]), []).append(problem)
    sentences = [
        f"{location}: {' or '.join(dict.fromkeys(problems)).replace(' or expected', ' or')}"
        for location, problems in problems_at.items()
    ]
    rest = f"; and {len(sentences) - _MAX_ERRORS} more" if len(sentences) > _MAX_ERRORS else ""
    # Names of fields come from the client, and may contain lone surrogates.
    return ("; ".join(sentences[:_MAX_ERRORS]) + rest).encode(errors="replace").decode()


def _explain_problem(kind: str, message: str) -> str:
    """Explain an error in the terms of JSON; pydantic names Python's types."""
    if (expected := _EXPECTED.get(kind)) is not None:
        return f"expected {expected}"
    plain = {"missing": "is missing", "too_short": "is empty; expected at least one"}
    problem = plain.get(kind, message.removeprefix("Value error, "))
    return problem.replace("Input should be", "expected")


def _format_location(parts: tuple[int | str, ...]) -> str:
    # Pydantic also names the types that it tried; leave them out.
    path = ".".join(str(part) for part in parts if isinstance(part, int) or part in _FIELDS)
    return path or "the body"
