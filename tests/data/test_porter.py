"""The Porter stemmer equals nltk's."""

import random
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from one2set.data.porter import porter_stem
from one2set.data.text import words_of

_FIELD = PorterStemmer().stem
_SUFFIXES = """e y s es ss sses ies ied eed ed ing ying at bl iz ational tional enci anci izer bli
alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi
icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion
ou ism ate iti ous ive ize ll lle"""
_IRREGULAR = """sky skies dying lying tying news innings inning outings outing cannings canning howe
proceed exceed succeed"""
_LETTERS = "aeiouybcdlstwxz'1é"


def test_stems_equal_nltks_for_short_and_irregular_words() -> None:
    words = [
        *_IRREGULAR.split(),
        "",
        "a",
        "is",
        "by",
        "dies",
        "died",
        "tries",
        "tried",
        "agreed",
        "feed",
    ]
    assert [porter_stem(word) for word in words] == [_FIELD(word) for word in words]


def test_stems_equal_nltks_for_random_words_with_suffixes() -> None:
    draw, suffixes = random.Random(0), _SUFFIXES.split()
    for _ in range(30_000):
        letters = draw.choices(_LETTERS, k=draw.randint(0, 5))
        word = "".join(letters + draw.choices(suffixes, k=draw.randint(0, 3)))
        assert porter_stem(word) == _FIELD(word), word


def test_stems_equal_nltks_for_the_sample() -> None:
    text = files("one2set.data").joinpath("sample", "documents.jsonl").read_text(encoding="utf-8")
    words = {*words_of(text)}
    assert len(words) > 1000
    for word in words:
        assert porter_stem(word) == _FIELD(word), word


@given(st.text())
def test_stems_equal_nltks_for_any_word(text: str) -> None:
    word = text.lower()
    assert porter_stem(word) == _FIELD(word)
