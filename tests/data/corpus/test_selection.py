"""Which documents are kept for training, and why others are not."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from one2set.data.corpus.encoding import encode_documents, text_key
from one2set.data.corpus.selection import DocumentSelection, Filters, SelectedDocuments
from one2set.data.document import Document


def document(
    id: str, abstract: str = "", *, title: str = "", phrases: tuple[str, ...] = ("a",)
) -> Document:
    return Document(id, title, abstract or f"text {'abcdefghijklmnopqrstuvwxyz'[int(id)]}", phrases)


def choose(
    documents: list[Document],
    filters: Filters = Filters(),  # noqa: B008  (frozen)
    *,
    split: str = "train",
    excluded: frozenset[bytes] = frozenset(),
) -> tuple[dict[str, list[str]], dict[str, dict[str, int]], dict[str, SelectedDocuments]]:
    """The ids that are kept, the counts of why not, and all that is kept."""
    selection = DocumentSelection(filters, excluded)
    kept = selection.choose(encode_documents(documents, tokenizer=None), split)
    ids = {name: [row.id for row in each.rows] for name, each in kept.items()}
    dropped = {name: dict(+counts) for name, counts in selection.dropped.items()}
    assert sum(selection.read.values()) == len(documents)
    return ids, dropped, kept


def test_the_second_of_two_equal_texts_is_a_duplicate() -> None:
    documents = [
        document("1", "A real-time set.", title="On sets"),
        document("2", "a real time set", title="On Sets."),
        document("3", "a real time set", title="On sets and more"),
        document("4", "real time set", title="On sets: a"),
    ]
    ids, dropped, _ = choose(documents)
    assert ids == {"train": ["1", "3"]}
    assert dropped == {"train": {"duplicate": 2}}


def test_duplicates_are_found_across_chunks() -> None:
    selection = DocumentSelection(Filters(), frozenset())
    chunk = encode_documents([document("1")], tokenizer=None)
    assert list(selection.choose(chunk, "train")) == ["train"]
    assert selection.choose(chunk, "train") == {}
    assert selection.read["train"] == 2


def test_excluded_titles_are_left_out_in_either_form() -> None:
    excluded = frozenset({text_key(["real", "time", "sets", "."])})
    documents = [
        document("1", title="Real-Time Sets"),
        Document("2", "real time sets .", "more .", ("a",), tokenised=True),
        document("3", title="Real-time sets again"),
        document("4", title=""),
    ]
    ids, dropped, _ = choose(documents, excluded=excluded)
    assert ids == {"train": ["3", "4"]}
    assert dropped == {"train": {"title excluded": 2}}


@pytest.mark.parametrize(
    ("limits", "reason", "inside", "outside"),
    [
        ({"max_source_words": 3}, "long source", document("1", "a b c"), document("2", "a b c d")),
        (
            {"max_phrases": 2},
            "many keyphrases",
            document("1", phrases=("a", "b")),
            document("2", phrases=("a", "b", "c")),
        ),
        (
            {"max_phrase_words": 2},
            "no keyphrases",
            document("1", phrases=("a b",)),
            document("2", phrases=("a b c",)),
        ),
        ({}, "no keyphrases", document("1"), document("2", phrases=())),
        ({}, "empty source", document("1", "a"), document("2", "...")),
    ],
)
def test_filters_keep_documents_at_their_limit(
    limits: dict[str, int], reason: str, inside: Document, outside: Document
) -> None:
    filters = Filters.model_validate(limits)
    ids, dropped, _ = choose([inside, outside], filters)
    assert ids == {"train": [inside.id]}
    assert dropped["train"][reason] == 1
    # Validation and test sets are never filtered, nor cleared of duplicates.
    for split in ("valid", "inspec"):
        ids, dropped, _ = choose([inside, outside, outside], filters, split=split)
        assert ids == {split: [inside.id, outside.id, outside.id]}
        assert dropped == {split: {}}


PHRASES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), max_size=6)


@given(PHRASES, st.integers(1, 5))
@example([["a", "b"], ["b"], ["z"], ["d", "d"]], 1)  # a long and a short one of either kind
def test_long_phrases_are_left_out_without_touching_the_rest(
    phrases: list[list[str]], longest: int
) -> None:
    given_document = Document("1", "t", "a b c d a", tuple(" ".join(phrase) for phrase in phrases))
    chunk = encode_documents([given_document], tokenizer=None)
    selection = DocumentSelection(Filters(max_phrase_words=longest), frozenset())
    kept = selection.choose(chunk, "train")

    (row,) = chunk.rows
    parts = np.split(chunk.tokens, np.cumsum([row.source_length, *row.phrase_lengths])[:-1])
    short = [i for i, length in enumerate(row.phrase_lengths) if length <= longest]
    if not short:
        assert kept == {}
        return
    (actual,) = kept["train"].rows
    assert actual.phrase_lengths == [row.phrase_lengths[i] for i in short]
    assert actual.num_present == sum(i < row.num_present for i in short)
    expected = np.concatenate([parts[0], *(parts[1 + i] for i in short)])
    assert kept["train"].tokens.tolist() == expected.tolist()
    left_out = len(row.phrase_lengths) - len(short)
    assert selection.dropped["train"]["long phrase (the phrase only)"] == left_out


def test_held_out_documents_are_about_the_share_and_the_same_in_every_run() -> None:
    documents = [Document(str(n), "", f"text {'x' * n}", ("a", "b")) for n in range(400)]
    filters = Filters(hold_out=0.25, max_phrases=1)
    ids, dropped, _ = choose(documents, filters)
    assert 60 <= len(ids["valid"]) <= 140
    assert ids["valid"] == choose(documents[::-1], filters)[0]["valid"][::-1]
    # They are not filtered: all of these documents have many keyphrases.
    assert dropped == {"valid": {}, "train": {"many keyphrases": 400 - len(ids["valid"])}}


def test_documents_without_keyphrases_are_not_held_out() -> None:
    documents = [Document(str(n), "", f"text {'x' * n}", ()) for n in range(40)]
    ids, dropped, _ = choose(documents, Filters(hold_out=0.5))
    assert ids == {}
    assert dropped["train"] == {"no keyphrases": 40}


@pytest.mark.parametrize(
    "setting",
    [
        {"max_source_words": 0},
        {"max_phrases": 0},
        {"max_phrase_words": -1},
        {"vocabulary_size": 7},
        {"hold_out": 1.0},
        {"hold_out": -0.1},
        {"unknown": 1},
    ],
)
def test_invalid_settings(setting: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Filters.model_validate(setting)
