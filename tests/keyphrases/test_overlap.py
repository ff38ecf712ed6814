"""Overlap: kinds of it, and the set that is chosen one phrase after the other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.keyphrases.overlap import (
    marginal_probabilities,
    relation,
    relations,
    without_parts,
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
def test_kinds(phrase: str, other: str, kind: str | None) -> None:
    assert relation(tuple(phrase.split()), tuple(other.split())) == kind


def test_several_kinds_count_once_each() -> None:
    others = [("graph", "network"), ("graph", "theory"), ("deep", "graph"), ("set",)]
    assert relations(("graph",), others) == {"part"}
    assert relations(("graph", "set"), others) == {"word", "whole"}


def test_log_odds_fall_once_for_each_kind() -> None:
    phrases = [("a", "b"), ("b",), ("c", "b"), ("d",), ("e", "b")]
    weights = [{"part": -1.0, "head": -0.5}] * 5
    found = marginal_probabilities(phrases, [0.9, 0.5, 0.5, 0.2, 0.3], weights, 2 / 3)
    # ("c", "b") loses for "head" and is chosen next; ("b",) is a part of both.
    sigmoid = [1 / (1 + math.exp(-z)) for z in (-2.0, -1.0, math.log(3 / 7) - 1.0)]
    assert found == pytest.approx([0.9, sigmoid[0], sigmoid[1], 0.2, sigmoid[2]])


PHRASE = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.tuples(PHRASE, st.floats(0, 1)), max_size=8), st.floats(0, 1))
def test_nothing_becomes_likelier(
    scored: list[tuple[tuple[str, ...], float]], diversity: float
) -> None:
    phrases, scores = [one for one, _ in scored], [p for _, p in scored]
    weights = [{"part": -1.0, "word": -0.1}] * len(scored)
    found = marginal_probabilities(phrases, scores, weights, diversity)
    assert all(p <= score + 1e-9 for p, score in zip(found, scores, strict=True))
    if scored:
        assert max(found) == pytest.approx(max(scores), abs=1e-9)
    assert marginal_probabilities(phrases, scores, weights, 0.0) == pytest.approx(scores, abs=1e-9)


@given(st.lists(st.tuples(PHRASE, st.floats(0, 1)), max_size=8, unique_by=lambda one: one[0]))
def test_of_a_part_and_a_whole_one_is_left(scored: list[tuple[tuple[str, ...], float]]) -> None:
    phrases, scores = [one for one, _ in scored], [p for _, p in scored]
    left = without_parts(phrases, scores)
    assert [scores[one] for one in left] == sorted((scores[one] for one in left), reverse=True)
    for one, phrase in enumerate(phrases):
        others = relations(phrase, [phrases[other] for other in left if other != one])
        overlapping = not others.isdisjoint(("part", "whole"))
        if one in left:
            assert not overlapping
        elif not overlapping:  # it yields to a whole that yields to another
            wholes = [
                other for other in range(len(phrases)) if relation(phrase, phrases[other]) == "part"
            ]
            assert any(scores[other] >= 0.6 * scores[one] for other in wholes if other != one)
