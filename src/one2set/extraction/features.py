"""Measures: what the n-grams of a text show of whether they are its keyphrases.

How often and where one stands, what the lexicon counts of it and of its words, what stands beside
it, and what the longer and the shorter n-grams show that hold it or are part of it. No network is
asked.

Letters: D documents, S their words end to end, Q n-grams of all documents, each once in a document,
O their occurrences, M measures.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Floats, Ints
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import LONGEST, Hashes, Words

_NOTHING = -10.0  # where a log has nothing to be taken of
NUM_MEASURES = 46


@dataclass(frozen=True)
class Grams:
    """The n-grams of documents that could be keyphrases: no stop word begins or ends them."""

    text: Words
    lexicon: Lexicon

    @cached_property
    def _words(self) -> "_WordLogs":
        return _WordLogs.of(self.text, self.lexicon)

    @cached_property
    def _found(self) -> tuple[Ints, Ints, Ints, Hashes, Ints]:
        """Of each occurrence (O,) where it stands, its length and which n-gram it is; then the
        hash of each n-gram and its first occurrence (Q,). Those that are first come first."""
        counts = self._words
        found = [
            self.text.grams(n, counts.may_begin, counts.may_end) for n in range(1, LONGEST + 1)
        ]
        at = np.concatenate([places for places, _ in found])
        hashes = np.concatenate([which for _, which in found])
        length = np.repeat(np.arange(1, LONGEST + 1), [len(places) for places, _ in found])
        _, first, which = np.unique(
            self.text.apart(at, hashes), return_index=True, return_inverse=True
        )
        return at, length, which, hashes[first], first

    @property
    def hash(self) -> Hashes:
        """(Q,)"""
        return self._found[3]

    @cached_property
    def at(self) -> Ints:
        """(Q,) where each stands first."""
        return self._found[0][self._found[4]]

    @cached_property
    def length(self) -> Ints:
        """(Q,) words."""
        return self._found[1][self._found[4]]

    @cached_property
    def document(self) -> Ints:
        """(Q,)"""
        return self.text.document[self.at]

    def measures(self) -> NDArray[np.float32]:
        """(Q, M)"""
        keyphrase, texts = self.lexicon.phrases(self.hash)
        counted, keyness = np.log1p(keyphrase), np.log((keyphrase + 0.1) / (texts + 5))
        columns = [
            *self._shape(),
            *self._standing(),
            *(counted, np.log1p(texts), keyness, texts == 0),
            *self._own_words(texts),
            *self._beside(),
            *self._around(counted, keyness),
            *self._ranks(counted, keyness),
        ]
        return np.stack(columns, axis=1, dtype=np.float32, casting="unsafe")

    @cached_property
    def _often(self) -> Floats:
        """(Q,) how often each stands in its document."""
        return self._sum(np.ones(len(self._found[0])))

    def _sum(self, values: Floats) -> Floats:
        """(Q,) the sum over the occurrences of each n-gram of what they have (O,)."""
        total = np.bincount(self._found[2], weights=values, minlength=len(self.hash))
        return total.astype(np.float64)

    def _mean_word(self, values: Floats) -> Floats:
        """(Q,) the mean over the words of each n-gram of what words have (S,)."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        mean: Floats = (total[self.at + self.length] - total[self.at]) / self.length
        return mean

    def _least_word(self, values: Floats) -> Floats:
        """(Q,) the least over the words of each n-gram of what words have (S,)."""
        found = values[self.at]
        for shift in range(1, LONGEST):
            longer = self.length > shift
            found[longer] = np.minimum(found[longer], values[self.at[longer] + shift])
        return found

    def _shape(self) -> list[NDArray[np.generic]]:
        """How long it and its document are."""
        candidates = np.bincount(self.document, minlength=len(self.text.start))
        return [
            self.length,
            *(self.length == count for count in (1, 2, 3)),
            np.log(self.text.length[self.document]),
            np.log(candidates[self.document]),
        ]

    def _standing(self) -> list[NDArray[np.generic]]:
        """How often and where it stands, and whether in the title."""
        at, length, which, _, _ = self._found
        place = self.text.place
        last = np.zeros(len(self.hash), np.int64)
        np.maximum.at(last, which, place[at])
        first, whole = place[self.at], self.text.length[self.document]
        title = self.text.title[self.document]
        inside = place[at] + length <= self.text.title[self.text.document[at]]
        titled = self._sum(inside.astype(np.float64))
        return [
            np.log(self._often),
            self._often == 1,
            np.log1p(first),
            first / whole,
            last / whole,
            titled > 0,
            (titled > 0) * self.length / np.maximum(title, 1),
            title > 0,
        ]

    def _own_words(self, texts: Floats) -> list[NDArray[np.generic]]:
        """What its words are, and whether they stand together more often than apart."""
        words = self._words
        _, which, count = np.unique(
            self.text.apart(np.arange(len(self.text.hash)), self.text.hash),
            return_inverse=True,
            return_counts=True,
        )
        often = self._mean_word(np.log(count[which]))
        return [
            words.begin[self.at],
            words.end[self.at + self.length - 1],
            self._mean_word(words.inside),
            self._least_word(words.inside),
            self._least_word(words.rarity),
            -self._least_word(-words.rarity),
            self._mean_word(words.rarity),
            np.where(texts > 0, np.log1p(texts) - self._mean_word(words.texts), _NOTHING),
            often,
            np.log(self._often) - often,
        ]

    def _beside(self) -> list[NDArray[np.generic]]:
        """What stands before and after it: marks, stop words, or what could belong to it."""
        at, length, _, _, _ = self._found
        words, text, last = self._words, self.text, len(self.text.hash) - 1
        sides = (
            (np.maximum(at - 1, 0), at > 0, words.may_begin, words.begin),
            (np.minimum(at + length, last), at + length <= last, words.may_end, words.end),
        )
        columns: list[NDArray[np.generic]] = []
        for beside, exists, may, edge in sides:
            word = exists & (text.document[beside] == text.document[at]) & ~text.mark[beside]
            columns += [
                self._sum(given) / self._often
                for given in (
                    (~word).astype(np.float64),
                    (word & may[beside]).astype(np.float64),
                    np.where(word, words.inside[beside], _NOTHING),
                    np.where(word, edge[beside], _NOTHING),
                )
            ]
        return columns

    def _around(self, counted: Floats, keyness: Floats) -> list[NDArray[np.generic]]:
        """What the n-grams show that hold it, and those that are part of it."""
        at, length, which, _, _ = self._found
        there = np.full((LONGEST + 2, len(self.text.hash) + 1), -1)
        there[length, at] = which
        count = len(self.hash)
        often, held = np.zeros(count), [np.zeros(count), np.full(count, _NOTHING)]
        parts = [np.zeros(count), np.full(count, _NOTHING)]
        given = counted, keyness
        for n in range(LONGEST - 1, 0, -1):
            here = length == n
            for shift in (-1, 0):
                larger = there[n + 1, at[here] + shift]  # the last cell, which is empty, before 0
                mine, larger = which[here][larger >= 0], larger[larger >= 0]
                np.maximum.at(often, mine, self._often[larger])
                for own, best in zip(given, held, strict=True):
                    np.maximum.at(best, mine, np.maximum(own[larger], best[larger]))
        for n in range(2, LONGEST + 1):
            here = np.flatnonzero(self.length == n)
            for shift in (0, 1):
                part = there[n - 1, self.at[here] + shift]
                mine, part = here[part >= 0], part[part >= 0]
                for own, best in zip(given, parts, strict=True):
                    best[mine] = np.maximum(best[mine], np.maximum(own[part], best[part]))
        return [often / self._often, np.log1p(often), *held, *parts]

    def _ranks(self, counted: Floats, keyness: Floats) -> list[NDArray[np.generic]]:
        """How many of the document's n-grams are before it, and how far it is from the best."""
        often, rarity = np.log(self._often), self._mean_word(self._words.rarity)
        columns: list[NDArray[np.generic]] = []
        for exact in (keyness + often, counted + often + 0.3 * rarity):
            value = exact.round(6)  # sums of the same numbers may differ in the last digits
            order = np.lexsort((-value, self.document))
            document, ordered = self.document[order], value[order]
            new = np.append(True, (np.diff(document) != 0) | (np.diff(ordered) != 0))
            first = np.flatnonzero(new)[np.cumsum(new) - 1]  # of those that are as good
            before = np.empty(len(order))
            before[order] = first - np.searchsorted(document, document)
            best = np.full(len(self.text.start), -np.inf)
            np.maximum.at(best, self.document, value)
            columns += [np.log1p(before), value - best[self.document]]
        return columns


@dataclass(frozen=True, slots=True)
class _WordLogs:
    """What the lexicon says of a text's words, (S,) each."""

    may_begin: NDArray[np.bool_]
    may_end: NDArray[np.bool_]
    texts: Floats  # log(1 + how many hold it)
    rarity: Floats  # log of all by those
    begin: Floats  # log of the share of them in which it begins a keyphrase
    end: Floats
    inside: Floats

    @classmethod
    def of(cls, text: Words, lexicon: Lexicon) -> "_WordLogs":
        counts = lexicon.words(text.hash)
        return cls(
            counts.may_begin,
            counts.may_end,
            np.log1p(counts.texts),
            np.log(max(lexicon.documents, 1) / (counts.texts + 0.5)),
            *(
                np.log((count + 0.5) / (counts.texts + 10))
                for count in (counts.begin, counts.end, counts.inside)
            ),
        )
