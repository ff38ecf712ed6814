"""The server as a process: its socket, its signals, its end."""

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from one2set.errors import ConfigError
from one2set.serving.connections import limited_protocol
from one2set.serving.limits import Limits

_GRACE = 5.0  # seconds beyond the time that a request may take


def run(
    app: FastAPI, *, host: str, port: int, limits: Limits, started: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C; then answer what was accepted, and return.

    `started` is told the address, of which port 0 lets the system choose one.
    """
    bound = _bind(host, port)
    name = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=limited_protocol(limits),
        ws="none",
        timeout_graceful_shutdown=round(limits.seconds + _GRACE),
    )
    # uvicorn stops at these signals and then raises them again, which would end us with an error.
    stopping = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, _ignore) for number in stopping]
    try:
        with bound:
            started(f"http://{name}:{bound.getsockname()[1]}")
            uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in zip(stopping, before, strict=True):
            signal.signal(number, handler)


def _bind(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()  # who connects from now on is served as soon as we are ready
    except (OSError, OverflowError) as error:
        bound.close()
        raise ConfigError(
            f"{host}:{port} cannot be served at ({error}); pass another --host or --port"
        ) from None
    return bound


def _ignore(number: int, frame: FrameType | None) -> None:
    pass
