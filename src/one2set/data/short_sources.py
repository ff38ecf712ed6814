"""Short sources first: a network that begins to learn reads the first words of each document only,
which cost less and hold most of what is to be found.

A phrase that stands behind the cut alone is an absent one. What a network cannot see it can only
generate; were the phrase still a target of the codes that say what is present, they would learn to
guess. And left out, it would be taught as ∅, though it is right.
"""

from dataclasses import dataclass, replace

from one2set.data.example import Example
from one2set.data.views import View, split_again


@dataclass(frozen=True, slots=True)
class Shortened(View):
    """Documents of which no more than so many words are read."""

    words: int

    def seen(self, example: Example, index: int) -> Example:
        if len(example.source) <= self.words:
            return example
        cut = replace(
            example,
            source=example.source[: self.words],
            title_length=min(example.title_length, self.words),
        )
        return split_again(cut, self.vocabulary)
