"""What a network wrote for one document, raw: every slot, with ∅, duplicates and probabilities.

A set has a slot for each control code. A sequence has one for each phrase, in the order in which
they were written. Nothing is dropped, merged or judged here; see `presentation`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from one2set.data.specials import NULL, SPECIALS
from one2set.search.null_bias import NullBias, is_silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How a prediction's phrases are ordered: by `Slot.score`, or as they were written.
Order = Literal["score", "written"]
# The two halves of a set: a half of the codes is for either kind of phrase.
Side = Literal["present", "absent"]
SIDES: tuple[Side, Side] = ("present", "absent")
_TINY = 1e-30  # whose logarithm stands for that of 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A phrase, or what stands in its place."""

    code: int  # the control code; in a sequence, the number of the phrase
    text: str  # the phrase; "" where the slot says ∅ or nothing
    tokens: tuple[str, ...]  # all that was written, such as `<eos>`; `<unk>` is replaced already
    probabilities: tuple[float, ...]  # of each token
    ended: bool  # whether the last token is the mark that ended it, and no word
    null: float = 0.0  # the probability of ∅ as the first token; 0 in a sequence
    begun: bool = False  # whether the first token is the mark that began it, and no word

    @property
    def is_null(self) -> bool:
        """Whether it ended in ∅."""
        return self.ended and self.tokens[-1] == SPECIALS[NULL]

    @property
    def word_probabilities(self) -> tuple[float, ...]:
        """Those of its words, without those of the marks that began and ended it."""
        return self.probabilities[self.begun : len(self.probabilities) - self.ended]

    @property
    def score(self) -> float:
        """By which the authors order phrases: the mean probability of its words, 0 of none."""
        words = self.word_probabilities
        return sum(words) / len(words) if words else 0.0

    @property
    def probability(self) -> float:
        """Of exactly these tokens, the end among them; hence of not saying ∅."""
        return math.prod(self.probabilities)

    @property
    def first_probability(self) -> float:
        """Of its first token, 0 of none."""
        return self.probabilities[0] if self.probabilities else 0.0

    @property
    def log_odds(self) -> float:
        """log P(first token) − log P(∅): the bias at which the code becomes silent."""
        return math.log(max(self.first_probability, _TINY)) - math.log(max(self.null, _TINY))


@dataclass(frozen=True, slots=True)
class Prediction:
    """All slots of a document."""

    id: str
    slots: tuple[Slot, ...]
    order: Order
    source_length: int  # tokens of the document
    read_length: int  # how many of them, from the start, the network has read
    # The projected encoder states of the document's words.  (words, ·)
    word_states: "NDArray[Any] | None" = field(default=None, compare=False, repr=False)

    @property
    def phrases(self) -> list[Slot]:
        """The slots that say a phrase, duplicates included, best first. Of equals the first slot
        comes first."""
        spoken = [slot for slot in self.slots if slot.text]
        if self.order == "written":
            return spoken
        return sorted(spoken, key=lambda slot: -slot.score)

    def half(self, slot: Slot) -> int:
        """0 for a code of present phrases, which are the first half, 1 for one of absent ones."""
        return int(slot.code >= len(self.slots) // 2)


def apply_null_bias(prediction: Prediction, bias: NullBias) -> Prediction:
    """The prediction with this bias on ∅, given one in which no code is ∅ (`NO_NULL`)."""
    slots = tuple(
        Slot(slot.code, "", (SPECIALS[NULL],), (slot.null,), ended=True, null=slot.null)
        if is_silent(slot.first_probability, slot.null, bias[prediction.half(slot)])
        else slot
        for slot in prediction.slots
    )
    return replace(prediction, slots=slots)
