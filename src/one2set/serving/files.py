"""Files: the text of a document that a client sends, such as a PDF.

Reading a large file takes seconds, and a thread cannot be stopped. So only a few files are read at
once, in threads of their own: the others wait, and their clients are met by the time limit.
"""

from collections.abc import Awaitable, Callable

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from starlette.datastructures import Headers

from one2set.data.document import Document
from one2set.data.reading.document_formats.limits import Limits as DocumentLimits
from one2set.data.reading.documents import read_document
from one2set.errors import ConfigError, DataError
from one2set.serving.limits import Limits, ProblemError

CONTENT_TYPE = "application/octet-stream"  # no page of another site can send it unasked
_AT_ONCE = 2  # files that are read
_MOST_EXPANDED = 100_000_000  # bytes that are unpacked from a file
_MOST_PAGES = 2_000


def file_reader(limits: Limits) -> Callable[[Request, str], Awaitable[Document]]:
    """What reads the file in a request's body, of this name."""
    allowed = DocumentLimits(
        bytes=limits.file,
        expanded=_MOST_EXPANDED,
        pages=_MOST_PAGES,
        characters=limits.characters,
    )
    threads = CapacityLimiter(_AT_ONCE)

    async def read(request: Request, name: str) -> Document:
        _check_type(request.headers)
        body = await request.body()
        # A request that ends leaves its thread behind, which keeps its place until it is done.
        return await to_thread.run_sync(
            _read, body, name, allowed, limiter=threads, abandon_on_cancel=True
        )

    return read


def _check_type(headers: Headers) -> None:
    given = headers.get("content-type", "missing").partition(";")[0].strip().lower()
    if given != CONTENT_TYPE:
        raise ProblemError(
            422,
            f"the header Content-Type is {given[:100]}; expected {CONTENT_TYPE}; "
            "send the bytes of the file as the body",
        )


def _read(body: bytes, name: str, allowed: DocumentLimits) -> Document:
    try:
        return read_document(body, name, limits=allowed)
    except DataError as error:
        raise ProblemError(422, f"the file {error.what}; {error.fix}") from None
    except ConfigError as error:
        raise ProblemError(501, str(error)) from None
