"""The MCP server, called by the SDK's client, reads texts and files of its folder only."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from one2set.adapters import mcp
from one2set.adapters.mcp import ReadableFolder, make_server
from one2set.data.reading.readers import read
from one2set.errors import ConfigError, DataError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.results import KeyphraseList

_SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def folder(tmp_path: Path, texts: list[str]) -> Path:
    """Files inside, a secret beside them, and ways that lead there."""
    inside, secret = tmp_path / "inside", tmp_path / "secret.txt"
    (inside / "deeper").mkdir(parents=True)
    (inside / "paper.txt").write_text(texts[0])
    (inside / "deeper" / "other.md").write_text(texts[1])
    (inside / ".hidden.txt").write_text("Hidden words.")
    secret.write_text("Secret words.")
    (tmp_path / "inside-too").mkdir()
    (tmp_path / "inside-too" / "near.txt").write_text("A folder whose name begins alike.")
    (inside / "out.txt").symlink_to(secret)
    (inside / "up").symlink_to(tmp_path)
    (inside / "circle").symlink_to("circle")
    (inside / "alias.txt").symlink_to("paper.txt")
    os.mkfifo(inside / "pipe.txt")
    return inside


def shown(keyphrases: KeyphraseList) -> list[dict[str, Any]]:
    return [
        {
            "text": keyphrase.text,
            "score": round(keyphrase.score, 2),
            "present": keyphrase.present,
            "occurrences": len(keyphrase.spans),
        }
        for keyphrase in keyphrases
    ]


def get_message(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_a_session_over_standard_input(
    model: Path, generator: KeyphraseGenerator, folder: Path, texts: list[str]
) -> None:
    """As an assistant has it: the command is started, asked, and ends with the session."""
    command = ["-m", "one2set", "mcp", "--folder", str(folder), "--model", str(model)]
    server = StdioServerParameters(
        command=sys.executable, args=command, env={"PYTHONPATH": str(_SRC)}
    )

    async def session() -> None:
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {*tools} == {"find_keyphrases", "find_keyphrases_in_file", "list_files"}
            assert all(tool.description and tool.annotations for tool in tools.values())

            asked: dict[str, Any] = {"text": texts[0], "top": 3, "only": "present"}
            answer = await client.call_tool("find_keyphrases", asked)
            expected = generator.generate(texts[0], top=3, only="present")
            assert answer.structured_content == {"result": shown(expected)}

            answer = await client.call_tool("list_files")
            names = ["alias.txt", "paper.txt", "deeper/other.md"]
            assert answer.structured_content == {"result": names}

            answer = await client.call_tool("find_keyphrases_in_file", {"path": "deeper/other.md"})
            (document,) = read(folder / "deeper" / "other.md", titles=True)
            assert answer.structured_content == {
                "documents": [
                    {
                        "id": "other.md",
                        "title": document.title,
                        "keyphrases": shown(generator.generate(document, top=10)),
                    }
                ],
                "complete": True,
            }
            answer = await client.call_tool("find_keyphrases_in_file", {"path": "../secret.txt"})
            assert answer.is_error
            assert "there is no file '../secret.txt' in the folder; list_files" in get_message(
                answer
            )

    anyio.run(session)


def ask(server: Any, tool: str, **arguments: Any) -> CallToolResult:
    async def session() -> CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(session)


def test_without_a_folder_there_are_no_files(generator: KeyphraseGenerator) -> None:
    async def names() -> list[str]:
        async with Client(make_server(generator)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(names) == ["find_keyphrases"]


def test_only_the_first_documents_of_a_file_are_shown(
    generator: KeyphraseGenerator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp, "_MAX_DOCUMENTS", 2)
    (folder / "table.csv").write_text("title,abstract\n" + "A set,Words of a set.\n" * 3)
    answer = ask(make_server(generator, folder), "find_keyphrases_in_file", path="table.csv")
    assert answer.structured_content is not None
    assert len(answer.structured_content["documents"]) == 2
    assert answer.structured_content["complete"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("find_keyphrases", {"text": "x" * 101}, "a text has 101 characters; at most 100"),
        ("find_keyphrases", {"text": "x", "top": 0}, "greater than or equal to 1"),
        ("find_keyphrases", {"text": "x", "only": "both"}, "'present' or 'absent'"),
        ("find_keyphrases_in_file", {"path": "long.txt"}, "a text has 150 characters"),
        ("find_keyphrases_in_file", {"path": "large.txt"}, "'large.txt' has 201 bytes; at most"),
        ("find_keyphrases_in_file", {"path": "empty.txt"}, "contains no documents"),
        ("find_keyphrases_in_file", {"path": "binary.bin"}, "is binary"),
    ],
)
def test_invalid_requests_are_reported(
    generator: KeyphraseGenerator,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    arguments: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setattr(mcp, "_MAX_CHARACTERS", 100)
    monkeypatch.setattr(mcp, "_MAX_BYTES", 200)
    for name, content in {"long.txt": "x" * 150, "large.txt": "x" * 201, "empty.txt": ""}.items():
        (folder / name).write_text(content)
    (folder / "binary.bin").write_bytes(b"a\0b")
    answer = ask(make_server(generator, folder), tool, **arguments)
    assert answer.is_error
    assert message in get_message(answer)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "deeper/../../secret.txt",
        "out.txt",
        "up/secret.txt",
        "up/inside/../secret.txt",
        "../inside-too/near.txt",
        "/etc/passwd",
        ".hidden.txt",
        "circle",
        "pipe.txt",
        "deeper",
        "",
        ".",
        "nothing.txt",
        "a\0b",
        "x" * 5_000,
        "file:///etc/passwd",
        "~/.bashrc",
    ],
)
def test_files_outside_the_folder_are_not_read(folder: Path, name: str) -> None:
    with pytest.raises(DataError, match="there is no file"):
        ReadableFolder(folder).find(name)


def test_hidden_files_and_folders_are_not_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are hidden folders searched, which may have many files, such as those of a repository."""
    (folder / "deeper" / ".git" / "objects").mkdir(parents=True)
    (folder / "deeper" / ".git" / "objects" / "object.txt").write_text("Hidden words.")
    (folder / ".link.txt").symlink_to("paper.txt")
    resolve, resolved = ReadableFolder._resolve, []

    def note(readable: ReadableFolder, name: str) -> Path | None:
        resolved.append(name)
        return resolve(readable, name)

    monkeypatch.setattr(ReadableFolder, "_resolve", note)
    assert [*ReadableFolder(folder).list_names()] == ["alias.txt", "paper.txt", "deeper/other.md"]
    assert not [name for name in resolved if ".git" in name]


