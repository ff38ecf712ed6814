"""Passages: a long document in pieces that a network can read, so that nothing is left unread.

Networks are trained on abstracts, and attention takes time that grows with the square of a text's
length. So a long text is read in passages that overlap; what is said of them is merged by
`presentation`. The time grows with the length.
"""

from one2set.data.document import Document

PASSAGE = 384  # words; longer than nearly all abstracts, which are read whole
OVERLAP = 64  # words, so that what one passage cuts off another has in context
_LONGEST_TITLE = 64


def passages(document: Document) -> list[Document]:
    """The document itself where it is short; else its passages, each headed by the title."""
    words = document.words()
    if len(words) <= PASSAGE:
        return [document]
    title = document.title_words()
    if len(title) > _LONGEST_TITLE:
        title = []
    body = words[len(title) :]
    room = PASSAGE - len(title)
    starts = range(0, max(len(body) - OVERLAP, 1), room - OVERLAP)
    return [
        Document(
            document.id,
            " ".join(title),
            " ".join(body[start : start + room]),
            tokenised=True,  # these words are; splitting them at spaces gives them back
        )
        for start in starts
    ]
