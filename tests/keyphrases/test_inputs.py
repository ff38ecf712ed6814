"""Texts are accepted in any container, and anything else is refused with advice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text
from one2set.errors import DataError
from one2set.keyphrases.inputs import iterate_documents
from tests.data.test_text import ANY_TEXT

TEXTS = ["Sets of words\nA set has no order.", "Sequences have one."]
TABLE = pandas.DataFrame({"title": ["a", "b"], "abstract": TEXTS})


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        (text for text in TEXTS),
        dict.fromkeys(TEXTS).keys(),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pandas.Series(TEXTS),
        pandas.Series(TEXTS, index=["x", "y"], dtype="string"),
        TABLE["abstract"],
        TABLE.abstract.dropna(),
        pyarrow.chunked_array([TEXTS[:1], TEXTS[1:]]),
    ],
)
def test_any_iterable_of_strings_is_accepted(texts: Any) -> None:
    assert list(iterate_documents(texts)) == [document_from_text(text) for text in TEXTS]


def test_documents_stay_as_they_are() -> None:
    document = Document("7", "A title", "An abstract.", ("a phrase",))
    assert list(iterate_documents([document, TEXTS[0]])) == [
        document,
        document_from_text(TEXTS[0]),
    ]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, r"the texts are None \(NoneType\); expected a string.* missing values"),
        (float("nan"), r"the texts are nan \(float\).* missing values"),
        (7, r"the texts are 7 \(int\); expected a string"),
        (b"bytes", r"the texts are b'bytes' \(bytes\).* \.decode\(\)"),
        (bytearray(b"x"), r"\(bytearray\).* \.decode\(\)"),
        (Path("paper.txt"), r"paper\.txt.*one2set\.read"),
        ({"text": "a"}, r"the texts are \{'text': 'a'\} \(dict\).* values"),
        (TABLE, r'the texts are a table \(DataFrame\).* table\["abstract"\]'),
        ("a text", r"the texts are 'a text' \(str\).* into a list"),
    ],
)
def test_inputs_that_are_not_several_texts_are_refused_at_once(texts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        iterate_documents(texts)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"text 3 is None \(NoneType\).*dropna"),
        (float("nan"), r"text 3 is nan \(float\).*dropna"),
        (np.float64("nan"), r"text 3 is .*nan.*dropna"),
        (pandas.NA, r"text 3 is <NA> \(NAType\).*dropna"),
        (pandas.NaT, r"text 3 is NaT \(NaTType\).*dropna"),
        (b"x", r"text 3 is b'x' \(bytes\).*decode"),
        (Path("a"), r"text 3 is .*read the file"),
        ({"title": "x" * 100}, r"text 3 is \{'title': 'x+… \(dict\).*values"),
        (["a"], r"text 3 is \['a'\] \(list\); expected a string"),
        (TABLE, r"text 3 is a table"),
    ],
)
def test_a_value_that_is_not_a_text_is_named(value: Any, message: str) -> None:
    documents = iterate_documents([*TEXTS, value])
    assert [next(documents), next(documents)] == list(map(document_from_text, TEXTS))
    with pytest.raises(DataError, match=message) as error:
        next(documents)
    assert len(str(error.value)) < 250


def test_missing_values_of_a_column_are_explained() -> None:
    column = pandas.Series([TEXTS[0], None, float("nan")])
    with pytest.raises(DataError, match="text 2 is"):
        list(iterate_documents(column))
    assert len(list(iterate_documents(column.dropna()))) == 1


_MAKERS: list[Callable[[list[str]], Any]] = [list, tuple, iter, pandas.Series]


@settings(max_examples=25)
@given(st.lists(ANY_TEXT, max_size=4), st.sampled_from(_MAKERS))
def test_any_strings_become_documents(texts: list[str], make: Callable[[list[str]], Any]) -> None:
    documents = list(map(document_from_text, texts))
    assert list(iterate_documents(make(texts))) == documents
    assert [document.text for document in documents] == texts