def test_links_within_the_folder_are_followed(folder: Path) -> None:
    paper = (folder / "paper.txt").resolve()
    linked = folder.parent / "link-to-inside"
    linked.symlink_to(folder)
    for each in (folder, linked):
        readable = ReadableFolder(each)
        for name in ("paper.txt", "alias.txt", "deeper/../paper.txt", str(paper)):
            assert readable.find(name) == paper


_PARTS = ["..", ".", "", "deeper", "up", "inside", "paper.txt", "other.md", "secret.txt", "out.txt"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(_PARTS), max_size=6))
def test_any_resolved_path_is_in_the_folder(folder: Path, parts: list[str]) -> None:
    try:
        match = ReadableFolder(folder).find("/".join(parts))
    except DataError:
        return
    assert match.is_file()
    assert match.resolve().is_relative_to(folder.resolve())


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("file", "nothing"):
        with pytest.raises(ConfigError, match="is not a folder"):
            ReadableFolder(tmp_path / name)


def test_names_that_are_not_unicode_are_not_listed(tmp_path: Path) -> None:
    """JSON cannot hold them."""
    (tmp_path / "paper.txt").touch()
    with suppress(OSError):  # some file systems refuse it
        (tmp_path / os.fsdecode(b"r\xe9sum\xe9.txt")).touch()
    assert [*ReadableFolder(tmp_path).list_names()] == ["paper.txt"]
