"""Run a tool of `peer_tools.py` in its own environment, and request phrases from it."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from one2set.data.document import Document

_TOOLS = Path(__file__).with_name("peer_tools.py")
_REQUEST_DOCUMENTS = 10

Documents = Sequence[Document]


@dataclass(frozen=True)
class Tool:
    """How to start a tool, and its properties."""

    name: str
    command: tuple[str, ...]
    python: str
    slow: bool = False
    ours: bool = False  # decides the number of phrases itself
    checkout: Path | None = None  # of another version of ours


class Process:
    """A running tool."""

    def __init__(self, tool: Tool, cache: Path) -> None:
        self._name, self._log = tool.name, cache / "messages.log"
        # One thread, and no downloads.
        environment = {
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            # A checkout is compiled once, like an installed package, whatever is set here.
            "PYTHONDONTWRITEBYTECODE": "",
        }
        if tool.checkout is not None:
            environment["PYTHONPATH"] = str(tool.checkout / "src")
        with self._log.open("a") as messages:
            self._child = subprocess.Popen(
                [tool.python, str(_TOOLS), *tool.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=os.environ | environment,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate()  # it exits at the end of its input

    def ask(self, documents: Documents) -> dict[str, Any]:
        """Send documents to `peer_tools.main`, and return its answer."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        names = ("title", "abstract", "tokenised")
        texts = [{name: getattr(document, name) for name in names} for document in documents]
        try:
            print(json.dumps(texts), file=self._child.stdin, flush=True)
            answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise SystemExit(f"error: {self._name} has exited; see {self._log}") from None
        return answer


def spread(documents: Documents, most: int) -> Documents:
    """At most `most` documents, evenly spaced."""
    count = min(most, len(documents))
    return [documents[at * len(documents) // count] for at in range(count)]


def parts(documents: Documents) -> Iterator[Documents]:
    return (
        documents[at : at + _REQUEST_DOCUMENTS]
        for at in range(0, len(documents), _REQUEST_DOCUMENTS)
    )
