"""Overlap: a phrase is less likely to be right where a phrase like it is shown already.

Phrases are chosen as a set, one after the other. Once one is chosen, the log odds of those that
overlap it fall by weights that `tuning` fits, one for each kind of overlap. The *diversity*, from 0
to 1, says how much they count.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from one2set.data.phrase_spelling import Stems

_MOST = 200  # phrases that are compared; the time grows with the square of their number
_LETTERS = range(2, 6)  # of an abbreviation
# A part is left out if a whole has this share of its probability: on validation, F1@M of what is
# left was highest with 0.6, of 0.5, 0.6, 0.7, 0.8 and 1.
_WHOLE_SHARE = 0.6


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
    starts = range(len(longer) - count + 1)
    return any(longer[start : start + count] == shorter for start in starts)


def _abbreviates(short: Stems, long: Stems) -> bool:
    """Whether a word has the initials of a phrase."""
    if len(long) != len(short[0]) or len(long) not in _LETTERS:
        return False
    return short[0] == "".join(stem[:1] for stem in long)


def marginal_probabilities(
    phrases: Sequence[Stems],
    scores: Sequence[float],
    weights: Sequence[Mapping[str, float]],
    diversity: float = 0.5,
) -> list[float]:
    """The probability of each phrase, given those that are chosen before it. Each time the most
    probable one of the rest is chosen. `weights` are those of each phrase, by relation. With a
    diversity of ½ they count as they are, with 0 not at all, with 1 without limit."""
    factor = diversity / max(1 - diversity, 1e-6)
    marginal = list(scores)
    log_odds = [math.log(max(p, 1e-12) / max(1 - p, 1e-12)) for p in scores]
    remaining = sorted(range(len(scores)), key=lambda index: -scores[index])[:_MOST]
    counted: list[set[str]] = [set() for _ in scores]
    while remaining:
        best = max(remaining, key=log_odds.__getitem__)
        remaining.remove(best)
        for index in remaining:
            kind = relation(phrases[index], phrases[best])
            if kind is not None and kind not in counted[index]:
                counted[index].add(kind)
                log_odds[index] += factor * weights[index].get(kind, 0.0)
        if counted[best]:
            marginal[best] = 0.5 * (1 + math.tanh(log_odds[best] / 2))
    return marginal


def without_parts(phrases: Sequence[Stems], probabilities: Sequence[float]) -> list[int]:
    """The numbers of the phrases, the most probable first, of which none is part of another. A part
    yields to each whole that is nearly as probable; a whole yields to a part that is left."""
    by_probability = sorted(range(len(phrases)), key=lambda index: -probabilities[index])[:_MOST]

    def yields(index: int) -> bool:
        enough = _WHOLE_SHARE * probabilities[index]
        return any(
            probabilities[other] >= enough and relation(phrases[index], phrases[other]) == "part"
            for other in by_probability
            if other != index
        )

    chosen: list[int] = []
    for index in by_probability:
        kinds = relations(phrases[index], [phrases[other] for other in chosen])
        if kinds.isdisjoint(("part", "whole")) and not yields(index):
            chosen.append(index)
    return chosen
