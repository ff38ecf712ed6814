"""The application: which path does what. Nothing of a request ever names a file."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.middleware.cors import CORSMiddleware

from one2set import __version__
from one2set.data.document import Document
from one2set.inference.exploration import Exploration
from one2set.inference.generator import KeyphraseGenerator
from one2set.inference.language import looks_foreign
from one2set.inference.presentation import Keyphrase, Wanted
from one2set.serving.batching import Batcher
from one2set.serving.limits import Gate, Limits, ProblemError
from one2set.serving.metrics import CONTENT_TYPE, Metrics, Observer
from one2set.serving.page_files import page_responses
from one2set.serving.schema import (
    DocumentAnswer,
    ExploreAnswer,
    ExploreRequest,
    KeyphraseAnswer,
    KeyphrasesAnswer,
    KeyphrasesRequest,
    ProblemAnswer,
)

_MOST_TOLD, _LONGEST_PLACE = 3, 100  # errors, characters
_DESCRIPTION = """Keyphrases of texts: those that stand in them, and those that do not."""
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemAnswer, "description": description}
    for status, description in {
        400: "The body cannot be read.",
        401: "The server wants a token.",
        413: "The request is too large.",
        422: "The request is not as described, or beyond the server's limits.",
        429: "There is too much to do; the header Retry-After says when to come again.",
        503: "The time is up.",
    }.items()
}


@dataclass(frozen=True, slots=True)
class _Generate:
    """The wish for keyphrases."""

    wanted: Wanted

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document]
    ) -> Iterator[tuple[list[Keyphrase], list[str]]]:
        for document, found in generator.stream(documents, self.wanted):
            yield found, _notices(document)


@dataclass(frozen=True, slots=True)
class _Explore:
    """The wish for all that there is to see."""

    def __call__(
        self, generator: KeyphraseGenerator, documents: Sequence[Document]
    ) -> Iterator[tuple[Exploration, list[str]]]:
        for found in generator.explore(documents):
            yield found, _notices(found.document)


def _notices(document: Document) -> list[str]:
    if not any(map(str.isalnum, document.text)):
        return ["the text holds no words"]
    if looks_foreign(document.words()):
        return ["the text does not look like English, which the model was trained on"]
    return []


def create_app(
    generator: KeyphraseGenerator,
    limits: Limits = Limits(),  # noqa: B008  (frozen)
    *,
    token: str | None = None,
    origins: Iterable[str] = (),
) -> FastAPI:
    """The server for a model, to be run by any ASGI server in one process.

    With a `token`, clients must show it. Pages of `origins` may use the server from a browser.
    """
    metrics = Metrics()
    batcher = Batcher(generator, metrics, longest_queue=limits.queue)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with batcher.run():
            yield

    app = FastAPI(
        title="one2set",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
    )

    @app.post("/v1/keyphrases", responses=_REFUSALS, summary="Keyphrases of documents")
    async def keyphrases(request: KeyphrasesRequest) -> KeyphrasesAnswer:
        """Finds the keyphrases of one or many documents, as `one2set generate` does."""
        documents = request.checked(limits)
        answers = await batcher.answer(documents, _Generate(request.wanted()))
        return KeyphrasesAnswer(
            documents=[
                DocumentAnswer(
                    id=document.id, keyphrases=list(map(KeyphraseAnswer.of, found)), notices=notices
                )
                for document, (found, notices) in zip(documents, answers, strict=True)
            ]
        )

    @app.post("/v1/explore", responses=_REFUSALS, summary="All that is said of a text")
    async def explore(request: ExploreRequest) -> ExploreAnswer:
        """What `/v1/keyphrases` finds in a text for each `more` from −3 to 3, and what every
        control code says. The page is made of it."""
        ((exploration, notices),) = await batcher.answer([request.checked(limits)], _Explore())
        return ExploreAnswer.of(exploration, notices)

    @app.get("/healthz", summary="Whether the process lives")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/readyz",
        summary="Whether it can take requests",
        responses={503: {"model": ProblemAnswer, "description": "Not now."}},
    )
    async def readyz() -> dict[str, str]:
        if not batcher.running:
            raise ProblemError(503, "the engine does not run")
        return {"status": "ready"}

    @app.get(
        "/metrics",
        summary="Figures for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: _REFUSALS[401]},
    )
    async def show_metrics() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    for path, response in page_responses():
        app.add_api_route(path, response, methods=["GET"], include_in_schema=False)

    @app.exception_handler(ProblemError)
    async def refuse(_: Request, problem: ProblemError) -> Response:
        return problem.response()

    @app.exception_handler(RequestValidationError)
    async def explain(_: Request, error: RequestValidationError) -> Response:
        return ProblemError(422, _explained(error)).response()

    # The last one added is the first that a request meets.
    app.add_middleware(Gate, limits=limits, token=token, retry_after=batcher.retry_after)
    if origins := list(origins):
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    paths = frozenset(getattr(route, "path", "") for route in app.routes)
    app.add_middleware(Observer, metrics=metrics, paths=paths)
    return app


def _explained(error: RequestValidationError) -> str:
    """What is wrong and where; never the values that were sent, which may be long."""
    found = error.errors()
    told = [f"{'.'.join(map(str, one['loc']))[:_LONGEST_PLACE]}: {one['msg']}" for one in found]
    rest = f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
    # Names of fields are the client's own words, and may hold what is no text.
    return ("; ".join(told[:_MOST_TOLD]) + rest).encode(errors="replace").decode()
