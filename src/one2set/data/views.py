"""Documents as one step of training sees them: each is changed when it is asked for."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from one2set.data.example import Example, Examples, Ids
from one2set.data.vocabulary import WordVocabulary
from one2set.text import split_present_absent


@dataclass(frozen=True, slots=True)
class View(Examples):
    """As many documents, in their order."""

    documents: Sequence[Example]
    vocabulary: WordVocabulary

    @abstractmethod
    def seen(self, example: Example, index: int) -> Example:
        """A document, which is the one at `index`, as it is seen."""

    def __len__(self) -> int:
        return len(self.documents)

    def at(self, index: int) -> Example:
        return self.seen(self.documents[index], index)


def spelt(ids: Ids, example: Example, vocabulary: WordVocabulary) -> list[str]:
    """Some of a document's ids as words."""
    return [vocabulary.text([id], unknown=example.unknown) for id in ids.tolist()]


def split_again(example: Example, vocabulary: WordVocabulary) -> Example:
    """The document with its phrases told apart by the source that it has now. Those that are absent
    only since now follow those that were."""
    phrases = [*example.absent, *example.present]
    split = split_present_absent(
        [spelt(phrase, example, vocabulary) for phrase in phrases],
        spelt(example.source, example, vocabulary),
    )
    return replace(
        example,
        present=tuple(phrases[index] for index in split.present),
        absent=tuple(phrases[index] for index in split.absent),
    )
