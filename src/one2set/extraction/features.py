"""Features of the n-grams of a text, for the candidate scorer.

How often and where an n-gram occurs, what the lexicon counts of it and of its words, what stands
beside it, and what the longer n-grams that contain it and the shorter ones within it look like. No
network is involved.

Shapes: D documents, S their words end to end, Q n-grams of all documents, each once per document,
O their occurrences, F features.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Floats, Ints
from one2set.errors import DataError
from one2set.extraction.arrays import Arrays
from one2set.extraction.lexicon import Lexicon, WordCounts
from one2set.extraction.ngrams import MAX_NGRAM_WORDS, HashedTexts, Hashes

if TYPE_CHECKING:
    from one2set.extraction.build_lexicon import Contributions

FEATURES_VERSION = 1  # increase it when a feature is computed in another way
_NO_LOG = -10.0  # stands for the log of 0
# The columns of `CandidateNgrams.features`, in order.
FEATURE_NAMES = (
    "num_words",
    "is_one_word",
    "is_two_words",
    "is_three_words",
    "log_document_length",
    "log_num_candidates",  # of the document
    "log_occurrences",
    "occurs_once",
    "log_first_position",
    "relative_first_position",
    "relative_last_position",
    "in_title",
    "share_of_title",
    "has_title",  # the document
    "log_keyphrase_count",  # training documents that have it as a keyphrase
    "log_text_count",  # training texts that contain it
    "keyphraseness",  # log of the share of those texts that have it as a keyphrase; KEA's feature
    "is_unseen",
    "first_word_begins",  # log of the share of texts with the word where it begins a keyphrase
    "last_word_ends",
    "mean_word_inside",
    "min_word_inside",
    "min_word_idf",
    "max_word_idf",
    "mean_word_idf",
    "cohesion",  # log texts with all words together, less the mean log of texts with each
    "mean_log_word_occurrences",
    "relative_log_occurrences",  # less those of its words
    "left_is_boundary",  # a share of the occurrences, as are all features of neighbours
    "left_may_begin",
    "left_inside",
    "left_begins",
    "right_is_boundary",
    "right_may_end",
    "right_inside",
    "right_ends",
    "relative_longer_occurrences",  # of the most frequent n-gram that contains it
    "log_longer_occurrences",
    "longer_log_keyphrase_count",  # the highest of the n-grams that contain it
    "longer_keyphraseness",
    "shorter_log_keyphrase_count",  # the highest of the n-grams within it
    "shorter_keyphraseness",
    "log_rank_by_keyphraseness",
    "distance_to_best_keyphraseness",
    "log_rank_by_keyphrase_count",
    "distance_to_best_keyphrase_count",
)
NUM_FEATURES = len(FEATURE_NAMES)
Columns = dict[str, NDArray[Any]]  # (Q,) each, by the names of features


def encode_feature_names() -> NDArray[np.uint8]:
    """The names of the features, to store with a fitted model."""
    return np.frombuffer(" ".join(FEATURE_NAMES).encode(), np.uint8)


def check_feature_names(arrays: Arrays) -> None:
    """Refuse a file that was fitted to other features."""
    names = tuple(arrays["feature_names"].tobytes().decode().split())
    if names != FEATURE_NAMES:
        differing = sorted({*names} ^ {*FEATURE_NAMES}) or "their order"
        raise DataError(
            f"was fitted to other features than this version computes ({differing})",
            fix="make it again with one2set learn",
        )


class _Occurrences(NamedTuple):
    """All occurrences (O,) of the n-grams (Q,)."""

    at: Ints  # (O,) the index of the first word
    length: Ints  # (O,) in words
    ngram: Ints  # (O,) the index of the n-gram
    hash: Hashes  # (Q,) of each n-gram
    first: Ints  # (Q,) the index of its first occurrence


@dataclass(frozen=True)
class CandidateNgrams:
    """The n-grams of documents that may be keyphrases: those that do not begin or end with a stop
    word. If the lexicon has counted the documents, `counted` is what they added to it."""

    text: HashedTexts
    lexicon: Lexicon
    counted: "Contributions | None" = None

    @cached_property
    def _words(self) -> "_WordLogs":
        counts, documents = self.lexicon.words(self.text.hash), self.lexicon.documents
        if self.counted is not None:
            counts = self.counted.subtract_from_words(counts, self.text)
            documents -= 1
        return _WordLogs.of(counts, documents)

    @cached_property
    def _found(self) -> "_Occurrences":
        counts = self._words
        by_length = [
            self.text.ngrams(n, counts.may_begin, counts.may_end)
            for n in range(1, MAX_NGRAM_WORDS + 1)
        ]
        at = np.concatenate([places for places, _ in by_length])
        hashes = np.concatenate([hashes for _, hashes in by_length])
        length = np.repeat(
            np.arange(1, MAX_NGRAM_WORDS + 1), [len(places) for places, _ in by_length]
        )
        _, first, which = np.unique(
            self.text.hash_in_document(at, hashes), return_index=True, return_inverse=True
        )
        return _Occurrences(at, length, which, hashes[first], first)

    @property
    def hash(self) -> Hashes:
        """(Q,)"""
        return self._found.hash

    @cached_property
    def at(self) -> Ints:
        """(Q,) the index of the first word of the first occurrence."""
        return self._found.at[self._found.first]

    @cached_property
    def length(self) -> Ints:
        """(Q,) in words."""
        return self._found.length[self._found.first]

    @cached_property
    def document(self) -> Ints:
        """(Q,)"""
        return self.text.document[self.at]

    def features(self) -> NDArray[np.float32]:
        """(Q, F), in the order of `FEATURE_NAMES`."""
        keyphrases, texts = self.lexicon.phrases(self.hash)
        if self.counted is not None:
            which = self.text.hash_in_document(self.at, self.hash)
            keyphrases, texts = self.counted.subtract_from_phrases(keyphrases, texts, which)
        count, keyphraseness = np.log1p(keyphrases), np.log((keyphrases + 0.1) / (texts + 5))
        columns = {
            "log_keyphrase_count": count,
            "log_text_count": np.log1p(texts),
            "keyphraseness": keyphraseness,
            "is_unseen": texts == 0,
            **self._shape_features(),
            **self._position_features(),
            **self._word_features(texts),
            **self._adjacent_word_features(),
            **self._nested_features(count, keyphraseness),
            **self._rank_features(count, keyphraseness),
        }
        ordered = [columns[name] for name in FEATURE_NAMES]
        return np.stack(ordered, axis=1, dtype=np.float32, casting="unsafe")

    @cached_property
    def _occurrences(self) -> Floats:
        """(Q,) occurrences of each n-gram in its document."""
        return self._sum(np.ones(len(self._found.at)))

    def _sum(self, values: Floats) -> Floats:
        """(Q,) sum of values (O,) over the occurrences of each n-gram."""
        total = np.bincount(self._found.ngram, weights=values, minlength=len(self.hash))
        return total.astype(np.float64)

    def _mean_over_words(self, values: Floats) -> Floats:
        """(Q,) mean of values (S,) over the words of each n-gram."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        mean: Floats = (total[self.at + self.length] - total[self.at]) / self.length
        return mean

    def _min_over_words(self, values: Floats) -> Floats:
        """(Q,) minimum of values (S,) over the words of each n-gram."""
        minimum = values[self.at]
        for shift in range(1, MAX_NGRAM_WORDS):
            longer = self.length > shift
            minimum[longer] = np.minimum(minimum[longer], values[self.at[longer] + shift])
        return minimum

    def _shape_features(self) -> Columns:
        candidates = np.bincount(self.document, minlength=len(self.text.start))
        return {
            "num_words": self.length,
            "is_one_word": self.length == 1,
            "is_two_words": self.length == 2,
            "is_three_words": self.length == 3,
            "log_document_length": np.log(self.text.length[self.document]),
            "log_num_candidates": np.log(candidates[self.document]),
        }

    def _position_features(self) -> Columns:
        at, length, which = self._found.at, self._found.length, self._found.ngram
        position = self.text.position
        last = np.zeros(len(self.hash), np.int64)
        np.maximum.at(last, which, position[at])
        first, document_length = position[self.at], self.text.length[self.document]
        title = self.text.title[self.document]
        inside = position[at] + length <= self.text.title[self.text.document[at]]
        in_title = self._sum(inside.astype(np.float64)) > 0
        return {
            "log_occurrences": np.log(self._occurrences),
            "occurs_once": self._occurrences == 1,
            "log_first_position": np.log1p(first),
            "relative_first_position": first / document_length,
            "relative_last_position": last / document_length,
            "in_title": in_title,
            "share_of_title": in_title * self.length / np.maximum(title, 1),
            "has_title": title > 0,
        }

    def _word_features(self, texts: Floats) -> Columns:
        words = self._words
        _, which, count = np.unique(
            self.text.hash_in_document(np.arange(len(self.text.hash)), self.text.hash),
            return_inverse=True,
            return_counts=True,
        )
        occurrences = self._mean_over_words(np.log(count[which]))
        together = np.log1p(texts) - self._mean_over_words(words.texts)
        return {
            "first_word_begins": words.begin[self.at],
            "last_word_ends": words.end[self.at + self.length - 1],
            "mean_word_inside": self._mean_over_words(words.inside),
            "min_word_inside": self._min_over_words(words.inside),
            "min_word_idf": self._min_over_words(words.idf),
            "max_word_idf": -self._min_over_words(-words.idf),
            "mean_word_idf": self._mean_over_words(words.idf),
            "cohesion": np.where(texts > 0, together, _NO_LOG),
            "mean_log_word_occurrences": occurrences,
            "relative_log_occurrences": np.log(self._occurrences) - occurrences,
        }

    def _adjacent_word_features(self) -> Columns:
        """The words before and after it: a boundary, a stop word, or a word that may belong to it.
        Means over its occurrences."""
        at, length = self._found.at, self._found.length
        words, text, last = self._words, self.text, len(self.text.hash) - 1
        left, right = np.maximum(at - 1, 0), np.minimum(at + length, last)
        sides = (
            (
                ("left_is_boundary", "left_may_begin", "left_inside", "left_begins"),
                *(left, at > 0, words.may_begin, words.begin),
            ),
            (
                ("right_is_boundary", "right_may_end", "right_inside", "right_ends"),
                *(right, at + length <= last, words.may_end, words.end),
            ),
        )
        columns: Columns = {}
        for names, beside, exists, may, edge in sides:
            word = exists & (text.document[beside] == text.document[at]) & ~text.mark[beside]
            values = (
                (~word).astype(np.float64),
                (word & may[beside]).astype(np.float64),
                np.where(word, words.inside[beside], _NO_LOG),
                np.where(word, edge[beside], _NO_LOG),
            )
            for name, value in zip(names, values, strict=True):
                columns[name] = self._sum(value) / self._occurrences
        return columns

    def _nested_features(self, keyphrase_count: Floats, keyphraseness: Floats) -> Columns:
        """The best values of the n-grams that contain it, and of those within it."""
        at, length, which = self._found.at, self._found.length, self._found.ngram
        # The number of each n-gram, by its length and position.
        index_at = np.full((MAX_NGRAM_WORDS + 1, len(self.text.hash) + 1), -1)
        index_at[length, at] = which
        size = len(self.hash)
        occurrences, longer = np.zeros(size), [np.zeros(size), np.full(size, _NO_LOG)]
        shorter = [np.zeros(size), np.full(size, _NO_LOG)]
        values = keyphrase_count, keyphraseness
        for n in range(MAX_NGRAM_WORDS - 1, 0, -1):
            of_length = length == n
            for shift in (-1, 0):
                # At −1 is the last cell, which is empty.
                larger = index_at[n + 1, at[of_length] + shift]
                mine, larger = which[of_length][larger >= 0], larger[larger >= 0]
                np.maximum.at(occurrences, mine, self._occurrences[larger])
                for own, best in zip(values, longer, strict=True):
                    np.maximum.at(best, mine, np.maximum(own[larger], best[larger]))
        for n in range(2, MAX_NGRAM_WORDS + 1):
            of_length = np.flatnonzero(self.length == n)
            for shift in (0, 1):
                part = index_at[n - 1, self.at[of_length] + shift]
                mine, part = of_length[part >= 0], part[part >= 0]
                for own, best in zip(values, shorter, strict=True):
                    best[mine] = np.maximum(best[mine], np.maximum(own[part], best[part]))
        return {
            "relative_longer_occurrences": occurrences / self._occurrences,
            "log_longer_occurrences": np.log1p(occurrences),
            "longer_log_keyphrase_count": longer[0],
            "longer_keyphraseness": longer[1],
            "shorter_log_keyphrase_count": shorter[0],
            "shorter_keyphraseness": shorter[1],
        }

    def _rank_features(self, keyphrase_count: Floats, keyphraseness: Floats) -> Columns:
        """How many of the document's n-grams rank above it, and its distance to the best."""
        occurrences = np.log(self._occurrences)
        idf = self._mean_over_words(self._words.idf)
        scores = {
            "keyphraseness": keyphraseness + occurrences,
            "keyphrase_count": keyphrase_count + occurrences + 0.3 * idf,
        }
        columns: Columns = {}
        for name, exact in scores.items():
            value = exact.round(6)  # sums of the same numbers may differ in the last digits
            order = np.lexsort((-value, self.document))
            document, ordered = self.document[order], value[order]
            new = np.append(True, (np.diff(document) != 0) | (np.diff(ordered) != 0))
            first = np.flatnonzero(new)[np.cumsum(new) - 1]  # of those with the same value
            rank = np.empty(len(order))
            rank[order] = first - np.searchsorted(document, document)
            best = np.full(len(self.text.start), -np.inf)
            np.maximum.at(best, self.document, value)
            columns[f"log_rank_by_{name}"] = np.log1p(rank)
            columns[f"distance_to_best_{name}"] = value - best[self.document]
        return columns


@dataclass(frozen=True, slots=True)
class _WordLogs:
    """The lexicon's counts of a text's words as logs, (S,) each."""

    may_begin: NDArray[np.bool_]
    may_end: NDArray[np.bool_]
    texts: Floats  # log(1 + texts that contain it)
    idf: Floats  # inverse document frequency
    begin: Floats  # log of the share of those texts where it begins a keyphrase
    end: Floats
    inside: Floats

    @classmethod
    def of(cls, counts: WordCounts, documents: int) -> "_WordLogs":
        """The logs of counts (S,) in this number of documents."""
        return cls(
            counts.may_begin,
            counts.may_end,
            np.log1p(counts.texts),
            np.log(max(documents, 1) / (counts.texts + 0.5)),
            *(
                np.log((count + 0.5) / (counts.texts + 10))
                for count in (counts.begin, counts.end, counts.inside)
            ),
        )
