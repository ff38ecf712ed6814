"""BibTeX, RIS and related formats, beyond test_readers."""

from pathlib import Path

import pytest

from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields
from one2set.data.reading.references import recognise_references
from one2set.data.reading.streams import ErrorPolicy
from one2set.errors import DataError
from tests.data.formats import write


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("TY  - JOUR\n", "tagged"),
        ("\n\nPMID- 1\n", "tagged"),
        ("FN Clarivate Analytics Web of Science\n", "tagged"),
        ("% a comment\n\n@Article{a,", "bibtex"),
        ("@string(x = {y})", "bibtex"),
        ("@someone {who} wrote", "bibtex"),  # odd, but who begins a text like that
        ("TY - a text about types", None),
        ("A text with an @article{x}.", None),
        ("", None),
    ],
)
def test_formats_are_recognised_by_their_beginning(text: str, kind: str | None) -> None:
    assert recognise_references(text) == kind


def test_bibtex_values_are_converted_to_text(tmp_path: Path) -> None:
    source = r"""@string{wool = "Wool"}
@Article{a, TITLE = wool, Abstract = "We" # " count.", keywords = {$k$-means, {B}ayes \& co}}
@misc(b, title = {{Sheep} of G{\"o}del})"""
    first, second = read(write(tmp_path, "a.bib", source.encode()))
    assert (first.id, first.title, first.abstract) == ("a", "Wool", "We count.")
    assert first.keyphrases == ("k-means", "Bayes & co")
    assert (second.id, second.title) == ("b", "Sheep of Gödel")


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ('{"Why Do Sheep Graze?": Explaining Wool}', '"Why Do Sheep Graze?": Explaining Wool'),
        ('{Saying "Baa"}', 'Saying "Baa"'),
        ('{"Wool" # "Sheep"}', '"Wool" # "Sheep"'),  # text, as it stands in braces
        ('"Saying {"}Baa{"}"', 'Saying "Baa"'),
        ('"Wool" # " and Sheep"', "Wool and Sheep"),
    ],
)
def test_quotes_of_a_bibtex_title_stay_and_those_around_its_parts_go(
    tmp_path: Path, value: str, title: str
) -> None:
    (document,) = read(write(tmp_path, "a.bib", f"@misc{{a, title = {value}}}".encode()))
    assert document.title == title


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ('wool # " and Sheep"', "Wool and Sheep"),
        ('"Soft " # WOOL', "Soft Wool"),
        ("{Soft } # wool\n  # { and Sheep}", "Soft Wool and Sheep"),
        ("{Soft} # {er}", "Softer"),
        ("both # {.}", "Wool, sheep."),
        ('"A # B, " # {C # "D"}', 'A # B, C # "D"'),
        ('"Sheep {"}#{"} " # 2', 'Sheep "#" 2'),
        ('"Ga{\\ss}e, K\\"ase" # {}', "Gaße, Käse"),
        ("wool # unknown", "Woolunknown"),
        ("{Soft} {wool}", "Soft wool"),  # not BibTeX, but what is meant is clear
        ("wool #", "Wool"),
    ],
)
def test_parts_of_bibtex_values_are_joined(tmp_path: Path, value: str, title: str) -> None:
    strings = '@string{Wool = "Wool"} @string(both = wool # ", " # {sheep})'
    source = f"{strings} @misc{{a, title = {value}, abstract = wool}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert (document.title, document.abstract) == (title, "Wool")


def test_bibtex_strings_that_double_do_not_fill_the_memory(tmp_path: Path) -> None:
    strings = ["@string{s0 = {wool }}"]
    strings += [f"@string{{s{n} = s{n - 1} # s{n - 1}}}" for n in range(1, 60)]
    source = "\n".join([*strings, "@misc{a, title = s1}", "@misc{b, title = s59}"])
    errors = ErrorPolicy("skip")
    documents = list(read(write(tmp_path, "a.bib", source.encode()), errors=errors))
    assert documents[0].title == "wool wool"
    assert len(documents[1].title) < 1_000_000
    assert errors.skipped > 0
    with pytest.raises(DataError, match="a string has more than 65,536 characters") as met:
        list(read(tmp_path / "a.bib"))
    assert met.value.line is not None


def test_a_bibtex_value_of_very_many_parts_is_reported(tmp_path: Path) -> None:
    source = f"@string{{s = {{{'wool ' * 100}}}}} @misc{{a, title = {' # '.join(['s'] * 1_000)}}}"
    path = write(tmp_path, "a.bib", f"{source}\n@misc{{b, title={{B}}}}".encode())
    errors = ErrorPolicy("skip", max_line=100_000)
    assert [document.id for document in read(path, errors=errors)] == ["b"]
    assert errors.skipped == 1


