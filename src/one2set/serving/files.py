"""Files: read the text of a document that a client sends, such as a PDF.

Reading a large file takes seconds, and a thread cannot be stopped. So only a few files are read at
once, in threads of their own. The others wait, up to the time limit of a request.
"""

from collections.abc import Awaitable, Callable

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from starlette.datastructures import Headers

from one2set.data.document import Document
from one2set.data.reading.document_formats.limits import Limits as DocumentLimits
from one2set.data.reading.documents import read_document
from one2set.errors import ConfigError, DataError
from one2set.serving.limits import MAX_SHOWN, Limits, ProblemError

CONTENT_TYPE = "application/octet-stream"  # a page of another site cannot send it without CORS
_THREADS = 2
_MAX_EXPANDED = 100_000_000  # bytes after decompression
_MAX_PAGES = 2_000


def make_file_reader(limits: Limits) -> Callable[[Request, str], Awaitable[Document]]:
    """Make a function that reads the file in the body of a request, given its name."""
    allowed = DocumentLimits(
        bytes=limits.file,
        expanded=_MAX_EXPANDED,
        pages=_MAX_PAGES,
        characters=limits.characters,
    )
    threads = CapacityLimiter(_THREADS)

    async def read(request: Request, name: str) -> Document:
        _check_type(request.headers)
        body = await request.body()
        # If the request ends first, its thread still counts until it is done.
        return await to_thread.run_sync(
            _read, body, name, allowed, limiter=threads, abandon_on_cancel=True
        )

    return read


def _check_type(headers: Headers) -> None:
    given = headers.get("content-type", "missing").partition(";")[0].strip().lower()
    if given != CONTENT_TYPE:
        raise ProblemError(
            422,
            f"the header Content-Type is {given[:MAX_SHOWN]}; expected {CONTENT_TYPE}; "
            "send the bytes of the file as the body",
        )


def _read(body: bytes, name: str, allowed: DocumentLimits) -> Document:
    try:
        return read_document(body, name, limits=allowed)
    except DataError as error:
        raise ProblemError(422, f"the file {error.what}; {error.fix}") from None
    except ConfigError as error:
        raise ProblemError(501, str(error)) from None
