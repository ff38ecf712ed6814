"""A page becomes Markdown and HTML."""

from html.parser import HTMLParser

from one2set.reproduction.page import (
    Heading,
    PageBlock,
    PageFigure,
    PageTable,
    Paragraph,
    Preformatted,
    TableCell,
    to_html,
    to_markdown,
)

_BLOCKS: list[PageBlock] = [
    Heading("Numbers & words"),
    Paragraph("Some `code`, **strong**, and a < b."),
    PageTable(
        ["", "F1@5", "F1@M"],
        [
            ["a|b", TableCell("0.3", "0.4", strong=True), TableCell("holds", kind="holds")],
            ["c", "", "1"],
        ],
        [("kp20k", 2)],
    ),
    PageFigure("lambda", b"<svg/>", "A figure"),
    Preformatted("Commands", ["one2set train <corpus>"]),
]


class Tags(HTMLParser):
    """Whether every tag that opens also closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_page_becomes_markdown() -> None:
    text = to_markdown("Title", _BLOCKS, figures="figures")
    assert text.startswith("# Title\n\n## Numbers & words\n\nSome `code`")
    assert "|  | kp20k F1@5 | kp20k F1@M |\n| --- | ---: | ---: |\n" in text
    assert "| a\\|b | **0.3** (0.4) | **holds** |" in text
    assert to_markdown("", [PageTable(["set", "|KP|"], [])], figures="").count(" | ") == 2
    assert "![A figure](figures/lambda.svg)" in text
    assert "```text\none2set train <corpus>\n```" in text


def test_tokens_are_not_taken_for_tags_in_markdown() -> None:
    blocks: list[PageBlock] = [Paragraph("no <eos>, `<eos>`"), PageTable(["<a>"], [["<b>"]])]
    text = to_markdown("", blocks, figures="")
    assert "no \\<eos>, `<eos>`" in text
    assert "| \\<a> |" in text
    assert "| \\<b> |" in text


def test_html_is_whole_and_needs_no_other_file() -> None:
    page = to_html("Title", _BLOCKS)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    words = " ".join(tags.words)
    assert "one2set train <corpus>" in words
    assert "a < b" in words
    assert '<a href="#numbers-words">Numbers &amp; words</a>' in page
    assert '<th colspan="2">kp20k</th>' in page
    assert '<strong>0.3</strong><span class="note">0.4</span>' in page
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<code>code</code>" in page


def test_a_table_of_many_columns_is_set_in_smaller_type() -> None:
    page = to_html("", [PageTable([str(number) for number in range(10)], [])])
    assert '<table class="dense">' in page
    assert "table.dense {" in page
    page = to_html("", [PageTable([str(number) for number in range(9)], [])])
    assert '<table class="numbers">' in page
