"""The files of the web page, read once from the package, each at its own path.

No request names a file. The content security policy allows the scripts and the server of the page
and nothing else, so the browser runs no script that a text contains.
"""

from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files

from starlette.responses import Response

_FOLDER = "page"
_PATHS = {"index.html": "/", "docs.html": "/docs"}  # others are below /page
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


def iterate_pages() -> Iterator[tuple[str, Callable[[], Awaitable[Response]]]]:
    """Yield the path and the handler of each file."""
    for file in (files("one2set.serving") / _FOLDER).iterdir():
        path = _PATHS.get(file.name, f"/{_FOLDER}/{file.name}")
        yield path, _make_handler(file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])


def _make_handler(content: bytes, media_type: str) -> Callable[[], Awaitable[Response]]:
    async def respond() -> Response:
        return Response(content, media_type=media_type, headers=_HEADERS)

    return respond