@pytest.mark.parametrize(
    ("value", "title"),
    [
        (r"The {LaTeX} macro \title", r"The LaTeX macro \title"),
        (r"Files to \input", r"Files to \input"),
        ("{" * 300 + "Wool" + "}" * 300, "Wool"),
    ],
)
def test_a_bibtex_field_that_is_not_valid_latex_is_read_as_it_is(
    tmp_path: Path, value: str, title: str
) -> None:
    source = (
        rf"@misc{{a, title = {{{value}}}, abstract = {{Erd\H{{o}}s}}}} @misc{{b, title = {{B}}}}"
    )
    first, second = read(write(tmp_path, "a.bib", source.encode()))
    assert (first.title, first.abstract) == (title, "Erdős")
    assert second.title == "B"


@pytest.mark.parametrize(
    "keywords", ["a b,c,d", "a b,c ,d", "a b, c; d", "a b; c; d", "a b, c, d", "a b; c, d;"]
)
def test_keywords_of_bibtex_are_split_at_commas_and_semicolons(
    tmp_path: Path, keywords: str
) -> None:
    source = f"@misc{{a, title = {{T}}, keywords = {{{keywords}}}}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.keyphrases == ("a b", "c", "d")


def test_commas_between_digits_do_not_split_keywords_of_bibtex(tmp_path: Path) -> None:
    source = "@misc{a, title={T}, keywords={1,2-dichloroethane,10,000 sheep,3D,2D}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.keyphrases == ("1,2-dichloroethane", "10,000 sheep", "3D", "2D")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n   "])
def test_keywords_of_bibtex_may_have_a_line_each(tmp_path: Path, end: str) -> None:
    source = (
        f"@misc{{a, title={{T}}, keywords={{{end}Adult{end}{{B}}rain Mapping{end}Female{end}}}}}"
    )
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.keyphrases == ("Adult", "Brain Mapping", "Female")
    (document,) = read(write(tmp_path, "a.bib", b"@misc{a, title={T}, keywords={a\n b, c,\nd}}"))
    assert document.keyphrases == ("a b", "c", "d")


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ("Adult\nModels, Statistical\nFemale", ("Adult", "Models, Statistical", "Female")),
        (
            "\n  Adult\r\n  Wool, Raw, Washed\r\n\r\n  Female\r\n",
            ("Adult", "Wool, Raw, Washed", "Female"),
        ),
        ("1,2-wool\nAdult", ("1,2-wool", "Adult")),
        # Lists that are wrapped: after a comma, before it, within a keyword.
        ("raw wool, sheep,\nadult", ("raw wool", "sheep", "adult")),
        ("raw wool,\nsheep,\nadult\n", ("raw wool", "sheep", "adult")),
        ("raw wool\n, sheep\n, adult", ("raw wool", "sheep", "adult")),
        ("adult, female, raw\n  wool, sheep", ("adult", "female", "raw wool", "sheep")),
        ("adult, female, raw\nwool", ("adult", "female", "raw wool")),
        ("adult\nraw, female; sheep\ngoat", ("adult raw", "female", "sheep goat")),
        # Two lines do not tell.
        ("Models, Statistical\nFemale", ("Models", "Statistical Female")),
    ],
)
def test_a_comma_of_a_bibtex_keyword_that_has_its_line_does_not_split_it(
    tmp_path: Path, keywords: str, expected: tuple[str, ...]
) -> None:
    source = f"@misc{{a, title = {{T}}, keywords = {{{keywords}}}}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.keyphrases == expected


def test_keywords_of_bibtex_may_have_another_name(tmp_path: Path) -> None:
    path = write(tmp_path, "a.bib", b"@misc{a, title={T}, TAGS={a b, c; d}}")
    (document,) = read(path, fields=Fields(keyphrases=("Tags",)))
    assert document.keyphrases == ("a b", "c", "d")


def test_the_first_of_repeated_fields_of_bibtex_counts(tmp_path: Path) -> None:
    source = """@string{wool = "Wool"}
@misc{a, title=wool, note={p1}, note={p2}, Title={Sheep}, title={Goats}}
@misc{b, title={B}}
@misc{a, title={Again}, note={p1}, note={p2}}"""
    errors = ErrorPolicy("skip")
    documents = list(read(write(tmp_path, "a.bib", source.encode()), errors=errors))
    assert [(document.id, document.title) for document in documents] == [("a", "Wool"), ("b", "B")]
    assert errors.skipped == 1  # the key that is repeated


