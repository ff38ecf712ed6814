"""The tokeniser's invariants on any string, preprocessed text, and stems."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from one2set.data import text
from one2set.data.text import (
    DIGIT,
    looks_tokenised,
    stem,
    tokenise,
    words_of,
)

# --- Any string -----------------------------------------------------------------------------------

HOSTILE = {
    "empty": "",
    "blank": " \t\r\n\x0b\x0c\x1c\x85\u2028\u3000",
    "control characters": "".join(map(chr, range(32))) + "a\x7fb\x00c",
    "right to left": "\u202eשלום עולם\u202c ١٢٣ مرحبا، بالعالم",
    "emoji": "a 👩‍👩‍👧‍👦 b 🏳️‍🌈🇫🇷 c 👍🏽",
    "combining marks": "a\u0301\u0302 n\u0303o \u0301alone 5\u20e3 <\u0338 digit>\u0301",
    "half-width katakana": "ｶﾞｷﾞﾊﾟ ﾃｷｽﾄ",
    "full width": "ＡＢＣ１２３，＜digit＞（ｘ）",
    "Hangul jamo": "\u1112\u1161\u11ab\u1100\u1173\u11af .\u1161 -\u11a8 ㅎㅏㄴ ﾭ",
    "fractions": "½ 3½ x² ⑴Introduction ㏂ ℀",
    "ligatures": "ﬁnite eﬀect Ŀ\u0301",
    "dotted I": "İstanbul ISPARTA ısı <dıgıt> <unK>",
    "final sigma": "ΟΔΟΣ ΣΟΦΟΣ. Σ",
    "Indic vowel signs": "हिन्दी கொ தமிழ் กำลัง \u0e33 \u0eb3",
    "lone surrogates": "a\ud800b \udfff \ud83d",
    "markers": "<digit><unk> <DIGIT> <Unk> <eos> <dig it> << digit >>",
    "apostrophes": "don't don’t ‘a’ ʼn 'tis",
    "many marks": f"a{chr(0x301) * 40}b İ{chr(0x307) * 30} ǖ{chr(0x323) * 30}c x{chr(0x344) * 16}y "
    f"ก{chr(0xE33) * 40}ก a{chr(0x301) * 30}\u0e33b {chr(0x301) * 40}z½{chr(0x316) * 31}",
    "private and unassigned": "\ue000a\U000e0001b\uffffc\U0010ffff",
}
ANY_TEXT = st.text() | st.text(st.characters(categories=["L", "M", "N", "P", "S", "Cs"]))
# Characters that meet in odd ways: whatever NFKC or lower-casing changes, and what combines.
ODD_TEXT = st.text(
    "aAbI1 .,<>_'-/½⑴ﬁİıΣσςŀ\u0301\u0307\u0338\u0345\u0e33\u1100\u1161\u11a8ﾭｶﾞ’²" + DIGIT,
    max_size=12,
)


MARKS = st.builds(
    str.__mul__, st.sampled_from("\u0301\u0316\u0344\u0345\u0e33"), st.integers(1, 40)
)


def assert_promises(text: str) -> None:
    words, spans = tokenise(text)
    assert words_of(text) == words
    assert words_of(" ".join(words)) == words
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    for word, (start, end) in zip(words, spans, strict=True):
        assert 0 <= start < end <= len(text)
        assert tokenise(text[start:end]).words == [word]
        assert word.split() == [word]


@given(ANY_TEXT)
def test_invariants_hold_for_any_text(text: str) -> None:
    assert_promises(text)


@given(ODD_TEXT)
def test_invariants_on_unusual_text(text: str) -> None:
    assert_promises(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_invariants_hold_for_hostile_text(name: str) -> None:
    assert_promises(HOSTILE[name])


def test_invariants_hold_for_every_character() -> None:
    # One text for each block of characters, so that every character has neighbours of its kind.
    for start in range(0, 0x110000, 0x40):
        block = [chr(code) for code in range(start, start + 0x40)]
        text = " ".join(block) + "".join(block)
        words = words_of(text)
        assert tokenise(text).words == words
        assert words_of(" ".join(words)) == words


@pytest.mark.parametrize("unit", ["Word-wise, ", "naïve ﬁ½ "])
def test_a_megabyte_is_tokenised(unit: str) -> None:
    repeats = 2**20 // len(unit)
    words, spans = tokenise(unit * repeats)
    assert words == words_of(unit) * repeats
    assert len(spans) == len(words)


@given(st.lists(st.sampled_from("aİǖ½⒜ก1.") | MARKS, max_size=6).map("".join))
def test_invariants_hold_for_many_marks(text: str) -> None:
    assert_promises(text)


def test_a_character_has_at_most_thirty_marks() -> None:
    marks = "\u0301\u0316" * 15
    assert tokenise(f"xa{marks}b").spans == [(0, 33)]
    assert tokenise(f"xa{marks}\u0301\u0316b").spans == [(0, 32), (34, 35)]


def test_a_megabyte_of_marks_does_not_take_forever() -> None:
    for marks in ("\u0301\u0316", "\u0316\u0301\u0344", "\u0301"):
        words, spans = tokenise("a" + marks * 2**19 + " b")
        assert [word[-1] for word in words][1:] == ["b"]
        assert spans[0][0] == 0


@given(ANY_TEXT | ODD_TEXT)
def test_preprocessed_text_is_unchanged(text: str) -> None:
    words, spans = tokenise(text, tokenised=True)
    assert words == text.split() == words_of(text, tokenised=True)
    assert [text[start:end] for start, end in spans] == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("State-of-the-art A/B tests", "state of the art a b tests"),
        ("In 1998, 3.5 GHz", "in <digit> , <digit> . <digit> ghz"),
        ("3D, mRNA and CO₂", "3d , mrna and co2"),
        ("37 % of x_1 (5)", "<digit> % of x _ <digit> ( <digit> )"),
        ("Bayes' don't “quoted”", "bayes ' don ' t quoted"),
        ("Poincaré’s", "poincaré ' s"),
        ("<digit> and <UNK> but <eos>", "<digit> and <unk> but < eos >"),
        ("½ ② ١٢", "<digit> <digit> <digit>"),
        ("⑴Introduction ⑵", "1introduction <digit>"),
        ("ﬁnite ＡＢＣ Ⅳ", "finite abc iv"),
        ("ΟΔΟΣ", "οδος"),
        ("हिन्दी कार्य", "हिन्दी कार्य"),
        ("\u1112\u1161\u11ab", "한"),
        ("ｶﾞｽ", "ガス"),
        ("cafe\u0301 CAFÉ", "café café"),
    ],
)
def test_tokens_equal_hand_written_ones(text: str, words: str) -> None:
    assert words_of(text) == words.split()


def test_spans_point_at_the_raw_characters() -> None:
    text = "The ﬁnite-State cafe\u0301, ½!"
    words, spans = tokenise(text)
    shown = [text[start:end] for start, end in spans]
    assert words == ["the", "finite", "state", "café", ",", DIGIT]
    assert shown == ["The", "ﬁnite", "State", "cafe\u0301", ",", "½"]


# --- The field's form -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a real time scheduler . we show , for <digit> cores , that it works .",
        "naïve bayes ( revisited ) , and don ' t forget <unk> .",
        "one line .",
    ],
)
def test_preprocessed_text_is_recognised(text: str) -> None:
    assert looks_tokenised(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no marks at all",
        "A capital . and the rest .",
        "a hyphen-ated word .",
        "a comma, that sticks .",
        "a bracket (that sticks .",
        "a bracket) that sticks .",
        "a colon: in it .",
        "ends like a sentence.",
    ],
)
def test_raw_text_is_not_taken_as_preprocessed(text: str) -> None:
    assert not looks_tokenised(text)


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.jsonl")):
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def is_preprocessed(record: dict[str, Any]) -> bool:
    return looks_tokenised(f"{record['title']} {record['abstract']}")


@pytest.mark.shared
def test_every_preprocessed_document_is_recognised(shared: Path) -> None:
    result = list(documents(shared / "data" / "test"))
    assert len(result) == 1711
    missed = [
        document["id"]
        for document in result
        if not looks_tokenised(f"{document['title']} {document['abstract']}")
    ]
    assert missed == []


@pytest.mark.shared
def test_no_cased_document_is_taken_as_preprocessed(shared: Path) -> None:
    result = list(documents(shared / "data" / "test-cased"))
    assert len(result) == 1104
    assert [document["id"] for document in result if is_preprocessed(document)] == []


# --- Stems ----------------------------------------------------------------------------------------

ROOTS = "relat hop fall agree control predic oper adjust sky di ly general network"
SUFFIXES = "e y s es ed ing ly ness ation ational izer iveness fulness ies ying ement ability"


def test_stems_are_those_of_nltks_default_mode() -> None:
    porter = PorterStemmer()
    words = [root + suffix for root in ROOTS.split() for suffix in ["", *SUFFIXES.split()]]
    words += [*words_of(" ".join(HOSTILE.values())), "", "a", "is", "was", "Flying", DIGIT]
    assert [stem(word) for word in words] == [porter.stem(word.lower()) for word in words]


@given(ANY_TEXT)
def test_no_stem_is_empty_or_contains_a_space(text: str) -> None:
    # StemmedSource joins stems by spaces: this is what it rests on.
    for word in words_of(text) + text.split():
        assert stem(word).split() == [stem(word)]


def test_stems_of_very_long_words_are_not_stored() -> None:
    for word in ("networks" * 8, "networks" * 8 + "s"):
        assert stem(word) == PorterStemmer().stem(word)
        assert (word in text._stems) == (len(word) <= 64)
