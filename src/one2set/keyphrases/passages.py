"""Passages: a long document in pieces that a network can read, so that nothing is left unread.

Networks are trained on abstracts, and attention takes time that grows with the square of a text's
length. So a long text is read in passages that overlap; what is said of them is merged by
`presentation`. The time grows with the length. What repeats itself is read once: otherwise a text
of marks would take three times as long as prose of its length.
"""

from collections.abc import Sequence
from itertools import groupby, islice

from one2set.data.document import Document
from one2set.extraction.ngrams import LONGEST

PASSAGE = 384  # words; longer than nearly all abstracts, which are read whole
OVERLAP = 64  # words, so that what one passage cuts off another has in context
_LONGEST_TITLE = 64


def passages(document: Document) -> list[Document]:
    """The document itself where it is short; else its passages, each headed by the title. Equal
    passages are one."""
    words = document.words()
    if len(words) <= PASSAGE:
        return [document]
    title = document.title_words()
    if len(title) > _LONGEST_TITLE:
        title = []
    body = _shorten_runs(words[len(title) :])
    room = PASSAGE - len(title)
    starts = range(0, max(len(body) - OVERLAP, 1), room - OVERLAP)
    texts = dict.fromkeys(" ".join(body[start : start + room]) for start in starts)
    # The words of these texts are tokenised: splitting them at spaces gives them back.
    return [Document(document.id, " ".join(title), text, tokenised=True) for text in texts]


def _shorten_runs(words: Sequence[str]) -> list[str]:
    """Cut off runs of marks, and runs of one word, after as many words as an n-gram can have."""
    marks = {word for word in set(words) if not any(map(str.isalnum, word))}
    runs = groupby(words, key=lambda word: "" if word in marks else word)
    return [word for _, run in runs for word in islice(run, LONGEST)]