def test_percent_signs_of_bibtex_are_text(tmp_path: Path) -> None:
    source = r"@misc{a, title={50% of $k$ and 5\% more}, abstract={100% wool.}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert (document.title, document.abstract) == ("50% of k and 5% more", "100% wool.")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (r"{\textless}p id=x{\textgreater}We{\textless}/p{\textgreater}count.", "We count."),
        ("<jats:title>Aim</jats:title><jats:p>We count.</jats:p>", "Aim We count."),
        ("CO<sub>2</sub> and $<$i$>$H$<$/i$>$ by<br/>night", "CO2 and H by night"),
        (r"p {\textless} 0.05, q \textgreater{} 1, r \textless 2", "p < 0.05, q > 1, r < 2"),
        ("a <b and c> d, if i<p, p>q, <pre>, <bold", "a <b and c> d, if i<p, p>q, <pre>, <bold"),
    ],
)
def test_tags_of_html_in_bibtex_are_not_read(tmp_path: Path, value: str, expected: str) -> None:
    source = f"@misc{{a, title={{T}}, abstract={{{value}}}}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.abstract == expected


def test_tags_in_bibtex_that_never_end_do_not_take_forever(tmp_path: Path) -> None:
    for unclosed in ("<p ", "<p a=", "<p" + " " * 100_000, "<p a=" + " " * 100_000):
        source = f"@misc{{a, title={{T}}, abstract={{{unclosed * (300_000 // len(unclosed))}}}}}"
        assert len(list(read(write(tmp_path, "a.bib", source.encode())))) == 1


@pytest.mark.parametrize("first", ["AB", "N2"])
def test_a_text_under_two_tags_is_read_once(tmp_path: Path, first: str) -> None:
    second = "N2" if first == "AB" else "AB"
    source = f"TY  - A\nT1  - Sheep\nTI  - Sheep\n{first}  - We count.\n{second}  - We count.\n"
    source += f"KW  - a\nDE  - b\nER  - \nTY  - B\n{first}  - \n{second}  - Text.\n"
    one, two = read(write(tmp_path, "a.ris", source.encode()))
    assert (one.title, one.abstract, one.keyphrases) == ("Sheep", "We count.", ("a", "b"))
    assert two.abstract == "Text."


def test_keyphrases_of_ris_may_have_a_line_each(tmp_path: Path) -> None:
    source = b"TY  - A\nTI  - T\nKW  - Adult\nBrain Mapping\n\nRISC-V\nKW  - a; b\n  c\nER  - \n"
    (document,) = read(write(tmp_path, "a.ris", source))
    assert document.keyphrases == ("Adult", "Brain Mapping", "RISC-V", "a", "b c")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("MH  - Humans\nMH  - Models,\n      Statistical\n", ("Humans", "Models, Statistical")),
        ("MH  - Humans; Adult\nMH  - Aged\n", ("Humans", "Adult", "Aged")),
        ("MH  - Humans\nAdult\n", ("Humans", "Adult")),
        ("MH  - Humans, Adult\n", ("Humans", "Adult")),
    ],
)
def test_keyphrases_of_another_tag(tmp_path: Path, source: str, expected: tuple[str, ...]) -> None:
    path = write(tmp_path, "a.nbib", f"PMID- 1\nTI  - T\n{source}OT  - x\n".encode())
    (document,) = read(path, fields=Fields(keyphrases=("mh",)))
    assert document.keyphrases == expected


def test_fields_can_be_mapped(tmp_path: Path) -> None:
    path = write(tmp_path, "a.ris", b"TY  - A\nTI  - T\nAB  - A.\nN1  - A note\nER  - \n")
    (document,) = read(path, fields=Fields(abstract=("N1",)))
    assert document.abstract == "A note"


def test_entries_may_lack_an_end_tag(tmp_path: Path) -> None:
    path = write(tmp_path, "a.ris", b"TY  - A\nTI  - One\nTY  - B\nT1  - Two\nDO  - 10.1/x\n")
    assert [(document.id, document.title) for document in read(path)] == [
        ("a-1", "One"),
        ("10.1/x", "Two"),
    ]


def test_an_end_tag_ends_an_entry_though_the_next_lacks_its_first_tag(tmp_path: Path) -> None:
    path = write(tmp_path, "a.ris", b"TI  - One\nER  - \n\nTI  - Two\nKW  - b\nER  - \n")
    assert [(document.id, document.title) for document in read(path)] == [
        ("a-1", "One"),
        ("a-4", "Two"),
    ]


def test_a_line_continues_the_one_before(tmp_path: Path) -> None:
    source = b"TY  - A\nTI  - On light\nAB  - The effect of\nUV light on\nAI  skin.\nER  - \n"
    (document,) = read(write(tmp_path, "a.ris", source))
    assert (document.title, document.abstract) == (
        "On light",
        "The effect of UV light on AI  skin.",
    )
    source = b"PMID- 7\nTI  - On light\nAB  - The effect of\n      UV light.\n"
    (document,) = read(write(tmp_path, "a.nbib", source))
    assert (document.id, document.abstract) == ("7", "The effect of UV light.")


