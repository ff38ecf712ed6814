"""The other end of `peer_tools.py`: a tool runs in its own environment and is asked for phrases."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from one2set.data.document import Document

_TOOLS = Path(__file__).with_name("peer_tools.py")
_AT_ONCE = 10  # documents of a question

Documents = Sequence[Document]


@dataclass(frozen=True)
class Tool:
    """How a tool is started, in what environment, and what it is."""

    name: str
    command: tuple[str, ...]
    python: str
    slow: bool = False
    ours: bool = False  # which says itself how many phrases it finds
    checkout: Path | None = None  # of another version of ours


class Process:
    """A running tool."""

    def __init__(self, tool: Tool, cache: Path) -> None:
        self._name, self._log = tool.name, cache / "messages.log"
        # Everything on one thread, and nothing from the net.
        quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        if tool.checkout is not None:
            quiet["PYTHONPATH"] = str(tool.checkout / "src")
        with self._log.open("a") as messages:
            self._child = subprocess.Popen(
                [tool.python, str(_TOOLS), *tool.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                env=os.environ | quiet,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate()  # the end of its input ends it

    def ask(self, documents: Documents) -> dict[str, Any]:
        """What `peer_tools.main` answers."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        names = ("title", "abstract", "tokenised")
        texts = [{name: getattr(one, name) for name in names} for one in documents]
        try:
            print(json.dumps(texts), file=self._child.stdin, flush=True)
            answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            raise SystemExit(f"error: {self._name} has ended; {self._log} says why") from None
        return answer


def spread(documents: Documents, most: int) -> Documents:
    """At most so many, evenly spread."""
    count = min(most, len(documents))
    return [documents[at * len(documents) // count] for at in range(count)]


def parts(documents: Documents) -> Iterator[Documents]:
    return (documents[at : at + _AT_ONCE] for at in range(0, len(documents), _AT_ONCE))
