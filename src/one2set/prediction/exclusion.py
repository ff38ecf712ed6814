"""Exclusive search, ExHiRD's constraint on greedy decoding: a phrase must not begin with the first
word of any of the K phrases before it. It works with every network that generates sequences.

Which words are allowed depends only on the tokens of the row so far. At least one word is always
allowed; the most probable allowed word is chosen, with its probability unchanged.

Shapes: R rows, t tokens generated so far, M words forbidden to each row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from one2set.data.specials import ABSENT_START, EOS, PEOS, PRESENT_START, SEP
from one2set.model.pointer import ChosenTokens, Mixture

ALL = -1  # window: all earlier phrases
MAX_PHRASES, MAX_WORDS = 20, 5  # phrases of a nested row, words of a phrase
NESTED_STEPS = MAX_PHRASES * (MAX_WORDS + 2) + 1  # each with its kind and `<sep>`, then `<eos>`
_NONE = -1  # no word
_REQUIRED = (  # one of them must follow
    (_NONE, _NONE, _NONE),  # inside a phrase: any word
    (PRESENT_START, ABSENT_START, _NONE),  # at the start
    (PRESENT_START, ABSENT_START, EOS),  # after a phrase
    (EOS, _NONE, _NONE),  # after the last phrase
    (SEP, _NONE, _NONE),  # after the last word of a phrase
)


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Chooses the next words of sequences, `p1 <sep> p2 <eos>`."""

    window: int  # K; 0 forbids nothing, `ALL` includes every earlier phrase

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        """The next tokens (R,) of rows with tokens `written` (R, t)."""
        is_end = (written == SEP) | (written == PEOS)
        return mixture.greedy(_first_words(written, is_end, self.window, position=0))


@dataclass(frozen=True, slots=True)
class ExclusiveNested:
    """Chooses the next words of nested rows, `<p> p1 <sep> <a> a1 <sep> <eos>`.

    They are always well formed: a phrase is its kind, up to five words and `<sep>`, and there are
    one to twenty of them before `<eos>`.
    """

    window: int  # K

    def __call__(self, rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        """The next tokens (R,) of rows with tokens `written` (R, t)."""
        is_end = written == SEP
        position, number = _positions(is_end)[:, -1], is_end.sum(1)
        first_words = _first_words(written, is_end, self.window, position=1)
        misplaced = written.new_tensor([PRESENT_START, ABSENT_START, EOS]).expand(len(written), -1)
        free = mixture.greedy(torch.cat([first_words, misplaced], dim=1))

        required = _required_words(position, number)
        probability = mixture.probability(required.clamp_min(0)).masked_fill(
            required == _NONE, -1.0
        )
        best = probability.argmax(1, keepdim=True)
        is_required = required[:, 0] != _NONE
        return ChosenTokens(
            required.gather(1, best).squeeze(1).where(is_required, free.tokens),
            probability.gather(1, best).squeeze(1).where(is_required, free.probability),
        )


def _required_words(position: Tensor, number: Tensor) -> Tensor:
    """(R, 3) the words of which one must follow, given the `position` of the next word in its
    phrase and the `number` of the phrase; `_NONE` where any word may follow."""
    at_start = 1 + (number > 0).long() + (number == MAX_PHRASES).long()
    case = at_start.where(position == 0, 4 * (position > MAX_WORDS).long())
    return position.new_tensor(_REQUIRED)[case]


def _positions(is_end: Tensor) -> Tensor:
    """(R, t + 1) how many words of its phrase precede each word and the next one, where
    `is_end` (R, t) are the words that end a phrase."""
    index = torch.arange(is_end.shape[1] + 1, device=is_end.device)
    begins = pad(is_end, (1, 0), value=True)
    return index - index.where(begins, 0).cummax(1).values


def _first_words(written: Tensor, is_end: Tensor, window: int, *, position: int) -> Tensor:
    """(R, M) the first words of the last `window` phrases, for rows whose next word is the first of
    a phrase; `_NONE` elsewhere. `position` is the index of the first word in its phrase: 1 if a
    start mark precedes it. Phrases without words do not count."""
    positions = _positions(is_end)
    first = (positions[:, :-1] == position) & ~is_end  # (R, t)
    age = first.flip(1).cumsum(1).flip(1)  # 1 for the last first word, 2 for the one before
    near = first if window == ALL else first & (age <= window)
    near = near & (positions[:, -1:] == position)
    count = int(near.sum(1).max())
    index = near.int().topk(count).indices  # (R, M)
    return written.gather(1, index).where(near.gather(1, index), _NONE)
