"""The output formats of keyphrases."""

import csv
import io
import json
from html.parser import HTMLParser

import openpyxl
import pytest
from bibtexparser.entrypoint import parse_string

from one2set.data.document import Document
from one2set.keyphrases import formats as keyphrase_formats
from one2set.keyphrases.formats import (
    format_bibtex,
    format_csv,
    format_html,
    format_json,
    format_jsonl,
    format_keyphrases,
    format_text,
    write_workbook,
)
from one2set.keyphrases.results import Keyphrase

TEXT = 'Sets & "graphs" <b>\nof sets, or sets of graphs.'
DOCUMENT = Document("a, b", "", TEXT)
FOUND = [
    Keyphrase("Sets", 0.91234, True, ((0, 4), (23, 27), (32, 36))),
    Keyphrase('sets of "graphs"', 0.5, True, ((32, 46),)),
    Keyphrase("x < y", 0.04, False, ()),
]
BOTH = [(DOCUMENT, FOUND), (Document("empty", "", "!"), [])]


def records() -> list[dict[str, object]]:
    return [
        {
            "id": "a, b",
            "keyphrases": [
                {
                    "text": "Sets",
                    "score": 0.9123,
                    "present": True,
                    "spans": [[0, 4], [23, 27], [32, 36]],
                },
                {"text": 'sets of "graphs"', "score": 0.5, "present": True, "spans": [[32, 46]]},
                {"text": "x < y", "score": 0.04, "present": False, "spans": []},
            ],
        },
        {"id": "empty", "keyphrases": []},
    ]


def test_json_has_all_documents() -> None:
    assert json.loads("".join(format_json(BOTH))) == records()
    assert json.loads("".join(format_json([]))) == []
    assert [json.loads(line) for line in format_jsonl(BOTH)] == records()


def test_csv_has_a_row_for_each_keyphrase() -> None:
    rows = list(csv.reader(io.StringIO("".join(format_csv(BOTH)), newline="")))
    assert rows == [
        ["document", "keyphrase", "score", "present", "spans"],
        ["a, b", "Sets", "0.9123", "yes", "0-4 23-27 32-36"],
        ["a, b", 'sets of "graphs"', "0.5000", "yes", "32-46"],
        ["a, b", "x < y", "0.0400", "no", ""],
    ]


class Page(HTMLParser):
    """The text of a page, and what of it is marked."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text, self.marked, self.items = "", [""], [""]
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        {"mark": self.marked, "li": self.items}.get(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        while self.tags and self.tags.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "p" in self.tags:
            self.text += data
        if "mark" in self.tags:
            self.marked[-1] += data
        if "li" in self.tags:
            self.items[-1] += data


def test_html_marks_present_keyphrases_and_escapes_text() -> None:
    result = Page("".join(format_html(BOTH)))
    assert result.text == TEXT + "!"
    assert result.marked[1:] == ["Sets", "sets", "sets of graphs"]
    assert result.items[1:] == ["Sets 0.91", 'sets of "graphs" 0.50', "x < y 0.04"]
    assert "<b>" not in "".join(format_html(BOTH))


def workbook(result: keyphrase_formats.Results) -> list[list[list[object]]]:
    sink = io.BytesIO()
    write_workbook(result, sink)
    book = openpyxl.load_workbook(io.BytesIO(sink.getvalue()))
    return [[list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets]


def test_excel_has_the_rows_of_the_csv() -> None:
    ((header, *rows),) = workbook(BOTH)
    assert header == ["document", "keyphrase", "score", "present", "spans"]
    assert rows == [
        ["a, b", "Sets", 0.9123, "yes", "0-4 23-27 32-36"],
        ["a, b", 'sets of "graphs"', 0.5, "yes", "32-46"],
        ["a, b", "x < y", 0.04, "no", None],
    ]
    assert workbook([]) == [[header]]


def test_excel_has_no_formulas_and_no_control_characters() -> None:
    result = [(DOCUMENT, [Keyphrase("=1+1", 0.5, False, ()), Keyphrase("a\x07b", 0.5, False, ())])]
    sink = io.BytesIO()
    write_workbook(result, sink)
    cells = openpyxl.load_workbook(io.BytesIO(sink.getvalue())).worksheets[0]["B"]
    assert [(cell.value, cell.data_type) for cell in cells[1:]] == [
        ("=1+1", "s"),
        ("a\ufffdb", "s"),
    ]


def test_excel_starts_a_new_sheet_before_the_row_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyphrase_formats, "_SHEET_ROWS", 2)
    assert [len(rows) for rows in workbook(BOTH)] == [3, 2]


def test_bibtex_can_be_parsed() -> None:
    odd = Document("x y{}/1", "100% of {A} & B_c", "")
    twice = [(odd, [Keyphrase("C#", 0.5, False, ()), Keyphrase("b", 0.4, False, ())])] * 2
    library = parse_string("".join(format_bibtex([*BOTH, *twice])))
    assert not library.failed_blocks
    assert [entry.key for entry in library.entries] == ["a-b", "empty", "x-y-/1", "x-y-/1-2"]
    assert library.entries[2]["title"] == r"100\% of \{A\} \& B\_c"
    assert library.entries[2]["keywords"] == r"C\#, b"


def test_bibtex_keys_are_unique() -> None:
    results: list[tuple[Document, list[Keyphrase]]] = [
        (Document(id, "", ""), []) for id in ("a", "a", "a-2", "a", "a-2")
    ]
    library = parse_string("".join(format_bibtex(results)))
    keys = ["a", "a-2", "a-2-2", "a-3", "a-2-3"]
    assert [entry.key for entry in library.entries] == keys


def test_lines_of_keyphrases() -> None:
    document = Document("d", "", "Graph networks.")
    result = [
        Keyphrase("Graph networks", 0.54321, True, ((0, 14),)),
        Keyphrase("nets", 0.1, False, ()),
    ]
    assert json.loads(format_keyphrases(document, result)) == {
        "id": "d",
        "keyphrases": [
            {"text": "Graph networks", "score": 0.5432, "present": True, "spans": [[0, 14]]},
            {"text": "nets", "score": 0.1, "present": False, "spans": []},
        ],
    }


def _text(shown: list[tuple[str, str]]) -> str:
    return "".join(text for text, _ in shown)


def test_text_for_people() -> None:
    shown = format_text(DOCUMENT, FOUND, named=True, coloured=True)
    assert _text(shown).splitlines() == [
        "a, b",
        *TEXT.splitlines(),
        "",
        "Present",
        "  0.91  Sets  ×3",
        '  0.50  sets of "graphs"',
        "Absent",
        "  0.04  x < y",
    ]
    coloured = [text for text, style in shown if "yellow" in style]
    assert coloured == ["Sets", "sets", "sets of graphs"]
    assert _text(shown).startswith(f"a, b\n{TEXT}")


@pytest.mark.parametrize("coloured", [True, False])
def test_a_long_text_is_not_printed_whole(coloured: bool) -> None:
    document = Document("d", "", "word " * 2000)
    result = [Keyphrase("word", 0.5, True, tuple((n * 5, n * 5 + 4) for n in range(2000)))]
    shown = _text(format_text(document, result, named=False, coloured=coloured))
    assert len(shown) < 3200
    assert ("… and 7,000 more characters" in shown) == coloured


def test_nothing_to_show() -> None:
    assert _text(format_text(DOCUMENT, [], named=False, coloured=False)) == "no keyphrases\n"
