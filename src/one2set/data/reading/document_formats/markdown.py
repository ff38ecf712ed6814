"""Markdown: its text without marks, code, pictures, tags and addresses of links."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from one2set.data.reading.document_formats.blocks import LINE_BREAK, Block, Extract

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?\r?\n)(?:---|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:(.+)$", re.MULTILINE)
# What is not closed ends with its block: no pattern here reads on from every start.
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|pre)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_LINE_TAG = re.compile(r"</?(?:br|div|h[1-6r]|li|p|t[dhr])\b[^<>]*>", re.IGNORECASE)
# Notes, which CommonMark does not know: the line of a note, and what follows it indented.
_NOTE = re.compile(r"^ {0,3}\[\^[^\]\s]{1,80}\]:.*(?:\n(?: {4}|\t).*)*", re.MULTILINE)
_NOTE_MARK = re.compile(r"\[\^[^\]\s]{1,80}\]")
_TASK = re.compile(r"\A\[[ xX]\] ")


def read_markdown(text: str) -> Extract:
    """Read a text in Markdown. Its title is in its front matter, or is its first heading if that
    is of the first level."""
    from markdown_it import MarkdownIt

    title = ""
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        if named := _TITLE.search(front.group(1)):
            title = named.group(1).strip().strip("\"'")
    tokens = MarkdownIt("commonmark").enable("table").parse(_NOTE.sub("", text))
    blocks = [block for _, block in _blocks(tokens)]
    first = next((block for level, block in _blocks(tokens) if level == "h1"), None)
    if not title and first is not None and first in blocks[:5]:
        title = first.text
    return Extract(title, blocks)


def _blocks(tokens: "list[Token]") -> Iterator[tuple[str, Block]]:
    """Blocks, each with its tag."""
    tag = ""
    for token in tokens:
        if token.type.endswith("_open"):
            tag = token.tag
        elif token.type == "inline":
            yield tag, Block(_text(token.children or []), heading=tag[:1] == "h" and tag != "hr")
        elif token.type == "html_block":
            lines = _LINE_TAG.sub(LINE_BREAK, _HIDDEN.sub(" ", token.content))
            yield "", Block(_TAG.sub(" ", lines))


def _text(tokens: "list[Token]") -> str:
    parts = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            parts.append(token.content)
        elif token.type == "hardbreak" or _LINE_TAG.fullmatch(token.content):
            parts.append(LINE_BREAK)
        elif token.type in ("softbreak", "html_inline", "image"):
            parts.append(" ")
    return _TASK.sub("", _NOTE_MARK.sub("", "".join(parts)))
