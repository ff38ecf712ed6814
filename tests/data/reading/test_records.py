"""Fields of records become parts of documents, and invalid ones are explained."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.data.reading.records import (
    Fields,
    document_from_text,
    make_document,
    parse_phrases,
    parse_record,
    with_title,
)
from one2set.data.reading.streams import ErrorPolicy
from one2set.errors import ConfigError, DataError
from tests.data.test_text import ANY_TEXT


def document_of(record: dict[str, Any], fields: Fields | None = None) -> Document:
    (document,) = parse_record(
        record,
        fields=fields or Fields(),
        errors=ErrorPolicy("stop"),
        path="some/papers.jsonl.gz",
        line=7,
    )
    return document


@pytest.mark.parametrize("name", ["abstract", "text", "body"])
@pytest.mark.parametrize("keyphrases", ["keyphrases", "keywords", "keyword"])
@pytest.mark.parametrize("value", [["a b", "c"], "a b;c", " a b ; c ;<peos>;", ["a b ", "", "c"]])
def test_fields_have_several_names_and_phrases_two_forms(
    name: str, keyphrases: str, value: object
) -> None:
    document = document_of({"id": 5, "title": "T", name: "A.", keyphrases: value})
    assert document == Document("5", "T", "A.", ("a b", "c"))


def test_optional_fields_may_be_missing() -> None:
    assert document_of({"abstract": "A."}) == Document("papers-7", "", "A.", None)
    assert document_of({"abstract": "A.", "title": None, "keywords": None}).keyphrases is None
    assert document_of({"abstract": None, "title": "T"}).abstract == ""
    assert document_of({"abstract": "", "keywords": []}).keyphrases == ()


def test_scopus_says_that_there_is_no_abstract() -> None:
    assert document_of({"abstract": "[No abstract available]"}).abstract == ""


def test_the_first_name_that_holds_something_counts() -> None:
    assert document_of({"abstract": None, "text": "T"}).abstract == "T"
    assert document_of({"text": "T", "abstract": "A"}).abstract == "A"


def test_token_lists() -> None:
    words = ["a", "set", "."]
    record = {"document": words, "extractive_keyphrases": ["set"], "abstractive_keyphrases": ["b"]}
    assert document_of(record) == Document("papers-7", "", "a set .", ("set", "b"), tokenised=True)
    assert document_of({"document": words}).keyphrases is None
    assert document_of({"document": words, "extractive_keyphrases": []}).keyphrases == ()


def test_fields_can_be_mapped() -> None:
    fields = Fields.from_options(["abstract=summary", "keyphrases=tags", "id=doi"])
    record = {"doi": "10/x", "title": "T", "summary": "S", "abstract": "no", "tags": "a;b"}
    assert document_of(record, fields) == Document("10/x", "T", "S", ("a", "b"))
    assert all(map(fields.know, ["doi", "title", "Summary ", "TAGS", "document"]))
    assert not fields.know("abstract")


@pytest.mark.parametrize(
    "header",
    [
        {"EID": "5", "Title": "T", "Abstract": "A.", "Author Keywords": "a b; c"},  # Scopus
        {"Article Title": "T", "Abstract": "A.", "Author Keywords": "a b; c",
         "UT (Unique WOS ID)": "5", "Keywords Plus": "D"},
        {"Key": "5", "Title": "T", "Abstract Note": "A.", "Manual Tags": "a b; c"},  # Zotero
        {"ID": "5", "TITLE": "T", "TEXT": "A.", "Keywords": "a b, c"},
        {"id": 5, "Document Title": "T", "Abstract": "A.", "Author Keywords": "a b;c"},  # IEEE
    ],
)  # fmt: skip
def test_columns_of_exports_in_any_case(header: dict[str, Any]) -> None:
    assert document_of(header) == Document("5", "T", "A.", ("a b", "c"))


def test_an_exact_name_goes_before_one_in_another_case() -> None:
    record = {"Abstract": "A", "abstract": "a"}
    assert document_of(record).abstract == "a"
    assert document_of(record, Fields(abstract=("Abstract",))).abstract == "A"


def test_an_empty_id_is_none() -> None:
    assert document_of({"id": "", "abstract": "A"}).id == "papers-7"


@pytest.mark.parametrize("setting", ["abstract", "abstract=", "body=x", "=x", ""])
def test_an_invalid_field_option_is_an_error(setting: str) -> None:
    with pytest.raises(ConfigError, match=r"--field is .*expected PART=NAME.*pass for example"):
        Fields.from_options([setting])


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ({}, "has no 'abstract' or 'text' or 'body' or .*; it has no fields"),
        ({"title": "T", "summary": "S"}, "it has 'title', 'summary'"),
        ({"abstract": 5}, r"'abstract' or 'text' or 'body' or 'abstract note' is 5 \(int\)"),
        ({"abstract": "A", "title": ["T"]}, r"'title' or .* is \['T'\] \(list\)"),
        ({"abstract": "A", "keywords": 3.5}, r"keyphrases are 3.5 \(float\)"),
        ({"abstract": "A", "keywords": {"a": 1}}, r"keyphrases are {'a': 1} \(dict\)"),
        ({"abstract": "A", "keywords": ["a", None]}, r"a keyphrase is None \(NoneType\)"),
        ({"document": ["a", 1]}, r"a word of 'document' is 1 \(int\)"),
        ({"abstract": "A", "keywords": ["a", ["b" * 90]]}, r"a keyphrase is \['b+… \(list\)"),
    ],
)
def test_unusable_records_are_reported_with_their_line_and_a_fix(
    record: dict[str, Any], what: str
) -> None:
    with pytest.raises(DataError, match=what) as caught:
        document_of(record)
    assert (caught.value.path, caught.value.line) == ("some/papers.jsonl.gz", 7)
    assert "--on-error skip" in caught.value.fix
    errors = ErrorPolicy("skip")
    documents = parse_record(record, fields=Fields(), errors=errors, path="p", line=1)
    assert list(documents) == []
    assert errors.skipped == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["id", "Title", "abstract", "text", "keywords", "document"]) | st.text(
    max_size=3
)


@given(st.dictionaries(NAMES, JSON))
def test_any_json_object_is_a_document_or_a_problem(record: dict[str, Any]) -> None:
    errors = ErrorPolicy("skip")
    documents = list(parse_record(record, fields=Fields(), errors=errors, path="p", line=1))
    assert len(documents) + errors.skipped == 1


def test_the_form_is_judged_by_title_and_abstract_together() -> None:
    assert make_document("", title="a b .", abstract="c", keyphrases=None).tokenised
    assert not make_document("", title="a b .", abstract="C", keyphrases=None).tokenised


def test_phrases_of_a_string_are_stripped_and_never_empty() -> None:
    assert parse_phrases(";; a ; <peos> ;b c;") == ("a", "b c")
    assert parse_phrases("") == ()


def test_commas_separate_phrases_where_no_semicolon_does() -> None:
    assert parse_phrases("a b, c,\td") == ("a b", "c", "d")
    assert parse_phrases("a, b; c") == ("a, b", "c")
    assert parse_phrases("1,2-dichloroethane") == ("1,2-dichloroethane",)
    assert parse_phrases(["a, b"]) == ("a, b",)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Graph networks\nWe train them.", "Graph networks"),
        ("# Graph networks\n\nWe train them.", "# Graph networks"),
        ("We train them.\nThey learn.", ""),
        ("Graph networks", ""),
        ("Graph networks\n \n", ""),
        ("\nGraph networks\nWe train them.", ""),
        ("word " * 50 + "\nMore.", ""),
        ("We train them. \nThey learn.", ""),
        ("We train them.\r\nThey learn.\r\n", ""),
        ("We train them:\t \r\nThey learn.", ""),
        ("Graph networks \nWe train them.", "Graph networks "),
        ("Graph networks\r\nWe train them.\r\n", "Graph networks"),
        ("Graph networks\r\r\nWe train them.", "Graph networks"),
        ("Graph\rnetworks\nWe train them.", ""),  # two lines of an old Macintosh
        ("\r\nGraph networks\r\nWe train them.", ""),
    ],
)
def test_a_short_first_line_is_a_title(text: str, title: str) -> None:
    document = document_from_text(text)
    assert document.title == title
    assert_equal_spans(document.text, text)


def assert_equal_spans(text: str, given: str) -> None:
    """The texts are equal character by character; a carriage return may be a newline."""
    assert text.replace("\r", "\n") == given.replace("\r", "\n")
    if "\r" not in given:
        assert text == given


@given(ANY_TEXT | st.text("ab. \r\n"))
def test_spans_of_a_document_are_spans_of_its_text(text: str) -> None:
    document = document_from_text(text)
    assert_equal_spans(document.text, text)
    assert "\r" not in document.title


def test_titles_are_found_only_in_plain_text() -> None:
    plain = Document("a", "", "Graph networks\nWe train them.", ("graphs",))
    assert with_title(plain) == Document("a", "Graph networks", "We train them.", ("graphs",))
    for other in (replace(plain, title="T"), replace(plain, tokenised=True)):
        assert with_title(other) == other
