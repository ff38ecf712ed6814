"""Keyphrases as text for people, or as JSON, CSV and HTML. Each format yields what is written."""

import csv
import html
import io
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from one2set.bulk.lines import format_keyphrases
from one2set.data.document import Document
from one2set.keyphrases.results import Keyphrase
from one2set.text import Span

Found = Iterable[tuple[Document, Sequence[Keyphrase]]]

_SHOWN = 3000  # characters of a document that are shown with its keyphrases in colour
_STYLE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Keyphrases</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
mark { background: #ffd54f; color: #000; border-radius: .2em; padding: 0 .1em }
li { margin: .1rem 0 } .score { opacity: .7; font-variant-numeric: tabular-nums }
</style>
"""


def jsonl(found: Found) -> Iterator[str]:
    """One object a line; `one2set evaluate` reads it."""
    for document, keyphrases in found:
        yield _json(document, keyphrases) + "\n"


def array(found: Found) -> Iterator[str]:
    """One JSON array."""
    separator = "[\n"
    for document, keyphrases in found:
        yield separator + _json(document, keyphrases)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _json(document: Document, keyphrases: Sequence[Keyphrase]) -> str:
    return format_keyphrases(document, keyphrases).decode().rstrip()


def table(found: Found) -> Iterator[str]:
    """CSV: a keyphrase a line, its spans as `start-end` with spaces between."""
    yield "document,keyphrase,score,present,spans\r\n"
    for document, keyphrases in found:
        lines = io.StringIO()
        rows = csv.writer(lines)
        for one in keyphrases:
            spans = " ".join(f"{start}-{end}" for start, end in one.spans)
            kind = "yes" if one.present else "no"
            rows.writerow([document.id, one.text, f"{one.score:.4f}", kind, spans])
        yield lines.getvalue()


def page(found: Found) -> Iterator[str]:
    """A page of its own: texts with their keyphrases marked."""
    yield _STYLE
    for document, keyphrases in found:
        yield f'<section>\n<h2>{html.escape(document.id)}</h2>\n<p class="text">'
        for part, marked in _parts(document.text, _spans(keyphrases)):
            yield f"<mark>{html.escape(part)}</mark>" if marked else html.escape(part)
        yield "</p>\n"
        for title, lines in _lists(keyphrases):
            items = "".join(
                f'<li>{html.escape(one.text)} <span class="score">{one.score:.2f}</span></li>\n'
                for one in lines
            )
            yield f"<h3>{title}</h3>\n<ul>\n{items}</ul>\n"
        yield "</section>\n"
    yield "</html>\n"


def readable(
    document: Document, keyphrases: Sequence[Keyphrase], *, named: bool, coloured: bool
) -> Text:
    """For the terminal: the text with its keyphrases in colour, then both kinds with scores."""
    shown = Text()
    if named:
        shown.append(f"{document.id}\n", style="bold underline")
    if coloured:
        text = document.text
        for part, marked in _parts(text[:_SHOWN], _spans(keyphrases)):
            shown.append(part, style="bold black on yellow" if marked else "")
        rest = len(text) - _SHOWN
        shown.append(f" … and {rest:,} more characters\n\n" if rest > 0 else "\n\n")
    for title, lines in _lists(keyphrases):
        shown.append(f"{title}\n", style="bold")
        for one in lines:
            shown.append(f"  {one.score:.2f}  ", style="dim")
            shown.append(one.text, style="green" if one.present else "cyan")
            shown.append(f"  ×{len(one.spans)}\n" if len(one.spans) > 1 else "\n", style="dim")
    if not keyphrases:
        shown.append("no keyphrases\n", style="dim")
    return shown


def _lists(keyphrases: Sequence[Keyphrase]) -> Iterator[tuple[str, list[Keyphrase]]]:
    for title, present in (("Present", True), ("Absent", False)):
        if lines := [one for one in keyphrases if one.present == present]:
            yield title, lines


def _spans(keyphrases: Sequence[Keyphrase]) -> list[Span]:
    return [span for one in keyphrases for span in one.spans]


def _parts(text: str, spans: Iterable[Span]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, those in any of the spans marked."""
    done = 0
    for start, end in _merged(spans):
        yield text[done:start], False
        yield text[start:end], True
        done = end
    yield text[done:], False


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans in order, those that overlap as one."""
    current: Span | None = None
    for start, end in sorted(spans):
        if current is not None and start <= current[1]:
            current = current[0], max(current[1], end)
            continue
        if current is not None:
            yield current
        current = start, end
    if current is not None:
        yield current
