"""Overlap: a phrase is less likely to be correct if a similar phrase is already selected.

Phrases are selected one after the other. Each selected phrase lowers the log odds of the phrases
that overlap it, by a penalty for the kind of overlap; `tuning` fits the penalties. The *diversity*,
from 0 to 1, scales them.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice

from one2set.data.text import Span, Stems

_MAX_COMPARED = 200  # phrases that are compared; the time grows with the square of their number
_LETTERS = range(2, 6)  # of an abbreviation
# Chosen on 1,000 validation documents, where dropping needless parts costs 2 % of the F1. Dropping
# every part would cost 5 %; dropping only those that never occur alone, 1 %.
_OWN_OCCURRENCES = 2
_WHOLE_SHARE = 0.6  # of a part's probability


def relation(phrase: Stems, other: Stems) -> str | None:
    """How a phrase overlaps another: it is part of it, contains it, has the same last word, shares
    another word, or one abbreviates the other."""
    if {*phrase}.isdisjoint(other):
        short, long = (phrase, other) if len(phrase) == 1 else (other, phrase)
        return "abbreviation" if len(short) == 1 and _abbreviates(short, long) else None
    if _contains(other, phrase):
        return "part"
    if _contains(phrase, other):
        return "whole"
    return "head" if phrase[-1] == other[-1] else "word"


def relations(phrase: Stems, others: Iterable[Stems]) -> set[str]:
    """The kinds of overlap of a phrase with others."""
    return {kind for other in others if (kind := relation(phrase, other)) is not None}


def _contains(longer: Stems, shorter: Stems) -> bool:
    count = len(shorter)
    if count == 1:
        return shorter[0] in longer
    starts = range(len(longer) - count + 1)
    return any(longer[start : start + count] == shorter for start in starts)


def _abbreviates(short: Stems, long: Stems) -> bool:
    """Whether a word has the initials of a phrase."""
    if len(long) != len(short[0]) or len(long) not in _LETTERS:
        return False
    return short[0] == _initials(long)


def _initials(phrase: Stems) -> str:
    return "".join(stem[:1] for stem in phrase)


def marginal_probabilities(
    phrases: Sequence[Stems],
    scores: Sequence[float],
    weights: Sequence[Mapping[str, float]],
    diversity: float = 0.5,
) -> list[float]:
    """The probability of each phrase, given the phrases selected before it. Each step selects the
    most probable remaining phrase. `weights` are the penalties of each phrase, by relation; they
    are multiplied by diversity / (1 − diversity), which is 1 for a diversity of ½."""
    factor = diversity / max(1 - diversity, 1e-6)
    marginal = list(scores)
    log_odds = [math.log(max(p, 1e-12) / max(1 - p, 1e-12)) for p in scores]
    remaining = sorted(range(len(scores)), key=lambda index: -scores[index])[:_MAX_COMPARED]
    counted: list[set[str]] = [set() for _ in scores]
    # Phrases that overlap share a word, or one is the initials of the other.
    keys = {index: {*phrases[index], _initials(phrases[index])} for index in remaining}
    with_key: dict[str, set[int]] = {}
    for index in remaining:
        for key in keys[index]:
            with_key.setdefault(key, set()).add(index)
    while remaining:
        best = max(remaining, key=log_odds.__getitem__)
        remaining.remove(best)
        for key in keys[best]:
            with_key[key].remove(best)
        for index in set().union(*(with_key[key] for key in keys[best])):
            kind = relation(phrases[index], phrases[best])
            if kind is not None and kind not in counted[index]:
                counted[index].add(kind)
                log_odds[index] += factor * weights[index].get(kind, 0.0)
        if counted[best]:
            marginal[best] = 0.5 * (1 + math.tanh(log_odds[best] / 2))
    return marginal


def drop_needless_parts(
    phrases: Sequence[Stems], spans: Sequence[Sequence[Span]], probabilities: Sequence[float]
) -> list[int]:
    """The numbers of the phrases that remain, the most probable first. `spans` are the occurrences
    of each.

    A part of another phrase is needless if it occurs fewer than `_OWN_OCCURRENCES` times outside
    it. A needless part is dropped for a whole that is nearly as probable; otherwise the less
    probable one of the two is dropped."""
    in_order = sorted(range(len(phrases)), key=lambda number: -probabilities[number])
    by_probability, not_compared = in_order[:_MAX_COMPARED], in_order[_MAX_COMPARED:]
    covers = {number: _Cover(spans[number]) for number in by_probability}

    def is_needless(part: int, whole: int) -> bool:
        if not _contains(phrases[whole], phrases[part]):
            return False
        own = (span for span in spans[part] if not covers[whole].contains(span))
        return len(list(islice(own, _OWN_OCCURRENCES))) < _OWN_OCCURRENCES

    def has_likely_whole(part: int) -> bool:
        enough = _WHOLE_SHARE * probabilities[part]
        return any(
            probabilities[whole] >= enough and is_needless(part, whole)
            for whole in by_probability
            if whole != part
        )

    remaining: list[int] = []
    for number in by_probability:
        if has_likely_whole(number) or any(
            is_needless(number, other) or is_needless(other, number) for other in remaining
        ):
            continue
        remaining.append(number)
    return remaining + not_compared


class _Cover:
    """Spans of a text, of which a book has thousands."""

    def __init__(self, spans: Iterable[Span]) -> None:
        in_order = sorted(spans)
        self._starts = [start for start, _ in in_order]
        self._last_ends = list(accumulate((end for _, end in in_order), max))  # up to each one

    def contains(self, span: Span) -> bool:
        """Whether a span is within one of them."""
        start, end = span
        count = bisect_right(self._starts, start)
        return count > 0 and self._last_ends[count - 1] >= end
