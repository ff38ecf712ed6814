"""Words to ids while they are still being counted."""

import numpy as np
from numpy.typing import NDArray

from one2set.data.example import Ids
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary


class Dictionary:
    """Gives each new word the next provisional id, and counts; `close` orders by frequency.

    With the vocabulary of a model it begins with the words that the model's network knows, which
    keep their ids: what is prepared with it can teach that network more.
    """

    def __init__(self, model: WordVocabulary | None = None) -> None:
        self._given = model is not None
        words = SPECIALS if model is None else model.words[: model.size]
        self._first = len(words)  # ids that are final
        self._ids: dict[str, int] = {word: id for id, word in enumerate(words)}
        self._counts: NDArray[np.int64] = np.zeros(self._first, np.int64)

    def add(self, tokens: Ids, words: list[str], *, counted: bool) -> Ids:
        """Provisional ids of tokens that point into `words`; new words in order of appearance."""
        used, first = np.unique(tokens, return_index=True)
        provisional = np.zeros(len(words), np.int32)
        for local in used[np.argsort(first)].tolist():
            provisional[local] = self._ids.setdefault(words[local], len(self._ids))
        self._counts.resize(len(self._ids), refcheck=False)
        if counted:
            # Distinct words have distinct ids, so the additions cannot meet.
            self._counts[provisional] += np.bincount(tokens, minlength=len(words))
        return provisional[tokens]

    def close(self, size: int) -> tuple[WordVocabulary, Ids]:
        """The vocabulary by descending count, ties by first occurrence; and the final ids.

        Words that only validation or test sets hold have no count: they come last, and never
        belong to the networks' part of the vocabulary.
        """
        self._counts[: len(SPECIALS)] = 0
        words = np.arange(self._first, len(self._counts))
        by_count = words[np.argsort(-self._counts[self._first :], kind="stable")]
        order = np.concatenate([np.arange(self._first), by_count])
        final = np.empty(len(order), np.int32)
        final[order] = np.arange(len(order), dtype=np.int32)
        spelled = list(self._ids)
        counts = self._counts[order]
        known = len(SPECIALS) + int(np.count_nonzero(counts))
        vocabulary = WordVocabulary(
            [spelled[id] for id in order.tolist()],
            size=self._first if self._given else min(size, known),
            counts=counts.tolist(),
        )
        return vocabulary, final
