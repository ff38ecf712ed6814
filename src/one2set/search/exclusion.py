"""Exclusive search, ExHiRD's rule of greedy decoding: a phrase must not begin with the word with
which one of the K phrases before it began. It serves every network that writes phrases in a row.

What is allowed depends on nothing but what a row has written. An allowed word always exists, and of
all allowed words the most probable one is written, with the network's own probability of it.

Shapes: R rows, t words that they have written, M words forbidden to each.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from one2set.data.specials import ABSENT_START, EOS, PEOS, PRESENT_START, SEP
from one2set.model.pointer import Choice, Mixture

ALL = -1  # the window that holds every phrase before
MAX_PHRASES, MAX_WORDS = 20, 5  # of a nested row, and of each of its phrases
NESTED_STEPS = MAX_PHRASES * (MAX_WORDS + 2) + 1  # each with its kind and `<sep>`, then `<eos>`
_NONE = -1  # stands for no word
_BOUND = (  # what alone may follow
    (_NONE, _NONE, _NONE),  # inside a phrase: nothing is bound
    (PRESENT_START, ABSENT_START, _NONE),  # at the start
    (PRESENT_START, ABSENT_START, EOS),  # behind a phrase
    (EOS, _NONE, _NONE),  # behind the last phrase
    (SEP, _NONE, _NONE),  # behind the last word
)


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Chooses the next words of sequences, `p1 <sep> p2 <eos>`."""

    window: int  # K; 0 forbids nothing, `ALL` looks back on all phrases

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> Choice:
        """(R,), for rows that have written (R, t)."""
        ends = (written == SEP) | (written == PEOS)
        return mixture.greedy(_first_words(written, ends, self.window, place=0))


@dataclass(frozen=True, slots=True)
class ExclusiveNested:
    """Chooses the next words of nested rows, `<p> p1 <sep> <a> a1 <sep> <eos>`.

    They are always well formed: a phrase is its kind, up to five words and `<sep>`, and there are
    one to twenty of them before `<eos>`.
    """

    window: int  # K

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> Choice:
        """(R,), for rows that have written (R, t)."""
        ends = written == SEP
        place, number = _places(ends)[:, -1], ends.sum(1)
        first_words = _first_words(written, ends, self.window, place=1)
        misplaced = written.new_tensor([PRESENT_START, ABSENT_START, EOS]).expand(len(written), -1)
        free = mixture.greedy(torch.cat([first_words, misplaced], dim=1))

        bound = _bound_words(place, number)
        probability = mixture.probability(bound.clamp_min(0)).masked_fill(bound == _NONE, -1.0)
        best = probability.argmax(1, keepdim=True)
        is_bound = bound[:, 0] != _NONE
        return Choice(
            bound.gather(1, best).squeeze(1).where(is_bound, free.tokens),
            probability.gather(1, best).squeeze(1).where(is_bound, free.probability),
        )


def _bound_words(place: Tensor, number: Tensor) -> Tensor:
    """(R, 3) the words of which one must follow, as the next word has a `place` in the phrase of a
    `number`; nothing where any word may."""
    at_begin = 1 + (number > 0).long() + (number == MAX_PHRASES).long()
    case = at_begin.where(place == 0, 4 * (place > MAX_WORDS).long())
    return place.new_tensor(_BOUND)[case]


def _places(ends: Tensor) -> Tensor:
    """(R, t + 1) how many words of its phrase stand before each word and before the next one, where
    `ends` (R, t) are the words that end a phrase."""
    index = torch.arange(ends.shape[1] + 1, device=ends.device)
    begins = pad(ends, (1, 0), value=True)
    return index - index.where(begins, 0).cummax(1).values


def _first_words(written: Tensor, ends: Tensor, window: int, *, place: int) -> Tensor:
    """(R, M) with what the last phrases of a `window` began, where the next word begins one; the
    first word of a phrase has a `place` in it. A phrase without words does not count."""
    places = _places(ends)
    first = (places[:, :-1] == place) & ~ends  # (R, t)
    age = first.flip(1).cumsum(1).flip(1)  # 1 for the last first word, 2 for the one before
    near = first if window == ALL else first & (age <= window)
    near = near & (places[:, -1:] == place)
    count = int(near.sum(1).max())
    index = near.int().topk(count).indices  # (R, M)
    return written.gather(1, index).where(near.gather(1, index), _NONE)
