"""A document: what every reader yields and everything else takes.

It holds raw text. The tokenised forms are derived, so that offsets always point into `text`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from one2set.text import Span, Tokens, tokenise, words_of

# The field's title ends in a full stop; it keeps phrases from running across into the abstract.
_TITLE_END = "."


@dataclass(frozen=True, slots=True)
class Document:
    """Title, abstract and, where they are known, the keyphrases in author order.

    `keyphrases` is None for a document to predict for. `tokenised` says that the text is in the
    field's form (see `text.looks_tokenised`), which is split at spaces and otherwise left alone.
    """

    id: str
    title: str
    abstract: str
    keyphrases: tuple[str, ...] | None = None
    tokenised: bool = False

    @property
    def text(self) -> str:
        """Title and abstract on lines of their own: what character spans point into."""
        return f"{self.title}\n{self.abstract}" if self.title else self.abstract

    def title_words(self) -> list[str]:
        """The title's words, closed by a full stop; none where there is no title."""
        words = words_of(self.title, tokenised=self.tokenised)
        return [*words, _TITLE_END] if words and words[-1] != _TITLE_END else words

    def words(self) -> list[str]:
        """The source: the title's words and the abstract's."""
        return self.title_words() + words_of(self.abstract, tokenised=self.tokenised)

    def tokens(self) -> Tokens:
        """`words`, with spans into `text`. The full stop that closes a title has an empty span."""
        title = tokenise(self.title, tokenised=self.tokenised)
        if title.words and title.words[-1] != _TITLE_END:
            title.words.append(_TITLE_END)
            title.spans.append((len(self.title), len(self.title)))
        abstract = tokenise(self.abstract, tokenised=self.tokenised)
        shift = len(self.text) - len(self.abstract)
        moved: list[Span] = [(start + shift, end + shift) for start, end in abstract.spans]
        return Tokens(title.words + abstract.words, title.spans + moved)

    def phrase_words(self, phrases: Sequence[str] | None = None) -> list[list[str]]:
        """The words of phrases, of this document's own by default, read in its form."""
        chosen = self.keyphrases or () if phrases is None else phrases
        return [words_of(phrase, tokenised=self.tokenised) for phrase in chosen]
