"""The page for people: its files, read once from the package, each at a path of its own.

No request names a file. The page may run its own scripts and ask its own server, and nothing else:
whatever a text holds, the browser refuses to run it.
"""

from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files

from starlette.responses import Response

_FOLDER = "page"
_PATHS = {"index.html": "/", "docs.html": "/docs"}  # of those with a path of their own
_TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_responses() -> Iterator[tuple[str, Callable[[], Awaitable[Response]]]]:
    """Each path of the page, and what answers there."""
    for file in (files("one2set.serving") / _FOLDER).iterdir():
        path = _PATHS.get(file.name, f"/{_FOLDER}/{file.name}")
        yield path, _responding(file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])


def _responding(content: bytes, media_type: str) -> Callable[[], Awaitable[Response]]:
    async def respond() -> Response:
        return Response(content, media_type=media_type, headers=_HEADERS)

    return respond
