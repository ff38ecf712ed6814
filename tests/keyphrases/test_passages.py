"""Short documents are one passage; long ones are read to the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.records import document_from_text
from one2set.extraction.ngrams import MAX_NGRAM_WORDS
from one2set.keyphrases.passages import OVERLAP, PASSAGE, estimate_passages, split_into_passages


def numbered(count: int) -> str:
    return " ".join(f"w{n}" for n in range(count))


@pytest.mark.parametrize("words", [0, 1, PASSAGE])
def test_a_short_document_is_its_own_passage(words: int) -> None:
    document = StemmedDocument.of(Document("d", "", numbered(words)))
    assert split_into_passages(document) == [document]


@given(st.integers(0, 90), st.integers(0, 3000))
def test_passages_overlap_and_contain_every_word(title: int, body: int) -> None:
    document = Document("d", numbered(title).replace("w", "t"), "B " + numbered(body).upper())
    stemmed = StemmedDocument.of(document)
    passages = split_into_passages(stemmed)
    parts = [part.document for part in passages]
    if len(document.words()) <= PASSAGE:
        assert passages == [stemmed]
        return
    head = document.title_words() if title < 64 else []
    rest = document.words()[len(head) :]
    if title and not head:
        rest.remove(".")  # the full stop of a title that is read as text
    read: list[str] = []
    for part in parts:
        words = part.words()
        assert len(words) <= PASSAGE
        assert words[: len(head)] == head
        new = words[len(head) :]
        if read:
            assert new[:OVERLAP] == read[-OVERLAP:]
            assert len(new) > OVERLAP
            new = new[OVERLAP:]
        read += new
    assert read == rest
    for passage in passages:  # as if it were tokenised again
        anew = StemmedDocument.of(passage.document)
        for name in ("words", "spans", "stems", "title_length"):
            assert getattr(passage, name) == getattr(anew, name)


def test_unusual_words_are_kept() -> None:
    odd = "İstanbul ½ don't 3.14 w{0}a (a_b) <x> ﬁnite ＡＢＣ w{0}"
    text = " ".join(map(odd.format, range(200)))
    document = Document("d", "", text)
    parts = [part.document for part in split_into_passages(StemmedDocument.of(document))]
    assert len(parts) > 1
    words = document.words()
    assert parts[0].words() == words[:PASSAGE]
    assert parts[1].words() == words[PASSAGE - OVERLAP : 2 * PASSAGE - OVERLAP]


@pytest.mark.parametrize("marks", [".", "_", ".,;()%'", "---", "<>"])
def test_runs_of_marks_are_shortened(marks: str) -> None:
    """Only those of a long text: a short one is read as it is."""
    text = f"before {marks * 100_000} after"
    (part,) = split_into_passages(StemmedDocument.of(Document("d", "", text)))
    words = part.document.words()
    assert (words[0], words[-1]) == ("before", "after")
    assert len(words) <= 2 + MAX_NGRAM_WORDS
    short = StemmedDocument.of(Document("d", "", f"before {marks * 20} after"))
    assert split_into_passages(short) == [short]


@pytest.mark.parametrize(("raw", "word"), [("x", "x"), ("ﬁnite", "finite"), ("7", "<digit>")])
def test_runs_of_one_word_are_shortened(raw: str, word: str) -> None:
    document = Document("d", "A title", f"{raw} " * 10_000 + "end")
    (part,) = split_into_passages(StemmedDocument.of(document))
    assert part.document.words() == [*document.title_words(), word, "end"]


def test_repeated_text_is_left_out() -> None:
    period = "one two three four five six seven eight nine ten "
    (part,) = split_into_passages(StemmedDocument.of(Document("d", "", period * 1_000 + "end")))
    assert part.words == [*period.split(), "end"]


@given(st.integers(8, 500), st.integers(2, 6), st.sampled_from([" ", "\n", ". "]), st.booleans())
def test_a_text_joined_to_itself_is_read_once(
    count: int, times: int, between: str, titled: bool
) -> None:
    text = ("A title of words\n" if titled else "") + "Of. " + numbered(count) + " end"
    once, joined = (
        [
            word
            for part in split_into_passages(StemmedDocument.of(document_from_text(joined)))
            for word in part.words
            if word != "."
        ]
        for joined in (text, between.join([text] * times))
    )
    assert joined == once


def test_passages_are_written_as_the_document_is() -> None:
    """A network that reads capitals and hyphens reads them in long texts too."""
    text = "\n".join(f"The {n}-th Graph-Network of Dr. W{n}'s (e.g. X{n})." for n in range(80))
    document = Document("d", "A Title", text)
    result = [part.document for part in split_into_passages(StemmedDocument.of(document))]
    assert len(result) > 1
    assert {part.title for part in result} == {"A Title"}
    assert all(part.abstract in text for part in result)


@pytest.mark.parametrize(("words", "left_out"), [(7, False), (8, True)])
def test_a_run_of_eight_words_is_left_out_where_it_occurs_again(words: int, left_out: bool) -> None:
    text = f"{numbered(words)} between {numbered(words)} behind"
    (part,) = split_into_passages(StemmedDocument.of(Document("d", "", text)))
    assert part.document.words().count("w0") == (1 if left_out else 2)


def test_repeated_sentences_are_left_out_elsewhere_too() -> None:
    head = "this is the running head of a rather long report ."
    document = Document("d", "", f"{head} one two . {head} three four . {head} five six .")
    (part,) = split_into_passages(StemmedDocument.of(document))
    assert " ".join(part.words) == f"{head} one two . three four . five six ."


@given(st.integers(1, 5000))
def test_the_estimated_number_of_passages_is_exact_without_repeats(num_words: int) -> None:
    document = StemmedDocument.of(Document("d", "", " ".join(f"w{at}" for at in range(num_words))))
    assert estimate_passages(len(document.words)) == len(split_into_passages(document))
