"""Blocks: hyphenation, references, front matter, addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.reading.document_formats.blocks import (
    LINE_BREAK,
    Block,
    Extract,
    clean,
    compose,
    is_section,
    join_lines,
    paragraphs,
)


@pytest.mark.parametrize(
    ("lines", "known", "expected"),
    [
        (["a key-", "phrase"], set(), "a keyphrase"),
        (["in real-", "time"], {"real-time"}, "in real-time"),
        (["in real-", "time"], {"real-time", "realtime"}, "in realtime"),
        (["(multi-", "modal) sheep"], {"multi-modal"}, "(multi-modal) sheep"),
        (["soft\xad", "ware"], set(), "software"),
        (["the Smith-", "Jones test"], set(), "the Smith- Jones test"),
        (["pages 3-", "4"], set(), "pages 3- 4"),
        (["a -", "b"], set(), "a - b"),
        (["one", "two"], set(), "one two"),
        (["-", "a"], set(), "- a"),
        ([], set(), ""),
    ],
)
def test_hyphenation_is_undone(lines: list[str], known: set[str], expected: str) -> None:
    assert join_lines(lines, known) == expected


@given(st.lists(st.text("ab -\xad", max_size=6), max_size=6))
def test_joining_lines_loses_no_letter(lines: list[str]) -> None:
    def letters(text: str) -> list[str]:
        return [char for char in text if char in "ab"]

    assert letters(join_lines(lines, set())) == letters("".join(lines))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.example/b_c?d=1, and", "see , and"),
        ("(www.flock.example)", ""),
        ("write to ewe.ram@flock.example.", "write to ."),
        ("doi:10.1000/182 says", "says"),
        ("ﬁne eﬀects of soft\xadware\x00 \n here", "fine effects of software here"),
        ("half \ud83d and whole \ud83d\ude00", "half � and whole 😀"),
        ("the web, at scale, and a@b", "the web, at scale, and a@b"),
    ],
)
def test_clean(text: str, expected: str) -> None:
    assert clean(text) == expected


def texts(*blocks: Block | str, title: str = "", abstract: str = "") -> list[str]:
    converted = [Block(block) if isinstance(block, str) else block for block in blocks]
    return compose(Extract(title, converted, abstract))[1].split("\n\n")


def heading(text: str) -> Block:
    return Block(text, heading=True)


@pytest.mark.parametrize(
    "name", ["References", "REFERENCES", "7. References", "VI Bibliography", "Literature cited:"]
)
def test_references_are_left_out_up_to_the_next_heading(name: str) -> None:
    assert texts("a", heading(name), "[1] x", "[2] y", heading("More"), "b") == ["a", "More", "b"]
    assert texts("a", name, "[1] x", "Appendix A", "b") == ["a", "Appendix A", "b"]
    assert texts("References are what we discuss.", "b") == ["References are what we discuss.", "b"]


@pytest.mark.parametrize(
    ("block", "rest"),
    [
        ("Abstract", []),
        ("ABSTRACT", []),
        ("Abstract—We count.", ["We count."]),
        ("Abstract: x", ["x"]),
    ],
)
def test_front_matter_is_left_out(block: str, rest: list[str]) -> None:
    assert texts("Ovid Shearer", "Meadow", block, "b") == [*rest, "b"]
    assert texts("Abstract algebra is fun.", "b") == ["Abstract algebra is fun.", "b"]
    assert len(texts("word " * 400, block, "b")) == 3


def test_the_title_is_not_repeated() -> None:
    assert texts("Counting", "sheep!", "a", title="Counting Sheep") == ["a"]
    assert texts("Ovid", "Counting sheep", "a", title="Counting Sheep") == ["Ovid", "a"]
    assert texts("Counting", "a", title="Counting Sheep") == ["Counting", "a"]


def test_a_separate_abstract_comes_first_and_once() -> None:
    assert texts("b", abstract="We count.") == ["We count.", "b"]
    assert texts("b", "We  count.", abstract="We count.") == ["b", "We count."]


def test_paragraphs_by_the_length_of_lines() -> None:
    lines = ["This line is as long as the others are", "and so is this one, more or less, here",
             "but it ends.", "A heading", "Another paragraph begins on this line, which",
             "1 Numbered", "ends with a line."]  # fmt: skip
    assert [block.text for block in paragraphs(lines)] == [
        f"{lines[0]} {lines[1]} {lines[2]}", *lines[3:],
    ]  # fmt: skip
    assert list(paragraphs([])) == []


def test_headings_that_matter() -> None:
    assert all(map(is_section, ["References", "Abstract", "ABSTRACT:", "Appendix B: Sheep"]))
    assert not any(
        map(is_section, ["Introduction", "Abstract thoughts about sheep and graphs", ""])
    )


@pytest.mark.parametrize("text", ["eﬀect", "e ﬀ ect", "eﬀ\xadect"])
def test_ligatures_are_letters(text: str) -> None:
    assert clean(f"the {text} of ﬁelds, \uf001elds and \uf002ocks") == (
        "the effect of fields, fields and flocks"
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # Sentences that were wrapped.
        ("We count with neural|networks.", "We count with neural networks."),
        ("We count sheep with|neural networks of|sheep, always.) Or", 1),
        ("We count with neural|networks. We|Sleep.", "We count with neural networks. We|Sleep."),
        ("We count neural|networks! Then we|sleep", "We count neural networks! Then we|sleep"),
        # Lists, addresses, verses, paragraphs.
        ("public data|mining|image|processing", 4),
        ("flour|milk|two eggs.", 3),
        ("the sheep of the hill|sleep in the night", 2),
        ("Institute of Wool Research|12 Ewe Street|Flockton", 3),
        ("We count sheep at night.|then we sleep.", 2),
        ("We count the following:|sheep, goats.", 2),
        ("We asked “Who is there?”|they slept.", 2),
        ("We count with neural||networks.", "We count with neural|networks."),
        ("We count with neural|3 networks.", 2),
    ],
)
def test_a_line_break_ends_a_block_unless_a_sentence_goes_on(
    lines: str, expected: str | int
) -> None:
    """`expected` is the text, or as how many lines it stays."""
    composed = texts(lines.replace("|", LINE_BREAK))
    if isinstance(expected, str):
        assert composed == expected.split("|")
    else:
        assert len(composed) == expected
        assert " ".join(composed) == lines.replace("|", " ")


def test_a_heading_goes_on_after_a_line_break() -> None:
    lines = f"Counting{LINE_BREAK} sheep{LINE_BREAK}At night"
    assert texts(heading(lines)) == ["Counting sheep", "At night"]


def test_very_many_line_breaks_do_not_take_forever() -> None:
    lines = LINE_BREAK.join(["we count the sheep"] * 20_000)
    (text,) = texts(f"{lines}.")
    assert len(text) == len(lines) + 1
