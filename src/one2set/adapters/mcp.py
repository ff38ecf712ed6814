"""A server for the Model Context Protocol, so that assistants can find keyphrases offline.

    one2set mcp --folder papers

It communicates over standard input and output. Its tools read the texts they are given, and files
below the folder that is named when the server starts.
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field

from one2set import __version__
from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.reading.streams import printable
from one2set.errors import ConfigError, DataError, One2SetError, missing_extra
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.results import KeyphraseList

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
except ImportError:
    raise missing_extra("mcp", extra="mcp", purpose="the MCP server") from None

_MAX_CHARACTERS = 1_000_000  # of a text: a long book, which takes about a minute
_MAX_BYTES = 50_000_000  # of a file
_MAX_DOCUMENTS = 50  # in an answer, which assistants read whole
_MAX_NAMES = 500
_INSTRUCTIONS = (
    "Finds the keyphrases of English texts, on this machine. Scores are probabilities. Present "
    "keyphrases occur in the text; absent ones do not and are less certain."
)
_READS_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Top = Annotated[int, Field(ge=1, le=100, description="At most this many keyphrases per text.")]
Only = Annotated[
    Literal["present", "absent"] | None, Field(description="Keyphrases of one kind only.")
]
Result = TypeVar("Result")


class FoundKeyphrase(BaseModel):
    """A keyphrase, as an assistant reads it."""

    text: str
    score: float = Field(description="Probability that it is a keyphrase of the text.")
    present: bool = Field(description="Whether it occurs in the text.")
    occurrences: int


class FoundDocument(BaseModel):
    """The keyphrases of a document, best first."""

    id: str
    title: str
    keyphrases: list[FoundKeyphrase]


class FoundFile(BaseModel):
    """The keyphrases of the documents of a file."""

    documents: list[FoundDocument]
    complete: bool = Field(description="False if the file has more documents than are shown.")


class ReadableFolder:
    """The files below a folder, and no others: no `..`, no links that lead outside."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ConfigError(f"{folder} is not a folder; pass --folder with one that exists")
        self._root = folder.resolve()

    def find(self, name: str) -> Path:
        """Find a file by its name relative to the folder."""
        file = self._resolve(name)
        if file is None:
            raise DataError(
                f"there is no file {name!r} in the folder",
                fix="list_files shows the names",
            )
        if (size := file.stat().st_size) > _MAX_BYTES:
            raise DataError(
                f"{name!r} has {size:,} bytes", fix=f"at most {_MAX_BYTES:,} are read; split it"
            )
        return file

    def list_names(self) -> Iterator[str]:
        """Yield the names of the files that `find` accepts, sorted within each folder, unless they
        are hidden."""
        for folder, folders, names in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(name for name in names if not name.startswith(".")):
                relative = os.path.relpath(os.path.join(folder, name), self._root)
                is_unicode = printable(relative) == relative  # else JSON cannot hold it
                if is_unicode and self._resolve(relative) is not None:
                    yield relative

    def _resolve(self, name: str) -> Path | None:
        """The path of a file, all links followed; None if it is hidden or not in the folder."""
        try:
            file = (self._root / name).resolve(strict=True)
            inside = file.relative_to(self._root)
        except (OSError, ValueError, RuntimeError):  # missing, outside, or a cycle of links
            return None
        hidden = any(part.startswith(".") for part in inside.parts)
        return file if file.is_file() and not hidden else None


def make_server(generator: KeyphraseGenerator, folder: Path | None = None) -> MCPServer:
    """Make the server. Without a folder it has no tools for files."""
    server = MCPServer(
        "one2set", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )

    @server.tool(title="Keyphrases of a text", annotations=_READS_ONLY)
    def find_keyphrases(text: str, top: Top = 10, only: Only = None) -> list[FoundKeyphrase]:
        """Find the keyphrases of a text, best first. Put its title, if it has one, on the first
        line."""

        def find() -> list[FoundKeyphrase]:
            _check_length(text)
            return _to_answer(generator.generate(text, top=top, only=only))

        return _run_tool(find)

    if folder is not None:
        _add_file_tools(server, generator, ReadableFolder(folder))
    return server


def _add_file_tools(
    server: MCPServer, generator: KeyphraseGenerator, folder: ReadableFolder
) -> None:
    @server.tool(title="Keyphrases of a file", annotations=_READS_ONLY)
    def find_keyphrases_in_file(path: str, top: Top = 10, only: Only = None) -> FoundFile:
        """Find the keyphrases of a file in the folder that this server was given. The path is
        relative to that folder; list_files lists all. A table or a JSONL file has several
        documents; the first fifty are shown."""

        def find() -> FoundFile:
            some = list(islice(_read_documents(folder.find(path)), _MAX_DOCUMENTS + 1))
            results = generator.stream(some[:_MAX_DOCUMENTS], top=top, only=only)
            documents = [
                FoundDocument(
                    id=document.id, title=document.title, keyphrases=_to_answer(keyphrases)
                )
                for document, keyphrases in results
            ]
            return FoundFile(documents=documents, complete=len(some) <= _MAX_DOCUMENTS)

        return _run_tool(find)

    @server.tool(title="Files below the folder", annotations=_READS_ONLY)
    def list_files() -> list[str]:
        """List the files of the folder, as find_keyphrases_in_file takes them; at most 500."""
        return list(islice(folder.list_names(), _MAX_NAMES))


def _read_documents(path: Path) -> Iterator[Document]:
    for document in read(path, titles=True):
        _check_length(document.text)
        yield document


def _check_length(text: str) -> None:
    if len(text) > _MAX_CHARACTERS:
        raise DataError(
            f"a text has {len(text):,} characters",
            fix=f"at most {_MAX_CHARACTERS:,} are read; pass it in parts",
        )


def _to_answer(keyphrases: KeyphraseList) -> list[FoundKeyphrase]:
    return [
        FoundKeyphrase(
            text=keyphrase.text,
            score=round(keyphrase.score, 2),
            present=keyphrase.present,
            occurrences=len(keyphrase.spans),
        )
        for keyphrase in keyphrases
    ]


def _run_tool(work: Callable[[], Result]) -> Result:
    """Run a tool. Errors that the assistant can fix are passed to it as messages."""
    try:
        return work()
    except One2SetError as error:
        raise ToolError(str(error)) from None
