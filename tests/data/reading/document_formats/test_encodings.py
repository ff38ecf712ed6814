"""Encodings that a text declares."""

import pytest

from one2set.data.reading.document_formats.encodings import decode_declared


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("", "utf-8"),
        ("", "cp1252"),
        ("", "utf-16"),
        ("", "utf-8-sig"),
        ('<meta charset="iso-8859-2">', "iso-8859-2"),
        ('<meta http-equiv=x content="text/html; charset=koi8-r">', "koi8-r"),
        ("<?xml version='1.0' encoding='cp1251'?>", "cp1251"),
        (r"\usepackage[latin2]{inputenc}", "latin2"),
        (r"\usepackage[ansinew]{inputenc}", "cp1252"),
        ('<meta charset="no-such">', "cp1252"),
        ('<meta charset="iso-8859-2">', "utf-8"),
    ],
)
def test_what_was_encoded_comes_back(head: str, encoding: str) -> None:
    letters = {"koi8-r": "Овца", "cp1251": "Овца", "iso-8859-2": "owca łąka", "latin2": "łąka"}
    text = head + letters.get(encoding, "Schäfchen zählen")
    assert decode_declared(text.encode(encoding)) == text
