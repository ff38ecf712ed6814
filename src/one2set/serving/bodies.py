"""Bodies: a request from its bytes, an answer to its bytes. Large ones are handled in a thread.

The event loop serves all clients, so nothing in it may take long. And whatever a client can make
many of is counted before it is validated: an error for each of 500,000 numbers takes a gigabyte.
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

_SMALL = 16_384  # bytes that take less time than the way to a thread
_SPAN_BYTES = 12  # of "[1234,1240]," as a rule
_PIECE = 65_536  # bytes of an answer that are sent at once
_MOST_TOLD = 3  # errors
_FIELDS = KeyphrasesRequest.model_fields.keys() | TitledText.model_fields.keys()
# What pydantic's errors of type want.
_WANTED = {
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


async def run_apart(
    size: int, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
) -> Result:
    """The result of work on so many bytes, which is done in a thread if they are many."""
    if size <= _SMALL:
        return work(*args, **kwargs)
    return await run_in_threadpool(work, *args, **kwargs)


def parse(model: type[Parsed], body: bytes, limits: Limits) -> Parsed:
    """The request in a body, within limits."""
    try:
        given = json.loads(body)
    except json.JSONDecodeError as error:
        raise ProblemError(400, f"the body is not valid JSON: {error}") from None
    except (ValueError, RecursionError):  # bytes that are no UTF-8, endless digits, deep nesting
        raise ProblemError(400, "the body cannot be read; expected JSON in UTF-8") from None
    if isinstance(given, dict):
        model.check_size(given, limits)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise ProblemError(422, _explained(error)) from None


def parsing_route(limits: Limits) -> type[APIRoute]:
    """Routes whose bodies `parse` reads; FastAPI itself would do it in the event loop."""

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
                    # FastAPI takes what is already an instance of the model as it is.
                    body = await self.body()
                    return await run_apart(len(body), parse, model, body, limits)

            async def parsed(request: Request) -> Response:
                return await handle(ParsedRequest(request.scope, request.receive))

            return parsed

    return ParsingRoute


async def respond(
    build: Callable[[], BaseModel], keyphrases: Iterable[Keyphrase], limits: Limits
) -> Response:
    """An answer that holds these keyphrases, if it is not too large."""
    num_spans = sum(len(keyphrase.spans) for keyphrase in keyphrases)  # which can be many
    size = _SPAN_BYTES * num_spans
    content = b""
    if size <= limits.answer:
        content = await run_apart(size, lambda: build().model_dump_json().encode())
        size = len(content)
    if size > limits.answer:
        raise ProblemError(
            422,
            f"the answer would have about {size:,} bytes; at most {limits.answer:,} are sent; "
            "send shorter texts or fewer, or start the server with a larger --max-answer",
        )
    return _InPieces(content, media_type="application/json")


class _InPieces(Response):
    """Waits for the client to read a piece before it sends the next one, so that clients that do
    not read cannot fill the memory and are met by the time limit."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        for place in range(0, max(len(self.body), 1), _PIECE):
            end = place + _PIECE
            piece = bytes(self.body[place:end])
            more = end < len(self.body)
            await send({"type": "http.response.body", "body": piece, "more_body": more})


def _explained(error: ValidationError) -> str:
    """What is wrong and where; never the values that were sent, which may be long."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    told: dict[str, list[str]] = {}  # by place, of which a value may fail in several ways
    for detail in errors:
        told.setdefault(_place(detail["loc"]), []).append(_problem(detail["type"], detail["msg"]))
    sentences = [
        f"{place}: {' or '.join(dict.fromkeys(problems)).replace(' or expected', ' or')}"
        for place, problems in told.items()
    ]
    rest = f"; and {len(sentences) - _MOST_TOLD} more" if len(sentences) > _MOST_TOLD else ""
    # Names of fields are the client's own words, and may hold what is no text.
    return ("; ".join(sentences[:_MOST_TOLD]) + rest).encode(errors="replace").decode()


def _problem(kind: str, message: str) -> str:
    """In the words of JSON: pydantic speaks of Python's types."""
    if (wanted := _WANTED.get(kind)) is not None:
        return f"expected {wanted}"
    plain = {"missing": "is missing", "too_short": "is empty; expected at least one"}
    told = plain.get(kind, message.removeprefix("Value error, "))
    return told.replace("Input should be", "expected")


def _place(parts: tuple[int | str, ...]) -> str:
    # Pydantic also names the types that it tried, which are no part of the request.
    path = ".".join(str(part) for part in parts if isinstance(part, int) or part in _FIELDS)
    return path or "the body"
