"""Run the server: socket, signals, shutdown."""

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from one2set.errors import ConfigError
from one2set.serving.connections import make_limited_protocol
from one2set.serving.limits import Limits

_GRACE = 5.0  # seconds beyond the time limit of a request


def run(
    app: FastAPI, *, host: str, port: int, limits: Limits, started: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or Ctrl-C; then answer the accepted requests, and return.

    `started` is called with the address. Port 0 lets the system choose a port.
    """
    bound = _bind(host, port)
    name = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=make_limited_protocol(limits),
        ws="none",
        timeout_graceful_shutdown=round(limits.seconds + _GRACE),
    )
    # uvicorn stops at these signals and raises them again, which would end us with an error.
    stop_signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, _ignore) for number in stop_signals]
    try:
        with bound:
            started(f"http://{name}:{bound.getsockname()[1]}")
            uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in zip(stop_signals, before, strict=True):
            signal.signal(number, handler)


def _bind(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen()  # connections from now on wait until we are ready
    except (OSError, OverflowError) as error:
        bound.close()
        raise ConfigError(
            f"cannot listen on {host}:{port} ({error}); pass another --host or --port"
        ) from None
    return bound


def _ignore(number: int, frame: FrameType | None) -> None:
    pass
