"""Which documents a corpus keeps, and how many are dropped for which reason."""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate, compress, pairwise
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from one2set.data.corpus.corpus import TRAIN, VALID
from one2set.data.corpus.encoding import EncodedChunk, EncodedDocument
from one2set.data.example import Ids
from one2set.data.specials import SPECIALS


class Filters(BaseModel):
    """Filters of training documents; validation and test sets are never filtered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_source_words: Annotated[int, Field(ge=1)] = 400
    max_phrases: Annotated[int, Field(ge=1)] = 13
    max_phrase_words: Annotated[int, Field(ge=1)] = 5
    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))] = 50_002
    hold_out: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0


@dataclass(slots=True)
class SelectedDocuments:
    """The documents of a chunk that go to one split, and their tokens."""

    rows: list[EncodedDocument]
    tokens: Ids


class DocumentSelection:
    """Assigns documents to splits in input order, and counts the reasons for dropping them."""

    def __init__(self, filters: Filters, excluded: frozenset[bytes]) -> None:
        self._filters, self._excluded = filters, excluded
        self._seen: set[bytes] = set()
        self.read: Counter[str] = Counter()
        self.dropped: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def choose(self, chunk: EncodedChunk, split: str) -> dict[str, SelectedDocuments]:
        """The documents to keep, by split."""
        rows: dict[str, list[EncodedDocument]] = {}
        tokens: dict[str, list[Ids]] = {}
        starts = accumulate((row.size for row in chunk.rows), initial=0)
        for row, (start, end) in zip(chunk.rows, pairwise(starts), strict=True):
            target, reason = self._target(row, split)
            self.read[target] += 1
            dropped = self.dropped[target]
            if reason:
                dropped[reason] += 1
                continue
            if target == TRAIN:
                new_row, parts = self._without_long_phrases(row, chunk.tokens[start:end])
                dropped["long phrase (the phrase only)"] += len(row.phrase_lengths) - len(
                    new_row.phrase_lengths
                )
                if not new_row.phrase_lengths:
                    dropped["no keyphrases"] += 1
                    continue
            else:
                new_row, parts = row, chunk.tokens[start:end]
            rows.setdefault(target, []).append(new_row)
            tokens.setdefault(target, []).append(parts)
        return {name: SelectedDocuments(rows[name], np.concatenate(tokens[name])) for name in rows}

    def _target(self, row: EncodedDocument, split: str) -> tuple[str, str]:
        """The split of a document, and the reason if it is dropped."""
        if split != TRAIN:
            return split, ""
        if not row.key:
            return TRAIN, "empty source"
        if row.title_key in self._excluded:
            return TRAIN, "title excluded"
        if row.key in self._seen:
            return TRAIN, "duplicate"
        self._seen.add(row.key)
        # The key is a hash: as good as random, and the same in every run.
        is_held_out = int.from_bytes(row.key[:8]) < self._filters.hold_out * 2**64
        if is_held_out and row.phrase_lengths:  # without keyphrases, there is nothing to validate
            return VALID, ""
        if row.source_length > self._filters.max_source_words:
            return TRAIN, "long source"
        if len(row.phrase_lengths) > self._filters.max_phrases:
            return TRAIN, "many keyphrases"
        return TRAIN, ""

    def _without_long_phrases(
        self, row: EncodedDocument, tokens: Ids
    ) -> tuple[EncodedDocument, Ids]:
        longest = self._filters.max_phrase_words
        if max(row.phrase_lengths, default=0) <= longest:
            return row, tokens
        ends = np.cumsum([row.source_length, *row.phrase_lengths])
        source, *phrases = np.split(tokens, ends[:-1])
        short = [length <= longest for length in row.phrase_lengths]
        new_row = replace(
            row,
            num_present=sum(short[: row.num_present]),
            phrase_lengths=list(compress(row.phrase_lengths, short)),
        )
        return new_row, np.concatenate([source, *compress(phrases, short)])
