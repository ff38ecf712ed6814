"""What a network wrote for one document, raw: every slot, with ∅, duplicates and probabilities.

A set has a slot for each control code. A sequence has one for each phrase, in the order in which
they were written. Nothing is dropped, merged or judged here; see `presentation`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from one2set.data.specials import NULL, SPECIALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How a prediction's phrases are ordered: by `Slot.score`, or as they were written.
Order = Literal["score", "written"]
# The two halves of a set: a half of the codes is for either kind of phrase.
Side = Literal["present", "absent"]
SIDES: tuple[Side, Side] = ("present", "absent")
_TINY = 1e-30  # whose logarithm stands for that of 0


class NullBias(NamedTuple):
    """What is added to log P(∅) where a control code begins, for the codes of present and of absent
    phrases. Below 0 more is said, above 0 less."""

    present: float = 0.0
    absent: float = 0.0


AS_TRAINED = NullBias()
NO_NULL = NullBias(-math.inf, -math.inf)  # every code generates a phrase, never ∅


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
    def odds(self) -> float:
        """log of P(its first token) / P(∅): a code speaks where this is not below its bias."""
        first = self.probabilities[0] if self.probabilities else 0.0
        return math.log(max(first, _TINY)) - math.log(max(self.null, _TINY))


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
    """The prediction as with this bias on ∅: codes whose log odds are below their bias say ∅."""
    slots = tuple(
        slot
        if slot.odds >= bias[prediction.half(slot)]
        else Slot(slot.code, "", (SPECIALS[NULL],), (slot.null,), ended=True, null=slot.null)
        for slot in prediction.slots
    )
    return replace(prediction, slots=slots)
