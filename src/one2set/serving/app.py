"""The ASGI application and its routes. No part of a request is ever used as the name of a file."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.middleware.cors import CORSMiddleware

from one2set import __version__
from one2set.data.document import Document, StemmedDocument
from one2set.keyphrases.exploration import Exploration
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.language import looks_foreign
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Selection
from one2set.prediction.predictor import Check
from one2set.serving.answers import (
    DocumentAnswer,
    ExploreAnswer,
    KeyphraseAnswer,
    KeyphrasesAnswer,
    ProblemAnswer,
    TextAnswer,
)
from one2set.serving.batching import Batcher
from one2set.serving.bodies import make_parsing_route, respond, run_off_loop
from one2set.serving.files import CONTENT_TYPE as FILE_TYPE
from one2set.serving.files import FileReader
from one2set.serving.limits import FILES_PATH, Access, Gate, Limits, ProblemError
from one2set.serving.metrics import CONTENT_TYPE, Metrics, Observer
from one2set.serving.page_files import iterate_pages
from one2set.serving.schema import ExploreRequest, KeyphrasesRequest

_DESCRIPTION = "Find the keyphrases of texts, both present and absent ones."
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "description": description}
    for status, description in {
        400: "The body is not JSON, or the Host header is not an allowed one.",
        401: "The token is missing or wrong.",
        413: "The body is too large.",
        422: "The request does not match the schema, or exceeds a limit.",
        429: "The server is busy. Retry-After gives the seconds to wait.",
        503: "The request timed out.",
    }.items()
}

_NOT_INSTALLED = "A package that reads such files is not installed on the server."
_BYTES = {"schema": {"type": "string", "format": "binary"}}
Name = Annotated[
    str,
    Query(description="The name of the file. Its extension is used if the content is ambiguous."),
]


@dataclass(frozen=True, slots=True)
class _Generate:
    """The operation behind /v1/keyphrases."""

    selection: Selection

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check
    ) -> Iterator[tuple[list[Keyphrase], list[str]]]:
        stemmed = list(map(StemmedDocument.of, documents))
        stream = generator.stream_selected(stemmed, self.selection, check=check)
        for document, (_, keyphrases) in zip(stemmed, stream, strict=True):
            yield keyphrases, _find_notices(document)


@dataclass(frozen=True, slots=True)
class _Explore:
    """The operation behind /v1/explore."""

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document], check: Check
    ) -> Iterator[tuple[Exploration, list[str]]]:
        stemmed = list(map(StemmedDocument.of, documents))
        stream = generator.explore(stemmed, check=check)
        for document, exploration in zip(stemmed, stream, strict=True):
            yield exploration, _find_notices(document)


def _find_notices(document: StemmedDocument) -> list[str]:
    if not any(map(str.isalnum, document.document.text)):
        return ["the text contains no words"]
    if looks_foreign(document.words):
        return ["the text does not look like English, which the model was trained on"]
    return []


def create_app(
    generator: KeyphraseGenerator,
    limits: Limits = Limits(),  # noqa: B008  (frozen)
    access: Access = Access(),  # noqa: B008  (frozen)
) -> FastAPI:
    """Create the application for a model. Run it in a single process, with any ASGI server."""
    metrics = Metrics()
    batcher, reader = Batcher(generator, metrics, limits), FileReader(limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with batcher.run(), reader.run():
            yield

    app = FastAPI(
        title="one2set",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
    )

    app.router.route_class = make_parsing_route(limits)

    @app.post(
        "/v1/keyphrases",
        response_model=KeyphrasesAnswer,
        responses=_ERRORS,
        summary="Keyphrases of documents",
    )
    async def find_keyphrases(body: KeyphrasesRequest, request: Request) -> Response:
        """Find the keyphrases of one or more documents, as `one2set generate` does."""
        documents = await run_off_loop(body.characters, body.to_documents)
        answers = await batcher.answer(documents, _Generate(body.selection()), _get_client(request))

        def build() -> KeyphrasesAnswer:
            return KeyphrasesAnswer(
                documents=[
                    DocumentAnswer(
                        id=document.id,
                        keyphrases=list(map(KeyphraseAnswer.of, keyphrases)),
                        notices=notices,
                    )
                    for document, (keyphrases, notices) in zip(documents, answers, strict=True)
                ]
            )

        return await respond(
            build, (keyphrase for keyphrases, _ in answers for keyphrase in keyphrases), limits
        )

    @app.post(
        "/v1/explore",
        response_model=ExploreAnswer,
        responses=_ERRORS,
        summary="All that the model finds in a text",
    )
    async def explore(body: ExploreRequest, request: Request) -> Response:
        """Find the keyphrases of a text for each `more` from −3 to 3, and the phrase of every
        control code. The page uses it."""
        document = await run_off_loop(body.characters, body.to_document)
        ((exploration, notices),) = await batcher.answer(
            [document], _Explore(), _get_client(request)
        )

        def build() -> ExploreAnswer:
            return ExploreAnswer.of(exploration, notices)

        return await respond(
            build,
            (keyphrase for _, keyphrases in exploration.dial for keyphrase in keyphrases),
            limits,
        )

    @app.post(
        FILES_PATH,
        response_model=TextAnswer,
        responses={**_ERRORS, 501: {"model": ProblemAnswer, "description": _NOT_INSTALLED}},
        summary="The text of a file",
        openapi_extra={"requestBody": {"required": True, "content": {FILE_TYPE: _BYTES}}},
    )
    async def read_text(request: Request, name: Name = "") -> Response:
        """Read a PDF, DOCX, ODT, EPUB, HTML, Markdown, LaTeX, RTF or text file. Its bytes are the
        body."""
        document = await reader.read(request, name)

        def build() -> TextAnswer:
            return TextAnswer(title=document.title, text=document.abstract)

        return await respond(build, (), limits)

    @app.get("/healthz", summary="Whether the process is alive")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/readyz",
        summary="Whether it accepts requests",
        responses={503: {"model": ProblemAnswer, "description": "It does not."}},
    )
    async def readyz() -> dict[str, str]:
        if not batcher.running:
            raise ProblemError(503, "the server is not running")
        return {"status": "ready"}

    @app.get(
        "/metrics",
        summary="Metrics for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: _ERRORS[401]},
    )
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    for path, respond_with_page in iterate_pages():
        app.add_api_route(path, respond_with_page, methods=["GET"], include_in_schema=False)

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: RequestValidationError) -> Response:
        # `parse` explains errors in JSON, so this is a request without any.
        detail = "a body is required: send JSON, with the header Content-Type: application/json"
        return ProblemError(422, detail).response()

    # A request passes the middleware that was added last first.
    app.add_middleware(
        Gate,
        limits=limits,
        access=access,
        retry_after=batcher.retry_after,
        count_abandoned=reader.count_abandoned,
    )
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=access.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After"],
        )
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(Observer, metrics=metrics, paths=paths)
    return app


def _get_client(request: Request) -> str:
    """The address of the client; clients share batches evenly. Behind a proxy all are one."""
    return request.client.host if request.client else ""
