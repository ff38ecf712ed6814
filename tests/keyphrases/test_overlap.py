"""Kinds of overlap, marginal probabilities, and needless parts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.keyphrases.overlap import (
    drop_needless_parts,
    marginal_probabilities,
    relation,
    relations,
)


@pytest.mark.parametrize(
    ("phrase", "other", "kind"),
    [
        ("graph", "graph network", "part"),
        ("graph network", "network", "whole"),
        ("deep network", "graph network", "head"),
        ("graph theory", "graph network", "word"),
        ("network graph", "graph network", "word"),
        ("a c", "a b c", "head"),
        ("gnn", "graph neural network", "abbreviation"),
        ("graph neural network", "gnn", "abbreviation"),
        ("gnn", "graph network", None),
        ("g", "graph", None),
        ("deep", "graph", None),
    ],
)
def test_each_kind_of_overlap_is_recognised(phrase: str, other: str, kind: str | None) -> None:
    assert relation(tuple(phrase.split()), tuple(other.split())) == kind


def test_several_kinds_count_once_each() -> None:
    others = [("graph", "network"), ("graph", "theory"), ("deep", "graph"), ("set",)]
    assert relations(("graph",), others) == {"part"}
    assert relations(("graph", "set"), others) == {"word", "whole"}


def test_log_odds_fall_once_for_each_kind() -> None:
    phrases = [("a", "b"), ("b",), ("c", "b"), ("d",), ("e", "b")]
    weights = [{"part": -1.0, "head": -0.5}] * 5
    marginal = marginal_probabilities(phrases, [0.9, 0.5, 0.5, 0.2, 0.3], weights, 2 / 3)
    # ("c", "b") loses for "head" and is chosen next; ("b",) is a part of both.
    sigmoid = [1 / (1 + math.exp(-z)) for z in (-2.0, -1.0, math.log(3 / 7) - 1.0)]
    assert marginal == pytest.approx([0.9, sigmoid[0], sigmoid[1], 0.2, sigmoid[2]])


def test_an_abbreviation_shares_no_word() -> None:
    phrases = [("graph", "neural", "network"), ("gnn",), ("gn",)]
    marginal = marginal_probabilities(phrases, [0.9, 0.5, 0.5], [{"abbreviation": -1.0}] * 3)
    assert marginal == pytest.approx([0.9, 1 / (1 + math.e), 0.5])


PHRASE = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.tuples(PHRASE, st.floats(0, 1)), max_size=8), st.floats(0, 1))
def test_marginal_probabilities_never_rise(
    scored: list[tuple[tuple[str, ...], float]], diversity: float
) -> None:
    phrases, scores = [phrase for phrase, _ in scored], [p for _, p in scored]
    weights = [{"part": -1.0, "word": -0.1}] * len(scored)
    marginal = marginal_probabilities(phrases, scores, weights, diversity)
    assert all(p <= score + 1e-9 for p, score in zip(marginal, scores, strict=True))
    if scored:
        assert max(marginal) == pytest.approx(max(scores), abs=1e-9)
    assert marginal_probabilities(phrases, scores, weights, 0.0) == pytest.approx(scores, abs=1e-9)


TEXT = ("a", "b", "c", "a", "b", "a", "b", "c", "c", "b")


def find_spans(phrase: tuple[str, ...]) -> list[tuple[int, int]]:
    """The occurrences of a phrase in `TEXT`, where each word is a character."""
    ends = ((start, start + len(phrase)) for start in range(len(TEXT)))
    return [(start, end) for start, end in ends if TEXT[start:end] == phrase]


def is_needless(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    inside = {
        at for start, _ in find_spans(whole) for at in range(start, start + len(whole))
    }  # words of the whole
    outside = [span for span in find_spans(part) if not {*range(*span)} <= inside]
    return relation(part, whole) == "part" and len(outside) < 2


@pytest.mark.parametrize(
    ("scores", "remaining"),
    [
        (
            {"ab": 0.5, "abc": 0.4},
            ["abc"],
        ),  # "ab" occurs once on its own; "abc" is nearly as likely
        ({"ab": 0.5, "abc": 0.2}, ["ab"]),
        ({"abc": 0.5, "ab": 0.4}, ["abc"]),
        ({"b": 0.5, "abc": 0.4}, ["b", "abc"]),  # "b" occurs twice on its own
        ({"x": 0.5, "xy": 0.4}, ["xy"]),  # absent phrases do not occur
    ],
)
def test_needless_parts_are_dropped(scores: dict[str, float], remaining: list[str]) -> None:
    phrases = [tuple(phrase) for phrase in scores]
    spans = [find_spans(phrase) for phrase in phrases]
    result = drop_needless_parts(phrases, spans, list(scores.values()))
    assert ["".join(phrases[number]) for number in result] == remaining


@given(st.lists(st.tuples(PHRASE, st.floats(0, 1)), max_size=8, unique_by=lambda phrase: phrase[0]))
def test_either_a_needless_part_or_its_whole_remains(
    scored: list[tuple[tuple[str, ...], float]],
) -> None:
    phrases, scores = [phrase for phrase, _ in scored], [p for _, p in scored]
    remaining = drop_needless_parts(phrases, [find_spans(phrase) for phrase in phrases], scores)
    assert [scores[phrase] for phrase in remaining] == sorted(
        (scores[phrase] for phrase in remaining), reverse=True
    )
    for number, phrase in enumerate(phrases):
        others = [phrases[index] for index in remaining if index != number]
        overlaps = any(
            is_needless(phrase, candidate) or is_needless(candidate, phrase) for candidate in others
        )
        if number in remaining:
            assert not overlaps
        elif not overlaps:  # it was dropped for a whole that was dropped for another
            wholes = [index for index, other in enumerate(phrases) if is_needless(phrase, other)]
            assert any(scores[index] >= 0.6 * scores[number] for index in wholes)


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=6).map(
    lambda pairs: [(start, start + length) for start, length in pairs]
)


@given(SPANS, SPANS)
def test_two_occurrences_of_its_own_keep_a_part(
    part: list[tuple[int, int]], whole: list[tuple[int, int]]
) -> None:
    own = [(a, b) for a, b in part if not any(c <= a and b <= d for c, d in whole)]
    remaining = drop_needless_parts([("a",), ("a", "b")], [part, whole], [0.5, 0.4])
    assert remaining == ([0, 1] if len(own) > 1 else [1])


def test_phrases_that_are_not_compared_remain() -> None:
    phrases = [(f"w{number}",) for number in range(500)]
    probabilities = [number / 500 for number in range(500)]
    assert drop_needless_parts(phrases, [()] * 500, probabilities) == list(range(500))[::-1]