@pytest.mark.parametrize("start", ["BERT-based", "RISC-V", "AIM - To", "DNA - a", "PMID-"])
def test_in_ris_a_line_that_begins_with_capitals_and_a_dash_continues_the_one_before(
    tmp_path: Path, start: str
) -> None:
    entry = f"TY  - JOUR\nTI  - Sheep\nAB  - We compare.\n{start} models win.\nEnd.\nER  -\n"
    one, two = read(write(tmp_path, "a.ris", (entry + entry).encode()))
    assert one.abstract == two.abstract == f"We compare. {start} models win. End."


def test_a_hyphen_in_the_first_word_is_no_dash(tmp_path: Path) -> None:
    source = b"FN Clarivate\nPT J\nTI X-ray images\n   of bones\nAB B- and T-cells.\nUT W:1\nER\n"
    (document,) = read(write(tmp_path, "a.txt", source))
    assert document.title == "X-ray images of bones"
    assert (document.id, document.abstract) == ("W:1", "B- and T-cells.")


def test_in_medline_a_publication_type_begins_no_entry(tmp_path: Path) -> None:
    """PubMed writes PT between the abstract and the keyphrases."""
    entry = "PMID- {0}\nTI  - T{0}\nAB  - A{0}.\nPT  - Journal Article\nOT  - k{0}\n\n"
    source = entry.format(1) + entry.format(2)
    first, second = read(write(tmp_path, "a.nbib", source.encode()))
    assert (first.id, first.title, first.keyphrases) == ("1", "T1", ("k1",))
    assert (second.id, second.title, second.keyphrases) == ("2", "T2", ("k2",))


@pytest.mark.parametrize("end", ["ER  - \n", ""])
def test_an_entry_without_text_is_reported_and_leaves_nothing_to_the_next(
    tmp_path: Path, end: str
) -> None:
    empty, good = "TY  - A\nID  - x\nKW  - goats\n", "TY  - A\nTI  - Wool\nKW  - sheep\n"
    path = write(tmp_path, "a.ris", f"{empty}{end}{good}{end}{empty}{end}".encode())
    report = tmp_path / "report.jsonl"
    with ErrorPolicy("skip", report) as errors:
        (document,) = read(path, errors=errors)
    assert (document.id, document.title) == (f"a-{5 if end else 4}", "Wool")
    assert document.keyphrases == ("sheep",)
    assert errors.skipped == 2
    assert "has no title (TI or T1) and no abstract (AB or N2); it has TY, ID, KW" in (
        report.read_text()
    )


def test_an_entry_may_have_its_text_in_a_field_that_the_user_names(tmp_path: Path) -> None:
    path = write(tmp_path, "a.ris", b"TY  - A\nT2  - Wool\nER  - \nTY  - A\nN1  - Note\nER  - \n")
    fields = Fields(title=("t2",), abstract=("N1", "abstract"))
    assert [(each.title, each.abstract) for each in read(path, fields=fields)] == [
        ("Wool", ""),
        ("", "Note"),
    ]


def test_a_web_of_science_entry_may_lack_its_end(tmp_path: Path) -> None:
    source = b"FN Clarivate\nVR 1.0\nPT J\nTI One\nDE a\nPT J\nTI Two\nDE b\nER\nEF\n"
    documents = list(read(write(tmp_path, "a.txt", source)))
    assert [(each.title, each.keyphrases) for each in documents] == [
        ("One", ("a",)),
        ("Two", ("b",)),
    ]


@pytest.mark.parametrize("tag", ["", "KW  - "])
def test_an_entry_that_is_too_long_is_left_out(tmp_path: Path, tag: str) -> None:
    long = "TY  - A\nTI  - One\nAB  - x\n" + f"{tag}more words\n" * 100 + "ER  - \n"
    between = "no tag, no entry\n" * 100
    rest = "TY  - B\nTI  - Two\nAB  - y\nER  - \n"
    for source, line in ((long + between + rest, 1), (rest + between + long, 105)):
        path = write(tmp_path, "a.ris", source.encode())
        with pytest.raises(
            DataError, match="an entry has more than 1,000 characters; split"
        ) as met:
            list(read(path, errors=ErrorPolicy("stop", max_line=1_000)))
        assert met.value.line == line
        errors = ErrorPolicy("skip", max_line=1_000)
        assert [document.title for document in read(path, errors=errors)] == ["Two"]
        assert errors.skipped == 1


def test_very_many_continued_lines_do_not_take_forever(tmp_path: Path) -> None:
    path = write(tmp_path, "a.ris", b"TY  - A\nAB  - x\n" + b"more words and more\n" * 300_000)
    (document,) = read(path)
    assert len(document.abstract) == 1 + 20 * 300_000
