"""Files: read the text of a document that a client sends, such as a PDF.

Reading a large file takes seconds, and a thread cannot be stopped. So only a few files are read at
once, in threads of their own. The others wait, up to the time limit of a request.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

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


class FileReader:
    """Reads files in a few threads. All but the reading itself runs in the event loop."""

    def __init__(self, limits: Limits) -> None:
        self._allowed = DocumentLimits(
            bytes=limits.file,
            expanded=_MAX_EXPANDED,
            pages=_MAX_PAGES,
            characters=limits.characters,
        )
        self._abandoned = 0

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Accept files within the block. It does not wait for abandoned ones, but the process
        does."""
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="file")
        self._free = asyncio.Semaphore(_THREADS)
        try:
            yield
        finally:
            self._threads.shutdown(wait=False)

    async def read(self, request: Request, name: str) -> Document:
        """Read the file in the body of a request, given its name."""
        _check_type(request.headers)
        body = await request.body()
        await self._free.acquire()  # if the request ends here, nobody keeps its file
        reading = asyncio.wrap_future(self._threads.submit(_read, body, name, self._allowed))
        # If the request ends first, its thread still counts until it is done.
        reading.add_done_callback(lambda _: self._free.release())
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            if not reading.done():
                self._abandoned += 1
                reading.add_done_callback(self._forget)
            raise

    def count_abandoned(self) -> int:
        """The number of files that are read although their requests have ended."""
        return self._abandoned

    def _forget(self, _: "asyncio.Future[Document]") -> None:
        self._abandoned -= 1


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
