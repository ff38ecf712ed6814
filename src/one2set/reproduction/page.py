"""A page of headings, text, tables and figures, as Markdown and as one HTML file."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, in which `code` and **strong** are as in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class TableCell:
    """A number or a word, and a note, such as the published number."""

    text: str
    note: str = ""
    strong: bool = False
    kind: str = ""  # its CSS class, such as holds


@dataclass(frozen=True, slots=True)
class PageTable:
    """Rows of cells; the first column has names. Groups are headings over the other columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[TableCell | str]]
    groups: Sequence[tuple[str, int]] = ()
    words: bool = False  # cells are sentences


@dataclass(frozen=True, slots=True)
class PageFigure:
    name: str
    svg: bytes = field(repr=False)
    caption: str


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Preformatted lines, such as commands."""

    title: str
    lines: Sequence[str]


PageBlock = Heading | Paragraph | PageTable | PageFigure | Preformatted


def _to_cell(cell: TableCell | str) -> TableCell:
    return TableCell(cell) if isinstance(cell, str) else cell


# --- Markdown -------------------------------------------------------------------------------------


def to_markdown(title: str, blocks: Iterable[PageBlock], *, figures: str) -> str:
    """The page in Markdown, with links to its figures in the folder `figures`."""
    parts = [f"# {title}"]
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"{'#' * block.level} {block.text}")
            case Paragraph():
                parts.append(_escape_tags(block.text))
            case PageTable():
                parts.append(_format_markdown_table(block))
            case PageFigure():
                parts.append(f"![{block.caption}]({figures}/{block.name}.svg)\n\n*{block.caption}*")
            case Preformatted():
                parts.append("\n".join([f"{block.title}:", "", "```text", *block.lines, "```"]))
    return "\n\n".join(parts) + "\n"


def _format_markdown_table(table: PageTable) -> str:
    names = [group for group, span in table.groups for _ in range(span)]
    columns = [
        f"{names[at - 1]} {column}".strip() if at and names else column
        for at, column in enumerate(map(_escape_pipes, table.columns))
    ]
    align = ["---"] * len(columns) if table.words else ["---", *["---:"] * (len(columns) - 1)]
    rows = [[_format_markdown_cell(_to_cell(cell)) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [columns, align, *rows])


def _format_markdown_cell(cell: TableCell) -> str:
    text = _escape_pipes(cell.text)
    strong = f"**{text}**" if text and (cell.strong or cell.kind) else text
    return f"{strong} ({_escape_pipes(cell.note)})" if cell.note else strong


def _escape_pipes(text: str) -> str:
    """Escape vertical bars, and what looks like a tag."""
    return _escape_tags(text).replace("|", "\\|")


def _escape_tags(text: str) -> str:
    """Escape "<" outside of code, so that a token such as <eos> is shown."""
    return re.sub(r"(`[^`]*`)|<", lambda match: match[1] or "\\<", text)


# --- HTML -----------------------------------------------------------------------------------------

_MANY_COLUMNS = 9  # with more, a table is set in smaller type


def to_html(title: str, blocks: Sequence[PageBlock]) -> str:
    """The page in HTML, with its figures."""
    style = files("one2set.reproduction").joinpath("page.css").read_text(encoding="utf-8")
    contents = "".join(
        f'<a href="#{_make_anchor(block.text)}">{escape(block.text)}</a>'
        for block in blocks
        if isinstance(block, Heading) and block.level == 2
    )
    body = "\n".join(map(_format_html, blocks))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n<nav>{contents}</nav>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _format_html(block: PageBlock) -> str:
    match block:
        case Heading():
            anchor = _make_anchor(block.text)
            return f'<h{block.level} id="{anchor}">{escape(block.text)}</h{block.level}>'
        case Paragraph():
            return f"<p>{_format_inline(block.text)}</p>"
        case PageTable():
            return _format_html_table(block)
        case PageFigure():
            data = b64encode(block.svg).decode()
            image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(block.caption)}">'
            return (
                f"<figure>{image}<figcaption>{_format_inline(block.caption)}</figcaption></figure>"
            )
        case Preformatted():
            lines = escape("\n".join(block.lines))
            return f"<details><summary>{escape(block.title)}</summary><pre>{lines}</pre></details>"


def _format_html_table(table: PageTable) -> str:
    groups = "".join(f'<th colspan="{span}">{escape(group)}</th>' for group, span in table.groups)
    above = f'<tr class="groups"><th></th>{groups}</tr>' if groups else ""
    columns = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    starts = _find_group_starts(table.groups)
    rows = ""
    for row in table.rows:
        cells = (_format_html_cell(at, _to_cell(cell), starts) for at, cell in enumerate(row))
        rows += f"<tr>{''.join(cells)}</tr>\n"
    kind = "words" if table.words else "dense" if len(table.columns) > _MANY_COLUMNS else "numbers"
    return (
        f'<div class="scroll"><table class="{kind}"><thead>{above}<tr>{columns}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody></table></div>"
    )


def _find_group_starts(groups: Sequence[tuple[str, int]]) -> set[int]:
    """The first column of each group."""
    starts, at = set(), 1
    for _, span in groups:
        starts.add(at)
        at += span
    return starts


def _format_html_cell(at: int, cell: TableCell, starts: set[int]) -> str:
    text = _format_inline(cell.text)
    if cell.strong:
        text = f"<strong>{text}</strong>"
    if cell.kind:
        text = f'<span class="{cell.kind}">{text}</span>'
    if cell.note:
        text += f'<span class="note">{escape(cell.note)}</span>'
    tag = "th" if at == 0 else "td"
    edge = ' class="edge"' if at in starts else ""
    return f"<{tag}{edge}>{text}</{tag}>"


def _format_inline(text: str) -> str:
    marked = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", marked)


def _make_anchor(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")
