"""A `one2set` for shells that starts at once: a fork of a process that has imported PyTorch.

A shell's command is a small script, which passes its arguments, standard streams, folder and
environment through a socket to that process, and ends with the exit code it gets. Commands that do
not need PyTorch are real processes.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_FORKED = ("calibrate", "compare", "export", "import-checkpoint", "learn", "predict", "train")
_LIBRARIES = (
    "matplotlib.figure",
    "one2set.cli",
    "one2set.training.systems",
    "onnx",
    "onnxruntime",
    "scipy.optimize",
    "torch._dynamo",
)
_SCRIPT = """#!{python} -SE
import os, sys
if sys.argv[1] not in {forked}:
    os.execv({real!r}, sys.argv)
import json, socket
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    request = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(request).to_bytes(4)], [0, 1, 2])
    server.sendall(request)
    sys.exit(int(server.recv(8) or b"1"))
"""


@contextmanager
def fast_commands(folder: Path) -> Iterator[Path]:
    """A folder for PATH that has such a `one2set`. It is made in `folder`."""
    path, real = folder / "socket", Path(sys.executable).with_name("one2set")
    script = folder / "bin" / "one2set"
    script.parent.mkdir()
    script.write_text(
        _SCRIPT.format(python=sys.executable, forked=_FORKED, real=str(real), path=str(path))
    )
    script.chmod(0o755)
    with subprocess.Popen([sys.executable, __file__, path], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()  # it listens
        try:
            yield script.parent
        finally:
            server.terminate()


def _serve(path: str) -> None:
    for name in _LIBRARIES:
        import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("listening", flush=True)
        while True:
            connection, _ = listening.accept()
            if not os.fork():
                listening.close()
                _run(connection)
            connection.close()


def _reap(number: int, frame: object) -> None:
    """Take note of forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run(connection: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, *_ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as request:
        sys.argv, folder, environment = json.loads(request.read(int.from_bytes(size)))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    try:
        import_module("one2set.cli").main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(str(code).encode())
    os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
