"""The formats of keyphrases."""

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from one2set.cli.keyphrase_formats import array, jsonl, page, readable, table
from one2set.data.document import Document
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


def test_json() -> None:
    assert json.loads("".join(array(BOTH))) == records()
    assert json.loads("".join(array([]))) == []
    assert [json.loads(line) for line in jsonl(BOTH)] == records()


def test_csv() -> None:
    rows = list(csv.reader(io.StringIO("".join(table(BOTH)), newline="")))
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


def test_html_marks_what_stands_in_the_text_and_escapes_it() -> None:
    found = Page("".join(page(BOTH)))
    assert found.text == TEXT + "!"
    assert found.marked[1:] == ["Sets", "sets", "sets of graphs"]
    assert found.items[1:] == ["Sets 0.91", 'sets of "graphs" 0.50', "x < y 0.04"]
    assert "<b>" not in "".join(page(BOTH))


def test_text_for_people() -> None:
    shown = readable(DOCUMENT, FOUND, named=True, coloured=True)
    assert shown.plain.splitlines() == [
        "a, b",
        *TEXT.splitlines(),
        "",
        "Present",
        "  0.91  Sets  ×3",
        '  0.50  sets of "graphs"',
        "Absent",
        "  0.04  x < y",
    ]
    offset = len("a, b\n")
    coloured = [
        shown.plain[span.start : span.end] for span in shown.spans if "yellow" in str(span.style)
    ]
    assert coloured == ["Sets", "sets", "sets of graphs"]
    assert shown.plain[offset : offset + len(TEXT)] == TEXT


@pytest.mark.parametrize("coloured", [True, False])
def test_a_long_text_is_not_printed_whole(coloured: bool) -> None:
    document = Document("d", "", "word " * 2000)
    found = [Keyphrase("word", 0.5, True, tuple((n * 5, n * 5 + 4) for n in range(2000)))]
    shown = readable(document, found, named=False, coloured=coloured).plain
    assert len(shown) < 3200
    assert ("… and 7,000 more characters" in shown) == coloured


def test_nothing_to_show() -> None:
    assert readable(DOCUMENT, [], named=False, coloured=False).plain == "no keyphrases\n"
