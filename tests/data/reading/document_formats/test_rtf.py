"""RTF: letters, fields and groups."""

from one2set.data.reading.document_formats.rtf import read_rtf


def texts(source: str) -> list[str]:
    blocks = read_rtf(source.encode("cp1252")).blocks
    return [block.text.strip() for block in blocks if block.text.strip()]


def test_letters() -> None:
    assert texts(r"{\rtf1\ansi caf\'e9 \u945?\emdash x\par \b next}") == ["café α—x", "next"]


def test_addresses_of_links_are_not_read() -> None:
    link = r'{\field{\*\fldinst{HYPERLINK "http://a.example"}}{\fldrslt{wool}}}'
    assert texts(r"{\rtf1 a " + link + " b}") == ["a wool b"]


def test_the_title() -> None:
    assert read_rtf(rb"{\rtf1{\info{\author x}{\title W\'f6l}}a}").title == "Wöl"
    assert read_rtf(rb"{\rtf1 a}").title == ""
