"""Requests become the documents that the library makes."""

import pytest

from one2set.data.reading.records import document_from_text, make_document
from one2set.serving.limits import Limits, ProblemError
from one2set.serving.schema import ExploreRequest, KeyphrasesRequest

TEXT = "On sets\nA set has no order."


def test_a_text_becomes_the_document_of_the_generator() -> None:
    (document,) = KeyphrasesRequest.model_validate({"documents": [TEXT]}).to_documents()
    assert document == document_from_text(TEXT)
    assert document.title == "On sets"
    assert ExploreRequest(text=TEXT).to_document() == document_from_text(TEXT)


def test_parts_keep_their_ids() -> None:
    given = [{"text": TEXT}, {"text": "a set", "title": "On\nsets", "id": ""}, "third"]
    documents = KeyphrasesRequest.model_validate({"documents": given}).to_documents()
    titled = make_document("", title="On\nsets", abstract="a set", keyphrases=None)
    assert documents == [
        document_from_text(TEXT, "text 1"),
        titled,
        document_from_text("third", "text 3"),
    ]


def test_sizes_beyond_the_limits_are_refused() -> None:
    with pytest.raises(ProblemError, match="at most 5 are read"):
        ExploreRequest.check_size({"text": "123456"}, Limits(characters=5))
