"""Run a server in a thread."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from one2set.serving.connections import make_limited_protocol
from one2set.serving.limits import Limits

URL = "http://localhost"  # a name that the server answers to


@contextmanager
def served(
    app: FastAPI,
    limits: Limits = Limits(),  # noqa: B008  (frozen)
) -> Iterator[str]:
    """The address of a running server."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        config = uvicorn.Config(app, http=make_limited_protocol(limits), log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
