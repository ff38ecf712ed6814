"""From decoded rows to slots: ids to text, `<unk>` to source words, rows to phrases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from one2set.data.example import Example
from one2set.data.specials import (
    ABSENT_START,
    EOS,
    MARKS,
    NULL,
    PRESENT_START,
    SEP,
    SPECIALS,
    UNK,
)
from one2set.data.text import words_of
from one2set.data.vocabulary import Vocabulary, WordVocabulary
from one2set.prediction.prediction import Slot


@dataclass(frozen=True, slots=True)
class DecodedRow:
    """A decoded row as Python numbers, up to and including its end."""

    tokens: Sequence[int]  # extended ids
    probabilities: Sequence[float]
    positions: Sequence[int]  # of the most attended source token at each step

    def __getitem__(self, part: slice) -> "DecodedRow":
        return DecodedRow(self.tokens[part], self.probabilities[part], self.positions[part])


@dataclass(frozen=True, slots=True)
class SlotBuilder:
    """Converts the decoded rows of one document to text."""

    vocabulary: Vocabulary
    example: Example
    oov: Sequence[int]  # dictionary ids of the document's extended ids

    def slot(self, code: int, row: DecodedRow, *, null: float) -> Slot:
        """The row of a control code. A row that ends in ∅ is no phrase; one without an end is."""
        return self._slot(code, row, stop_ids=(EOS, NULL), null=null)

    def slots(self, row: DecodedRow) -> Iterator[Slot]:
        """The phrases of a sequence, split at its separators."""
        return self._split(row, stop_ids=MARKS)

    def nested_slots(self, row: DecodedRow) -> Iterator[Slot]:
        """The phrases of a nested row, each of which begins with a start mark."""
        return self._split(row, stop_ids=(EOS, SEP), start_ids=(PRESENT_START, ABSENT_START))

    def _split(
        self, row: DecodedRow, *, stop_ids: Sequence[int], start_ids: Sequence[int] = ()
    ) -> Iterator[Slot]:
        stops = [index + 1 for index, token in enumerate(row.tokens) if token in stop_ids]
        stops += [] if row.tokens[-1] in stop_ids else [len(row.tokens)]
        for number, (start, stop) in enumerate(pairwise([0, *stops])):
            yield self._slot(number, row[start:stop], stop_ids=stop_ids, start_ids=start_ids)

    def _slot(
        self,
        code: int,
        row: DecodedRow,
        *,
        stop_ids: Sequence[int],
        start_ids: Sequence[int] = (),
        null: float = 0.0,
    ) -> Slot:
        last = row.tokens[-1]
        begun, ended = row.tokens[0] in start_ids, last in stop_ids
        ids = [self._dictionary_id(*pair) for pair in zip(row.tokens, row.positions, strict=True)]
        return Slot(
            code,
            text="" if ended and last == NULL else self._phrase(ids[begun : len(ids) - ended]),
            tokens=tuple(SPECIALS[id] if id < len(SPECIALS) else self._text([id]) for id in ids),
            probabilities=tuple(row.probabilities),
            ended=ended,
            null=null,
            begun=begun,
        )

    def _dictionary_id(self, token: int, position: int) -> int:
        if token == UNK and position < len(self.example.source):
            return int(self.example.source[position])
        size = self.vocabulary.size
        return token if token < size else self.oov[token - size]

    def _phrase(self, ids: Sequence[int]) -> str:
        """A phrase as normalised words: word pieces can also spell hyphens and numbers."""
        text = self._text(ids)
        if isinstance(self.vocabulary, WordVocabulary) or any(id < len(SPECIALS) for id in ids):
            return text
        return " ".join(words_of(text))

    def _text(self, ids: Sequence[int]) -> str:
        """Text of ids, with special tokens by their names."""
        parts: list[str] = []
        for special, run in groupby(ids, key=lambda id: id < len(SPECIALS)):
            if special:
                parts += [SPECIALS[id] for id in run]
            else:
                parts.append(self.vocabulary.text(run, unknown=self.example.unknown))
        return " ".join(parts)
