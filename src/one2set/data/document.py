"""A document: the output of every reader, and the input of everything else.

It contains raw text. Tokens are derived from it, so that offsets always refer to `text`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from one2set.data.text import Span, Tokens, stem_all, tokenise, words_of
from one2set.errors import DataError

# Titles in the KP20k format end in a full stop, so that no phrase spans title and abstract.
_TITLE_END = "."


@dataclass(frozen=True, slots=True)
class Document:
    """A document.

    Attributes:
        id: A name, unique within a file.
        title: The title, or "".
        abstract: The text without its title.
        keyphrases: Gold keyphrases in the order of the author; None if they are not known.
        tokenised: True if the text is preprocessed as in KP20k's text files: its tokens are then
            the parts between spaces.
    """

    id: str
    title: str
    abstract: str
    keyphrases: tuple[str, ...] | None = None
    tokenised: bool = False

    @property
    def text(self) -> str:
        """Title and abstract on separate lines; character spans refer to this text."""
        return f"{self.title}\n{self.abstract}" if self.title else self.abstract

    def expect_keyphrases(self, path: str | None = None) -> None:
        """Raise DataError if the keyphrases are not known. `path` is the file it comes from."""
        if self.keyphrases is None:
            raise DataError(
                f"document {self.id!r} has no keyphrases",
                fix="add a list of keyphrases, [] if there are none, or name their field, "
                "for example --field keyphrases=tags",
                path=path,
            )

    def title_words(self) -> list[str]:
        """The words of the title and a full stop; [] if there is no title."""
        words = words_of(self.title, tokenised=self.tokenised)
        return [*words, _TITLE_END] if words and words[-1] != _TITLE_END else words

    def words(self) -> list[str]:
        """The words of the title and the abstract: a network's input."""
        return self.title_words() + self.abstract_words()

    def abstract_words(self) -> list[str]:
        """The words of the abstract."""
        return words_of(self.abstract, tokenised=self.tokenised)

    def tokens(self) -> Tokens:
        """`words` with their spans in `text`. The full stop after the title has an empty span."""
        title = tokenise(self.title, tokenised=self.tokenised)
        if title.words and title.words[-1] != _TITLE_END:
            title.words.append(_TITLE_END)
            title.spans.append((len(self.title), len(self.title)))
        abstract = tokenise(self.abstract, tokenised=self.tokenised)
        shift = len(self.text) - len(self.abstract)
        moved: list[Span] = [(start + shift, end + shift) for start, end in abstract.spans]
        return Tokens(title.words + abstract.words, title.spans + moved)

    def count_title_words(self, spans: Sequence[Span]) -> int:
        """The number of words of the title, of the spans that `tokens` has returned."""
        return bisect_left(spans, (len(self.text) - len(self.abstract),))

    def phrase_words(self, phrases: Sequence[str] | None = None) -> list[list[str]]:
        """The words of phrases, tokenised like this document; by default of its own keyphrases."""
        chosen = self.keyphrases or () if phrases is None else phrases
        return [words_of(phrase, tokenised=self.tokenised) for phrase in chosen]


@dataclass(frozen=True, slots=True, eq=False)
class StemmedDocument:
    """A document with its words and stems, for code that needs them more than once.

    Attributes:
        document: The document.
        words: Its words, those of the title first.
        spans: The span of each word in `document.text`.
        stems: The stem of each word.
        title_length: The number of words of the title.
    """

    document: Document
    words: Sequence[str]
    spans: Sequence[Span]
    stems: tuple[str, ...]
    title_length: int

    @classmethod
    def of(cls, document: "Document | StemmedDocument") -> "StemmedDocument":
        """Tokenise and stem a document, unless that is done."""
        if isinstance(document, StemmedDocument):
            return document
        words, spans = document.tokens()
        return cls(document, words, spans, stem_all(words), document.count_title_words(spans))

    def find_spans(self, positions: Iterable[int], length: int) -> tuple[Span, ...]:
        """The span in `document.text` of each phrase of `length` words that begins at one of these
        positions."""
        return tuple((self.spans[at][0], self.spans[at + length - 1][1]) for at in positions)
