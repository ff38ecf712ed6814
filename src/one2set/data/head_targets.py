"""What the span scorer and the phrase head learn from documents.

A *span* is an n-gram of up to `MAX_WORDS` words of a source, without punctuation inside; it is a
keyphrase if its stems are those of one. A *known phrase* is one of a `PhraseList`; a document has
those that are among its keyphrases, present or absent.

Shapes: W words of a source, P spans and K known phrases of all documents of a batch.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from one2set.data.example import Example, Ids
from one2set.data.phrase_list import PhraseList
from one2set.data.text import PUNCTUATION, Stems, stem, stem_all, words_of
from one2set.data.vocabulary import Vocabulary

MAX_WORDS = 5
Positions = NDArray[np.int64]


class HeadTargets(NamedTuple):
    """The targets of a batch. A position counts the tokens of all sources without padding."""

    first: Tensor  # (P,) position of the span's first token
    last: Tensor  # (P,) position of its last token
    length: Tensor  # (P,) words, 1 … MAX_WORDS
    is_keyphrase: Tensor  # (P,) bool
    document: Tensor  # (K,) which document of the batch has …
    phrase: Tensor  # (K,) … which known phrase

    def to(self, device: torch.device | str) -> "HeadTargets":
        """The same targets on a device."""
        return HeadTargets(*(tensor.to(device, non_blocking=True) for tensor in self))


class SourceWords(NamedTuple):
    """The words of a source, without punctuation."""

    stems: tuple[str, ...]  # (W,)
    first: Positions  # (W,) the word's first token
    last: Positions  # (W,) its last token
    segment: Positions  # (W,) punctuation and the end of the title begin a new one


class HeadTargetBuilder:
    """Makes the targets of examples of one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, phrases: PhraseList) -> None:
        self._vocabulary, self._phrases = vocabulary, phrases
        self._words: dict[str, tuple[str, ...]] = {}  # the stems that a token's text is read as

    def build(self, examples: Sequence[Example], lengths: Sequence[int]) -> HeadTargets:
        """The targets of a batch, whose sources have these lengths."""
        first, last, length, is_keyphrase = [], [], [], []
        document: list[int] = []
        phrase: list[int] = []
        offset = 0
        for index, (example, tokens) in enumerate(zip(examples, lengths, strict=True)):
            keyphrases = self._keyphrases(example)
            words = self.read(example)
            start, end = enumerate_spans(words)
            first.append(words.first[start] + offset)
            last.append(words.last[end] + offset)
            length.append(end - start + 1)
            is_keyphrase.append(_label(words, start, end, keyphrases))
            known = [self._phrases.index[k] for k in keyphrases if k in self._phrases.index]
            document += [index] * len(known)
            phrase += known
            offset += tokens
        return HeadTargets(
            first=torch.from_numpy(np.concatenate(first)),
            last=torch.from_numpy(np.concatenate(last)),
            length=torch.from_numpy(np.concatenate(length)),
            is_keyphrase=torch.from_numpy(np.concatenate(is_keyphrase)),
            document=torch.tensor(document, dtype=torch.int64),
            phrase=torch.tensor(phrase, dtype=torch.int64),
        )

    def read(self, example: Example) -> SourceWords:
        """The words of an example's source."""
        stems: list[str] = []
        first: list[int] = []
        last: list[int] = []
        segment: list[int] = []
        number, title = 0, example.title_length
        grouped = self._vocabulary.group(example.source.tolist(), unknown=example.unknown)
        for text, start, end in grouped:
            if start >= title > 0:
                number, title = number + 1, 0
            for word_stem in self._stems(text):
                if word_stem in PUNCTUATION:
                    number += 1
                    continue
                stems.append(word_stem)
                first.append(start)
                last.append(end)
                segment.append(number)
        return SourceWords(tuple(stems), *(np.array(x, np.int64) for x in (first, last, segment)))

    def _stems(self, text: str) -> tuple[str, ...]:
        stems = self._words.get(text)
        if stems is None:
            stems = self._words[text] = tuple(map(stem, words_of(text)))
        return stems

    def _keyphrases(self, example: Example) -> set[Stems]:
        phrases: Iterable[Ids] = (*example.present, *example.absent)
        texts = (self._vocabulary.text(p.tolist(), unknown=example.unknown) for p in phrases)
        return {stem_all(words_of(text)) for text in texts} - {()}


def enumerate_spans(words: SourceWords) -> tuple[Positions, Positions]:
    """The first and the last word of every span (P,), the shortest first."""
    count = len(words.stems)
    starts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for length in range(1, min(MAX_WORDS, count) + 1):
        start = np.arange(count - length + 1)
        start = start[words.segment[start] == words.segment[start + length - 1]]
        starts.append(start)
        ends.append(start + length - 1)
    return np.concatenate(starts), np.concatenate(ends)


def _label(
    words: SourceWords, start: Positions, end: Positions, keyphrases: set[Stems]
) -> NDArray[np.bool_]:
    """(P,) whether each span is a keyphrase."""
    openings = {phrase[0] for phrase in keyphrases}
    # Few words begin a keyphrase, so few spans need to be compared.
    may_begin = np.array([word_stem in openings for word_stem in words.stems], np.bool_)
    is_keyphrase = np.zeros(len(start), np.bool_)
    for index in np.flatnonzero(may_begin[start] if len(start) else is_keyphrase):
        is_keyphrase[index] = words.stems[start[index] : end[index] + 1] in keyphrases
    return is_keyphrase
