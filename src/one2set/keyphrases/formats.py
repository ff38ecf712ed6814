"""Formats of keyphrases: text for the terminal, JSON, CSV, Excel, HTML and BibTeX."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, starmap
from typing import IO, Any

import orjson

from one2set.data.document import Document
from one2set.data.text import Span
from one2set.errors import missing_extra
from one2set.keyphrases.results import Keyphrase

Results = Iterable[tuple[Document, Sequence[Keyphrase]]]

_SHOWN = 3000  # characters of a document that are shown with its keyphrases in colour
_COLUMNS = ("document", "keyphrase", "score", "present", "spans")
_SHEET_ROWS = 1_000_000  # Excel has 1,048,576
_NOT_IN_EXCEL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NOT_IN_KEY = re.compile(r"[^\w.:/-]+")
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX_SPECIAL = re.compile(r"[\\~^&%$#_{}]")
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


def format_text(
    document: Document, keyphrases: Sequence[Keyphrase], *, named: bool, coloured: bool
) -> list[tuple[str, str]]:
    """For the terminal: the text with its keyphrases in colour, then both kinds with scores. Parts
    of text, each with its style."""
    shown = []
    if named:
        shown.append((f"{document.id}\n", "bold underline"))
    if coloured:
        text = document.text
        for part, marked in _cut_at_spans(text[:_SHOWN], _collect_spans(keyphrases)):
            shown.append((part, "bold black on yellow" if marked else ""))
        rest = len(text) - _SHOWN
        shown.append((f" … and {rest:,} more characters\n\n" if rest > 0 else "\n\n", ""))
    for title, lines in _group_by_kind(keyphrases):
        shown.append((f"{title}\n", "bold"))
        for keyphrase in lines:
            count = len(keyphrase.spans)
            shown.append((f"  {keyphrase.score:.2f}  ", "dim"))
            shown.append((keyphrase.text, "green" if keyphrase.present else "cyan"))
            shown.append((f"  ×{count}\n" if count > 1 else "\n", "dim"))
    if not keyphrases:
        shown.append(("no keyphrases\n", "dim"))
    return shown


def format_keyphrases(
    document: Document, keyphrases: Sequence[Keyphrase], *, texts: bool = False
) -> bytes:
    """A JSON line of keyphrases with their spans; `one2set evaluate` reads it too. With `texts`,
    it includes title and abstract."""
    record = {
        "id": document.id,
        **({"title": document.title, "abstract": document.abstract} if texts else {}),
        "keyphrases": [
            {
                "text": keyphrase.text,
                "score": round(keyphrase.score, 4),
                "present": keyphrase.present,
                "spans": keyphrase.spans,
            }
            | ({} if keyphrase.id is None else {"id": keyphrase.id})
            for keyphrase in keyphrases
        ],
    }
    return orjson.dumps(record) + b"\n"


def parse_keyphrases(line: bytes) -> tuple[Document, list[Keyphrase]]:
    """Read a line of `format_keyphrases` again."""
    record = orjson.loads(line)
    keyphrases = [
        Keyphrase(
            entry["text"],
            entry["score"],
            entry["present"],
            tuple((start, end) for start, end in entry["spans"]),
            entry.get("id"),
        )
        for entry in record["keyphrases"]
    ]
    return Document(record["id"], record.get("title", ""), record.get("abstract", "")), keyphrases


def format_jsonl(results: Results) -> Iterator[str]:
    """One object per line; `one2set evaluate` reads it."""
    for document, keyphrases in results:
        yield _json(document, keyphrases) + "\n"


def format_json(results: Results) -> Iterator[str]:
    """One JSON array."""
    separator = "[\n"
    for document, keyphrases in results:
        yield separator + _json(document, keyphrases)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _json(document: Document, keyphrases: Sequence[Keyphrase]) -> str:
    return format_keyphrases(document, keyphrases).decode().rstrip()


def format_csv(results: Results) -> Iterator[str]:
    """CSV: a keyphrase per line, its spans as `start-end` with spaces between."""
    import csv

    yield ",".join(_COLUMNS) + "\r\n"
    for pair in results:
        lines = io.StringIO()
        rows = csv.writer(lines)
        for id, text, score, kind, spans in _rows(*pair):
            rows.writerow([id, text, f"{score:.4f}", kind, spans])
        yield lines.getvalue()


def _rows(
    document: Document, keyphrases: Sequence[Keyphrase]
) -> Iterator[tuple[str, str, float, str, str]]:
    for keyphrase in keyphrases:
        spans = " ".join(f"{start}-{end}" for start, end in keyphrase.spans)
        yield (
            document.id,
            keyphrase.text,
            round(keyphrase.score, 4),
            "yes" if keyphrase.present else "no",
            spans,
        )


def write_workbook(results: Results, target: IO[bytes]) -> None:
    """An Excel file with the columns of the CSV."""
    openpyxl = import_openpyxl()
    book = openpyxl.Workbook(write_only=True)
    for _, rows in groupby(enumerate(chain.from_iterable(starmap(_rows, results))), _sheet_of):
        sheet = book.create_sheet()
        sheet.append(_COLUMNS)
        for _, row in rows:
            sheet.append([_cell(openpyxl, sheet, value) for value in row])
    if not book.worksheets:
        book.create_sheet().append(_COLUMNS)
    book.save(target)


def _sheet_of(numbered: tuple[int, object]) -> int:
    return numbered[0] // _SHEET_ROWS


def _cell(openpyxl: Any, sheet: Any, value: float | str) -> Any:
    """A text that begins with = stays a text, and not a formula."""
    if not isinstance(value, str):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, _NOT_IN_EXCEL.sub("\ufffd", value))
    cell.data_type = "s"
    return cell


def import_openpyxl() -> Any:
    """The package for Excel, an extra."""
    try:
        import openpyxl
    except ImportError:
        raise missing_extra("openpyxl", extra="documents", purpose="writing Excel") from None
    return openpyxl


def format_bibtex(results: Results) -> Iterator[str]:
    """An entry a document: its title, and its keyphrases as `keywords`."""
    keys = UniqueNames()
    for document, keyphrases in results:
        key = keys.choose(_NOT_IN_KEY.sub("-", document.id) or "document")
        title = f"  title = {{{_latex(document.title)}}},\n" if document.title else ""
        phrases = ", ".join(_latex(keyphrase.text) for keyphrase in keyphrases)
        yield f"@misc{{{key},\n{title}  keywords = {{{phrases}}}\n}}\n\n"


class UniqueNames:
    """Adds numbers to names that were chosen before: a, a-2, a-3."""

    def __init__(self) -> None:
        self._chosen: set[str] = set()
        self._numbers: Counter[str] = Counter()

    def choose(self, name: str) -> str:
        """The name, or if need be the name with a number."""
        unique = name
        while unique in self._chosen:
            self._numbers[name] += 1
            unique = f"{name}-{self._numbers[name] + 1}"
        self._chosen.add(unique)
        return unique


def _latex(text: str) -> str:
    return _LATEX_SPECIAL.sub(lambda match: _LATEX.get(match[0], "\\" + match[0]), text)


def format_html(results: Results) -> Iterator[str]:
    """A page of its own: texts with their keyphrases marked."""
    import html  # here, because it is slow to import

    yield _STYLE
    for document, keyphrases in results:
        yield f'<section>\n<h2>{html.escape(document.id)}</h2>\n<p class="text">'
        for part, marked in _cut_at_spans(document.text, _collect_spans(keyphrases)):
            yield f"<mark>{html.escape(part)}</mark>" if marked else html.escape(part)
        yield "</p>\n"
        for title, lines in _group_by_kind(keyphrases):
            items = "".join(
                f"<li>{html.escape(keyphrase.text)} "
                f'<span class="score">{keyphrase.score:.2f}</span></li>\n'
                for keyphrase in lines
            )
            yield f"<h3>{title}</h3>\n<ul>\n{items}</ul>\n"
        yield "</section>\n"
    yield "</html>\n"


def _group_by_kind(keyphrases: Sequence[Keyphrase]) -> Iterator[tuple[str, list[Keyphrase]]]:
    """Present and absent ones, each with its heading."""
    for title, present in (("Present", True), ("Absent", False)):
        if lines := [keyphrase for keyphrase in keyphrases if keyphrase.present == present]:
            yield title, lines


def _collect_spans(keyphrases: Sequence[Keyphrase]) -> list[Span]:
    """All places of all keyphrases."""
    return [span for keyphrase in keyphrases for span in keyphrase.spans]


def _cut_at_spans(text: str, spans: Iterable[Span]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, those in any of the spans marked."""
    done = 0
    for start, end in _merge_spans(spans):
        yield text[done:start], False
        yield text[start:end], True
        done = end
    yield text[done:], False


def _merge_spans(spans: Iterable[Span]) -> Iterator[Span]:
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
