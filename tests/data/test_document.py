"""Documents: raw text, and the words and spans that are derived from it."""

from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document, StemmedDocument
from one2set.data.text import stem_all

TEXTS = st.text(max_size=30) | st.text("ab .,-'½\n", max_size=30)
ANY_DOCUMENT = st.builds(Document, st.just("x"), TEXTS, TEXTS, st.none(), st.booleans())


@given(ANY_DOCUMENT)
def test_tokens_are_the_words_with_spans_into_the_text(document: Document) -> None:
    words, spans = document.tokens()
    assert words == document.words()
    for at, (word, (start, end)) in enumerate(zip(words, spans, strict=True)):
        if start == end:  # the full stop that closes a title
            assert (at, word, start) == (len(document.title_words()) - 1, ".", len(document.title))
        else:
            assert Document("", "", document.text[start:end], None, document.tokenised).words() == [
                word
            ]


@given(ANY_DOCUMENT)
def test_the_source_is_the_title_closed_by_a_full_stop_and_the_abstract(document: Document) -> None:
    title = document.title_words()
    assert document.words()[: len(title)] == title
    assert not title or title[-1] == "."
    alone = Document("", "", document.abstract, None, document.tokenised)
    assert document.words()[len(title) :] == alone.words()


def test_a_title_that_has_its_full_stop_gets_no_second_one() -> None:
    assert Document("", "Sets.", "").words() == Document("", "Sets", "").words() == ["sets", "."]
    assert Document("", "", "Sets").words() == ["sets"]


def test_phrases_follow_the_documents_form() -> None:
    raw = Document("", "", "", ("Real-Time", "x"))
    field = Document("", "", "", ("real-time i.e.",), tokenised=True)
    assert raw.phrase_words() == [["real", "time"], ["x"]]
    assert field.phrase_words() == [["real-time", "i.e."]]
    assert field.phrase_words(["a b"]) == [["a", "b"]]
    assert Document("", "", "").phrase_words() == []


@given(ANY_DOCUMENT)
def test_a_stemmed_document_has_what_the_document_derives(document: Document) -> None:
    result = StemmedDocument.of(document)
    assert (result.words, result.spans) == document.tokens()
    assert result.words[: result.title_length] == document.title_words()
    assert result.stems == stem_all(document.words())
