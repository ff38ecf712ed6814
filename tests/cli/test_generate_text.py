"""Keyphrases as text for people."""

import pytest

from one2set.cli.generate import format_text
from one2set.data.document import Document
from one2set.keyphrases.results import Keyphrase
from tests.bulk.test_keyphrase_formats import DOCUMENT, FOUND, TEXT


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
    found = [Keyphrase("word", 0.5, True, tuple((n * 5, n * 5 + 4) for n in range(2000)))]
    shown = _text(format_text(document, found, named=False, coloured=coloured))
    assert len(shown) < 3200
    assert ("… and 7,000 more characters" in shown) == coloured


def test_nothing_to_show() -> None:
    assert _text(format_text(DOCUMENT, [], named=False, coloured=False)) == "no keyphrases\n"
