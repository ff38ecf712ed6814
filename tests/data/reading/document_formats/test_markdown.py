"""Markdown: titles, and what is not read."""

import pytest

from one2set.data.reading.document_formats.markdown import read_markdown


def texts(source: str) -> list[str]:
    result = [" ".join(block.text.split()) for block in read_markdown(source).blocks]
    return [text for text in result if text]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Wool", "Wool"),
        ("Wool\n====", "Wool"),
        ("---\ntitle: 'Wool: a tale'\ndate: x\n---\n# Other", "Wool: a tale"),
        ("badge\n\n# Wool", "Wool"),
        ("## Wool", ""),
        ("a\n\n" * 9 + "# Wool", ""),
    ],
)
def test_the_title(source: str, expected: str) -> None:
    assert read_markdown(source).title == expected


def test_marks_links_pictures_and_code_are_not_read() -> None:
    assert texts("*a* __b__ `c` [d](http://e.example 'f') ![g](h) <b>i</b> <http://j.example>") == [
        "a b c d i http://j.example"
    ]
    assert texts("a\n\n    code\n\n~~~\ncode\n~~~\n\n- b\n- c") == ["a", "b", "c"]
    assert texts("| a | b |\n|---|---|\n| c | d |") == ["a", "b", "c", "d"]


def test_html_within() -> None:
    assert texts("<p align=center>\n<b>a</b>\n</p>\n\n<!-- x\n\n y -->\n\n<pre>\nz\n</pre>") == [
        "a"
    ]
    assert texts("<!-- never closed\n\nx") == []


def test_headings() -> None:
    assert read_markdown("# a\n\nb\n\n***\n\nc").blocks == [("a", True), ("b", False), ("c", False)]


def test_notes_and_boxes_of_tasks_are_not_read() -> None:
    note = "[^1]: A note\n    that goes on.\n"
    assert texts(f"Sheep[^1] graze.\n\n{note}\n- [x] count [x] sheep") == [
        "Sheep graze.",
        "count [x] sheep",
    ]
