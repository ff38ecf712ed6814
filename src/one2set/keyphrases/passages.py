"""Passages: split a long document into parts that the network can read, without truncating it.

Networks are trained on abstracts, and the time of attention grows with the square of the length.
A long text is therefore split into overlapping passages, and `scoring` combines their scores: the
time grows linearly. Repeated text is read once. It adds no information, and a text of punctuation
marks would take three times as long as prose of the same length.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from one2set.data.document import Document, StemmedDocument
from one2set.extraction.ngrams import MAX_NGRAM_WORDS

PASSAGE = 384  # words; longer than nearly all abstracts, which are read whole
OVERLAP = 64  # words, so that what one passage cuts off another has in context
_LONGEST_TITLE = 64
_READING = 12  # reading a passage takes this many times as long as scoring its phrases
_REPEATED = 8  # words: a run that an abstract hardly ever has twice


def split_into_passages(document: StemmedDocument) -> list[StemmedDocument]:
    """The document itself where it is short; else its passages, each headed by the title. Runs of
    words that occur again, as in a text that was pasted twice, are left out, and equal passages are
    one."""
    title = document.title_length
    repeated = _find_repeats(document.words)
    if len(document.words) <= PASSAGE and not any(repeated[title:]):
        return [document]
    head = title if title <= _LONGEST_TITLE else 0
    new = [at for at in range(head, len(repeated)) if not repeated[at]]
    shortened = _shorten_runs([document.words[at] for at in new])
    body = [new[at] - head for at in shortened]
    room = PASSAGE - head
    starts = range(0, max(len(body) - OVERLAP, 1), room - OVERLAP)
    parts = [_make_passage(document, head, body[start : start + room]) for start in starts]
    return list({part.document.abstract: part for part in parts}.values())


def estimate_passages(num_words: int) -> int:
    """The approximate number of passages of a document without repetitions."""
    return max(math.ceil((num_words - OVERLAP) / (PASSAGE - OVERLAP)), 1)


def estimate_progress(checks: int, passages: int) -> float:
    """The share of the work that is done after a number of checks (`stream_selected`): the network
    reads each passage, if there is a network, then its phrases are scored."""
    read = min(checks, passages)
    return min((_READING * read + checks - read) / ((_READING + 1) * passages), 0.99)


def _find_repeats(words: Sequence[str]) -> bytearray:
    """For each word, whether it is in a run of `_REPEATED` words that has occurred before. Marks do
    not interrupt a run; they belong to the word before them."""
    word_indices = [
        at for at, word in enumerate(words) if word.isalnum() or any(map(str.isalnum, word))
    ]
    stream = [words[at] for at in word_indices]
    shifted = (stream[shift:] for shift in range(_REPEATED))
    runs = list(map(hash, zip(*shifted, strict=False)))
    if len({*runs}) == len(runs):  # as for nearly all abstracts
        return bytearray(len(words))
    is_repeated = bytearray(len(stream))
    seen: set[int] = set()
    for at, run in enumerate(runs):
        if run in seen:
            is_repeated[at : at + _REPEATED] = b"\1" * _REPEATED
        seen.add(run)
    repeated = bytearray(len(words))
    ends = [*word_indices, len(words)][1:]
    for at, end, flag in zip(word_indices, ends, is_repeated, strict=True):
        repeated[at:end] = bytes([flag]) * (end - at)
    return repeated


def _shorten_runs(words: Sequence[str]) -> list[int]:
    """The words that remain if runs of marks, and runs of one word, are cut off after as many words
    as an n-gram can have: their indices."""
    marks = {word for word in set(words) if not any(map(str.isalnum, word))}
    runs = groupby(enumerate(words), key=lambda pair: "" if pair[1] in marks else pair[1])
    return [at for _, run in runs for at, _ in islice(run, MAX_NGRAM_WORDS)]


def _make_passage(document: StemmedDocument, head: int, body: Sequence[int]) -> StemmedDocument:
    """The first `head` words of a document, as a title, and those of these indices after it, as the
    document writes them."""
    source = document.document
    title = source.title if head else ""
    # The full stop after a title has no characters.
    chosen = [
        head + at for at in body if document.spans[head + at][0] < document.spans[head + at][1]
    ]
    abstract = ""
    spans = list(document.spans[:head])
    for run in _group_consecutive(chosen):
        start, end = document.spans[run[0]][0], document.spans[run[-1]][1]
        abstract += " " * bool(abstract)
        shift = len(abstract) - start + (len(title) + 1 if title else 0)
        spans += [(a + shift, b + shift) for a, b in (document.spans[at] for at in run)]
        abstract += source.text[start:end]
    indices = [*range(head), *chosen]
    return StemmedDocument(
        Document(source.id, title, abstract, tokenised=source.tokenised),
        [document.words[at] for at in indices],
        spans,
        tuple(document.stems[at] for at in indices),
        head,
    )


def _group_consecutive(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Ascending numbers in runs without gaps."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]
