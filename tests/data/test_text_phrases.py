"""Phrases are found in a source."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from one2set.data.text import (
    PhraseSplit,
    StemmedSource,
    split_present_absent,
    stem,
    stem_all,
    words_of,
)

# Few words, some of the same stem, so that matches are frequent and overlap.
WORD = st.sampled_from(["net", "nets", "a", "aa", "ba", "netting"])
WORDS = st.lists(WORD, max_size=12)
PHRASE = st.lists(WORD, min_size=1, max_size=4)


def windows(phrase: Sequence[str], source: Sequence[str]) -> list[int]:
    """Where a phrase occurs, by looking everywhere."""
    stems, wanted = [stem(word) for word in source], [stem(word) for word in phrase]
    return [
        at for at in range(len(stems) - len(wanted) + 1) if stems[at : at + len(wanted)] == wanted
    ]


@given(WORDS, PHRASE)
def test_positions_are_those_of_a_window_scan(source: list[str], phrase: list[str]) -> None:
    stemmed, stems = StemmedSource(source), stem_all(phrase)
    assert list(stemmed.positions(stems)) == windows(phrase, source)
    assert (stems in stemmed) == bool(windows(phrase, source))


def test_positions_overlap() -> None:
    assert list(StemmedSource(["a", "a", "a"]).positions(["a", "a"])) == [0, 1]


def naive_split(phrases: Sequence[Sequence[str]], source: Sequence[str]) -> PhraseSplit:
    unique: dict[tuple[str, ...], int] = {}
    for index, phrase in enumerate(phrases):
        if phrase:
            unique.setdefault(tuple(map(stem, phrase)), index)
    where = {index: windows(phrases[index], source) for index in unique.values()}
    present = [index for index, at in where.items() if at]
    return PhraseSplit(
        sorted(present, key=lambda index: (where[index][0], index)),
        [index for index, at in where.items() if not at],
    )


@given(st.lists(st.lists(WORD, max_size=3), max_size=8), WORDS)
def test_present_and_absent_are_those_of_the_definition(
    phrases: list[list[str]], source: list[str]
) -> None:
    assert split_present_absent(phrases, source) == naive_split(phrases, source)


def test_present_phrases_are_ordered_by_first_occurrence() -> None:
    source = words_of("Deep networks learn; learning deep sets is hard.")
    phrases = [
        words_of(each) for each in ("sets", "graph", "deep network", "learn", "set", "trees")
    ]
    assert split_present_absent(phrases, source) == PhraseSplit([2, 3, 0], [1, 5])


def test_a_phrase_does_not_match_within_words() -> None:
    assert split_present_absent([["net"]], ["cabinet", "network"]).present == []
