"""The raw output of a network for one document: every slot, with ∅, duplicates and probabilities.

A set has a slot for each control code; a sequence has one for each phrase, in the order of
generation. Nothing is dropped, merged or ranked here; see `keyphrases`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from one2set.data.control_codes import is_present_code
from one2set.data.specials import NULL, SPECIALS
from one2set.data.text import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from one2set.arrays import Flags

# The order of the phrases of a prediction: by `Slot.score`, or as generated.
Order = Literal["score", "generated"]
_TINY = 1e-30  # log(max(p, _TINY)) is finite
_MAX_BIAS = 80.0  # e^80 still fits into float32, and makes every code predict ∅


class NullBias(NamedTuple):
    """Added to log P(∅) at the first token of a control code, for the codes of present and of
    absent phrases. Negative values give more phrases, positive ones fewer."""

    present: float = 0.0
    absent: float = 0.0


AS_TRAINED = NullBias()
NO_NULL = NullBias(-math.inf, -math.inf)  # every code generates a phrase, never ∅


def predicts_null(word: Any, null: Any, bias: Any) -> "Flags":
    """Whether codes generate ∅: P(∅)·e^bias > P(word), for numbers or for arrays of one shape."""
    import numpy as np  # not at the top: the command line starts without numpy

    factor = np.exp(np.minimum(bias, _MAX_BIAS)).astype(np.float32)
    is_null: Flags = np.asarray(null * factor > word)
    return is_null


@dataclass(frozen=True, slots=True)
class Slot:
    """A generated phrase, or ∅."""

    code: int  # the control code; in a sequence, the number of the phrase
    text: str  # the phrase; "" if the slot is ∅ or empty
    tokens: tuple[str, ...]  # all tokens, including `<eos>`; `<unk>` is already replaced
    probabilities: tuple[float, ...]  # of each token
    ended: bool  # whether the last token is an end mark such as `<eos>`, not a word
    null: float = 0.0  # P(∅) at the first token; 0 in a sequence
    begun: bool = False  # whether the first token is a start mark, not a word

    @property
    def is_null(self) -> bool:
        """Whether it ended in ∅."""
        return self.ended and self.tokens[-1] == SPECIALS[NULL]

    @property
    def word_probabilities(self) -> tuple[float, ...]:
        """The probabilities of its words, without start and end marks."""
        return self.probabilities[self.begun : len(self.probabilities) - self.ended]

    @property
    def score(self) -> float:
        """The mean probability of its words, by which the authors rank phrases; 0 without words."""
        words = self.word_probabilities
        return sum(words) / len(words) if words else 0.0

    @property
    def probability(self) -> float:
        """The probability of exactly these tokens, including the end mark."""
        return math.prod(self.probabilities)

    @property
    def first_probability(self) -> float:
        """The probability of its first token; 0 if it has none."""
        return self.probabilities[0] if self.probabilities else 0.0

    @property
    def log_odds(self) -> float:
        """log P(first token) − log P(∅): the bias at which the code begins to predict ∅."""
        return math.log(max(self.first_probability, _TINY)) - math.log(max(self.null, _TINY))


class TokenStates(NamedTuple):
    """The projected encoder states of the tokens that a network has read."""

    values: "NDArray[Any]"  # (S, ·)
    spans: Sequence[Span]  # (S,) the characters of each token in the document's text


@dataclass(frozen=True, slots=True)
class Prediction:
    """All slots of a document."""

    id: str
    slots: tuple[Slot, ...]
    order: Order
    source_length: int  # tokens of the document
    read_length: int  # how many of them, from the start, the network has read
    states: "TokenStates | None" = field(default=None, compare=False, repr=False)

    @property
    def phrases(self) -> list[Slot]:
        """The slots with a phrase, including duplicates, best first. Ties keep their order."""
        generated = [slot for slot in self.slots if slot.text]
        if self.order == "generated":
            return generated
        return sorted(generated, key=lambda slot: -slot.score)

    def half(self, slot: Slot) -> int:
        """0 for the codes of present phrases, 1 for those of absent ones."""
        return 0 if is_present_code(slot.code, len(self.slots)) else 1


def apply_null_bias(prediction: Prediction, bias: NullBias) -> Prediction:
    """The prediction with this bias on ∅, given one in which no code is ∅ (`NO_NULL`)."""
    slots = tuple(
        Slot(slot.code, "", (SPECIALS[NULL],), (slot.null,), ended=True, null=slot.null)
        if predicts_null(slot.first_probability, slot.null, bias[prediction.half(slot)])
        else slot
        for slot in prediction.slots
    )
    return replace(prediction, slots=slots)
