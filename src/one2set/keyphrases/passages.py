"""Passages: a long document in pieces that a network can read, so that nothing is left unread.

Networks are trained on abstracts, and attention takes time that grows with the square of a text's
length. So a long text is read in passages that overlap; `scoring` combines what is found in them.
The time grows with the length. What repeats itself is read once: it tells nothing new, and a text
of marks would take three times as long as prose of its length.
"""

from collections.abc import Sequence
from itertools import accumulate, groupby, islice

from one2set.data.document import Document, StemmedDocument
from one2set.extraction.ngrams import LONGEST
from one2set.text import Span

PASSAGE = 384  # words; longer than nearly all abstracts, which are read whole
OVERLAP = 64  # words, so that what one passage cuts off another has in context
_LONGEST_TITLE = 64
_REPEATED = 8  # words: a run that an abstract hardly ever has twice


def passages(document: StemmedDocument) -> list[StemmedDocument]:
    """The document itself where it is short; else its passages, each headed by the title. Runs of
    words that occur again, as in a text that was pasted twice, are left out, and equal passages are
    one."""
    title = document.title_length
    repeated = _find_repeats(document.words)
    if len(document.words) <= PASSAGE and not any(repeated[title:]):
        return [document]
    head = title if title <= _LONGEST_TITLE else 0
    kept = [at for at in range(head, len(repeated)) if not repeated[at]]
    shortened = _shorten_runs([document.words[at] for at in kept])
    body = [kept[at] - head for at in shortened]
    room = PASSAGE - head
    starts = range(0, max(len(body) - OVERLAP, 1), room - OVERLAP)
    found = [_passage(document, head, body[start : start + room]) for start in starts]
    return list({one.document.abstract: one for one in found}.values())


def _find_repeats(words: Sequence[str]) -> bytearray:
    """For each word, whether it is in a run of `_REPEATED` words that has occurred before. Marks do
    not interrupt a run; they belong to the word before them."""
    spoken = [at for at, word in enumerate(words) if any(map(str.isalnum, word))]
    stream = [words[at] for at in spoken]
    again = bytearray(len(stream))
    seen: set[int] = set()
    for at in range(len(stream) - _REPEATED + 1):
        run = hash(tuple(stream[at : at + _REPEATED]))
        if run in seen:
            again[at : at + _REPEATED] = b"\1" * _REPEATED
        seen.add(run)
    repeated = bytearray(len(words))
    ends = [*spoken, len(words)][1:]
    for at, end, flag in zip(spoken, ends, again, strict=True):
        repeated[at:end] = bytes([flag]) * (end - at)
    return repeated


def _shorten_runs(words: Sequence[str]) -> list[int]:
    """The words that remain if runs of marks, and runs of one word, are cut off after as many words
    as an n-gram can have: their indices."""
    marks = {word for word in set(words) if not any(map(str.isalnum, word))}
    runs = groupby(enumerate(words), key=lambda pair: "" if pair[1] in marks else pair[1])
    return [at for _, run in runs for at, _ in islice(run, LONGEST)]


def _passage(document: StemmedDocument, head: int, body: Sequence[int]) -> StemmedDocument:
    """The first `head` words of a document, as a title, and those of these indices after it."""
    chosen = [*range(head), *(head + at for at in body)]
    words = [document.words[at] for at in chosen]
    text = Document(
        document.document.id,
        " ".join(words[:head]),
        " ".join(words[head:]),
        tokenised=True,  # these words are; splitting them at spaces gives them back
    )
    stems = tuple(document.stems[at] for at in chosen)
    return StemmedDocument(text, words, _spans(words), stems, head)


def _spans(words: Sequence[str]) -> list[Span]:
    """The spans of words, one character apart, as spaces and the end of a title are."""
    ends = accumulate(words, lambda end, word: end + 1 + len(word), initial=-1)
    return [(end - len(word), end) for word, end in zip(words, islice(ends, 1, None), strict=True)]
