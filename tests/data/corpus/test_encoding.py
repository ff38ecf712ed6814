"""Documents are encoded in chunks, and texts get keys."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.encoding import EncodedChunk, encode_documents, split_into_chunks, text_key
from one2set.data.document import Document
from one2set.data.text import split_present_absent, words_of
from one2set.data.vocabulary import PieceVocabulary
from tests.data.formats import DOCUMENTS
from tests.data.test_vocabulary import tokenizer

__all__ = ["tokenizer"]  # a fixture

TEXT = st.text("abAB .-½é", max_size=20)
DOCUMENT = st.builds(
    Document, st.text(max_size=3), TEXT, TEXT, st.none() | st.lists(TEXT, max_size=3).map(tuple)
)


def texts(chunk: EncodedChunk) -> list[list[list[str]]]:
    """For each document its source and its phrases, read back from the tokens."""
    result, at = [], 0
    for row in chunk.rows:
        parts = []
        for length in (row.source_length, *row.phrase_lengths):
            parts.append([chunk.words[token] for token in chunk.tokens[at : at + length]])
            at += length
        result.append(parts)
    assert at == len(chunk.tokens)
    return result


@given(st.lists(DOCUMENT, max_size=5))
def test_a_chunk_has_sources_then_present_then_absent_phrases(documents: list[Document]) -> None:
    chunk = encode_documents(documents, tokenizer=None)
    assert [row.id for row in chunk.rows] == [document.id for document in documents]
    for row, parts, document in zip(chunk.rows, texts(chunk), documents, strict=True):
        phrases = document.phrase_words()
        split = split_present_absent(phrases, document.words())
        assert parts == [document.words(), *(phrases[i] for i in split.present + split.absent)]
        assert row.num_present == len(split.present)
        assert row.title_length == len(document.title_words())
        assert row.size == sum(map(len, parts))


def test_pieces_are_encoded_with_their_final_ids(tokenizer: Path) -> None:
    chunk = encode_documents(list(DOCUMENTS), tokenizer=tokenizer)
    examples = [PieceVocabulary.from_file(tokenizer).encode(document) for document in DOCUMENTS]
    expected = [
        id
        for example in examples
        for ids in (example.source, *example.present, *example.absent)
        for id in ids.tolist()
    ]
    assert chunk.words == []
    assert chunk.tokens.tolist() == expected
    assert [row.num_present for row in chunk.rows] == [len(example.present) for example in examples]
    assert [row.title_length for row in chunk.rows] == [
        example.title_length for example in examples
    ]


def test_chunks_contain_all_documents_in_order() -> None:
    documents = [Document(str(n), "", "") for n in range(1000)]
    chunks = list(split_into_chunks(iter(documents)))
    assert [example for chunk in chunks for example in chunk] == documents
    assert {len(chunk) for chunk in chunks[:-1]} == {len(chunks[0])}
    assert list(split_into_chunks([])) == []


def test_chunks_of_long_documents_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("one2set.data.corpus.encoding._CHUNK_CHARACTERS", 10)
    documents = [Document("", "", "x" * size) for size in (3, 3, 3, 3, 50, 1)]
    assert [len(chunk) for chunk in split_into_chunks(documents)] == [4, 1, 1]


@pytest.mark.parametrize(
    "same",
    [
        "Real-time Sets (2nd ed.), of 25",
        "real time sets ( 2nd ed . ) , of <digit> .",
        "REAL—TIME «Sets»: 2nd\ned of 7",
    ],
)
def test_a_key_ignores_case_and_punctuation(same: str) -> None:
    assert text_key(words_of(same)) == text_key(words_of("real time sets 2nd ed of 1"))


def test_keys_differ_where_letters_do() -> None:
    assert text_key(["sets"]) != text_key(["set"]) != text_key(["set", "<digit>"])
    assert text_key([]) == text_key([".", "("]) == b""
    assert text_key(["a\ud800"]) != b""  # no text that we read has it, but a key never fails
