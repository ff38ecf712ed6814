"""The bundled sample has the properties that its README states."""

import json
from importlib.resources import files
from typing import Any
from unicodedata import bidirectional, category, name

import pytest

from one2set.data.document import Document
from one2set.data.text import PhraseSplit, StemmedSource, split_present_absent, stem_all, words_of

SAMPLE = files("one2set.data") / "sample"


def records(file: str) -> list[dict[str, Any]]:
    lines = (SAMPLE / file).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [
        Document(record["id"], record["title"], record["abstract"], tuple(record["keyphrases"]))
        for record in records("documents.jsonl")
    ]


@pytest.fixture(scope="module")
def predictions() -> dict[str, list[dict[str, Any]]]:
    return {record["id"]: record["keyphrases"] for record in records("predictions.jsonl")}


def split(document: Document) -> PhraseSplit:
    return split_present_absent(document.phrase_words(), document.words())


def phrases(document: Document) -> tuple[str, ...]:
    assert document.keyphrases is not None
    return document.keyphrases


def test_each_line_is_a_document_with_its_four_fields() -> None:
    for record in records("documents.jsonl"):
        assert list(record) == ["id", "title", "abstract", "keyphrases"]
        assert all(isinstance(record[field], str) for field in ("id", "title", "abstract"))
        assert record["abstract"]
        assert 3 <= len(record["keyphrases"]) <= 8
        for phrase in record["keyphrases"]:
            assert phrase == phrase.strip() != ""
            assert ";" not in phrase  # it would be two phrases in the field's text form


def test_there_are_sixty_documents_with_ids_of_their_own(documents: list[Document]) -> None:
    assert [document.id for document in documents] == [f"sample-{n:02d}" for n in range(1, 61)]


def test_no_two_documents_have_the_same_text(documents: list[Document]) -> None:
    assert len({tuple(document.words()) for document in documents}) == len(documents)


def test_the_absent_share_is_that_of_the_field(documents: list[Document]) -> None:
    splits = [split(document) for document in documents]
    absent = sum(len(result.absent) for result in splits)
    present = sum(len(result.present) for result in splits)
    assert 0.30 <= absent / (absent + present) <= 0.45


def test_abstracts_have_the_length_of_abstracts_but_for_three(documents: list[Document]) -> None:
    lengths = [len(document.abstract.split()) for document in documents]
    assert sum(length < 80 for length in lengths) == 3
    assert max(lengths) <= 160


def test_one_document_has_no_title(documents: list[Document]) -> None:
    assert sum(not document.title for document in documents) == 1


def test_one_abstract_is_a_single_sentence(documents: list[Document]) -> None:
    assert min(len(document.abstract.split()) for document in documents) < 15


def test_one_document_has_no_present_phrase(documents: list[Document]) -> None:
    assert sum(not split(document).present for document in documents) == 1


def test_some_document_has_no_absent_phrase(documents: list[Document]) -> None:
    assert any(not split(document).absent for document in documents)


def test_one_document_repeats_a_phrase_after_stemming(documents: list[Document]) -> None:
    repeating = [
        document
        for document in documents
        if len({stem_all(words) for words in document.phrase_words()}) < len(phrases(document))
    ]
    assert len(repeating) == 1
    # Not merely the same string twice: it takes the stemmer to see it.
    assert len(set(phrases(repeating[0]))) == len(phrases(repeating[0]))


def test_one_phrase_has_seven_words(documents: list[Document]) -> None:
    lengths = [len(words) for document in documents for words in document.phrase_words()]
    assert lengths.count(7) == 1
    assert max(lengths) == 7


def test_a_phrase_of_two_words_occurs_five_times(documents: list[Document]) -> None:
    assert any(
        len(words) == 2 and len([*StemmedSource(document.words()).positions(stem_all(words))]) >= 5
        for document in documents
        for words in document.phrase_words()
    )


def test_a_phrase_is_written_with_a_space_where_its_text_has_a_hyphen(
    documents: list[Document],
) -> None:
    phrase = "real time operating system"
    (document,) = [each for each in documents if phrase in phrases(each)]
    assert phrase not in document.text.lower()
    assert "real-time operating system" in document.text
    assert phrases(document).index(phrase) in split(document).present


def test_some_present_phrase_shows_only_after_stemming(documents: list[Document]) -> None:
    assert any(
        phrases(document)[index].lower() not in document.text.lower()
        and "-" not in phrases(document)[index]
        for document in documents
        for index in split(document).present
    )


def test_a_present_phrase_runs_from_right_to_left(documents: list[Document]) -> None:
    assert any(
        all(bidirectional(letter) == "AL" for letter in phrases(document)[index])
        for document in documents
        for index in split(document).present
    )


def test_a_present_phrase_is_chinese(documents: list[Document]) -> None:
    assert any(
        all(name(letter).startswith("CJK UNIFIED") for letter in phrases(document)[index])
        for document in documents
        for index in split(document).present
    )


def test_one_document_holds_an_emoji_and_a_tab(documents: list[Document]) -> None:
    assert any(
        "\t" in document.abstract
        and any(category(letter) == "So" and ord(letter) > 0xFFFF for letter in document.abstract)
        for document in documents
    )


@pytest.mark.parametrize(
    "shown", ["SVM", "mRNA", "802.11", "3D", "5G", "37 %", "Poincaré", "naïve", "ε", "CO₂", "—"]
)
def test_the_texts_hold_what_real_ones_hold(shown: str, documents: list[Document]) -> None:
    assert any(shown in document.text for document in documents)


def test_predictions_are_for_the_same_documents_in_the_same_order(
    documents: list[Document],
) -> None:
    assert [record["id"] for record in records("predictions.jsonl")] == [
        document.id for document in documents
    ]


def test_predictions_come_best_first_with_scores_between_zero_and_one(
    predictions: dict[str, list[dict[str, Any]]],
) -> None:
    for predicted in predictions.values():
        assert all(list(each) == ["text", "score"] and each["text"].strip() for each in predicted)
        scores = [each["score"] for each in predicted]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)


def test_two_documents_have_no_predictions(predictions: dict[str, list[dict[str, Any]]]) -> None:
    assert sum(not predicted for predicted in predictions.values()) == 2


def test_predictions_are_right_and_wrong_repeated_and_unknown(
    documents: list[Document], predictions: dict[str, list[dict[str, Any]]]
) -> None:
    right = wrong = right_absent = repeated = unknown = 0
    for document in documents:
        gold = {stem_all(words) for words in document.phrase_words()}
        guesses = [words_of(each["text"]) for each in predictions[document.id]]
        stems = [stem_all(words) for words in guesses]
        result = split_present_absent(guesses, document.words())
        right += sum(stems[index] in gold for index in result.present)
        right_absent += sum(stems[index] in gold for index in result.absent)
        wrong += sum(each not in gold for each in set(stems))
        repeated += len(stems) - len(set(stems))
        unknown += sum("<unk>" in words for words in guesses)
    assert wrong > right > right_absent > 10
    assert repeated > 10
    assert unknown == 1
