"""BibTeX, RIS and related formats, beyond test_readers."""

from pathlib import Path

import pytest

from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields
from one2set.data.reading.references import recognise_references
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


@pytest.mark.parametrize("keywords", ["a b, c; d", "a b; c; d", "a b, c, d", "a b; c, d;"])
def test_keywords_of_bibtex_are_split_at_commas_and_semicolons(
    tmp_path: Path, keywords: str
) -> None:
    source = f"@misc{{a, title = {{T}}, keywords = {{{keywords}}}}}"
    (document,) = read(write(tmp_path, "a.bib", source.encode()))
    assert document.keyphrases == ("a b", "c", "d")


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


def test_a_hyphen_in_the_first_word_is_no_dash(tmp_path: Path) -> None:
    source = b"FN Clarivate\nPT J\nTI X-ray images\n   of bones\nAB B- and T-cells.\nUT W:1\nER\n"
    (document,) = read(write(tmp_path, "a.txt", source))
    assert document.title == "X-ray images of bones"
    assert (document.id, document.abstract) == ("W:1", "B- and T-cells.")
