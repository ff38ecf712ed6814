"""The adaptive reward of catSeqTG-2RF1 (Chan et al., 2019), and its return at each step.

A sequence `p1 <sep> p2 <peos> a1 <eos>` has two parts, the present and the absent phrases. The
reward of a part is its recall while it has fewer phrases than the gold, otherwise its F1. A
repeated phrase is wrong.

Shapes: B documents, T steps.
"""

from collections.abc import Hashable, Sequence
from itertools import groupby

import torch
from torch import Tensor

from one2set.data.batch import Batch
from one2set.data.specials import MARKS, PEOS, SPECIALS
from one2set.data.vocabulary import Vocabulary, WordVocabulary
from one2set.text import stem_all, words_of
from one2set.training.objectives.rollout import Rollout

Tokens = Sequence[int]


def adaptive_f1(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> float:
    """The reward of a part. Gold phrases are distinct, and None is never correct.

    It is F1 with precision at k = max(#predicted, #gold): with fewer predicted than gold phrases,
    precision at k equals recall.
    """
    right = set(predicted).intersection(gold) - {None}
    most = max(len(predicted), len(gold))
    return 2 * len(right) / (most + len(gold)) if gold else 0.0


def split_present_absent_tokens(row: Tokens) -> tuple[list[Tokens], list[Tokens]]:
    """Split a sequence at the first `<peos>` into present and absent phrases.

    Without `<peos>`, all are present. Each further `<peos>` counts as an absent phrase, which is
    always wrong.
    """
    cut = row.index(PEOS) if PEOS in row else len(row)
    return _phrases(row[:cut]), _phrases(row[cut + 1 :])


def _phrases(row: Tokens) -> list[Tokens]:
    found: list[Tokens] = []
    for mark, run in groupby(row, key=lambda token: token if token in MARKS else None):
        if mark is None:
            found.append(tuple(run))
        elif mark == PEOS:
            found += [(PEOS,) for _ in run]
    return found


class AdaptiveReward:
    """The adaptive reward; phrases are compared by their stems, as in evaluation."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokenised = isinstance(vocabulary, WordVocabulary)

    def __call__(self, rollout: Rollout, batch: Batch) -> Tensor:
        """(B, 2) the rewards of the present and the absent phrases of each document."""
        gold = Rollout.from_targets(batch).rows()
        rewards = [
            [
                adaptive_f1(self._stems(predicted, oov), self._stems(correct, oov))
                for predicted, correct in zip(
                    split_present_absent_tokens(row),
                    split_present_absent_tokens(gold_row),
                    strict=True,
                )
            ]
            for row, gold_row, oov in zip(rollout.rows(), gold, batch.oov, strict=True)
        ]
        return torch.tensor(rewards, device=rollout.tokens.device)

    def _stems(self, phrases: Sequence[Tokens], oov: Tokens) -> list[tuple[str, ...] | None]:
        """The stems of each phrase; None if it has a special token, which is never correct."""
        return [
            None if min(phrase) < len(SPECIALS) else self._stemmed(phrase, oov)
            for phrase in phrases
        ]

    def _stemmed(self, phrase: Tokens, oov: Tokens) -> tuple[str, ...]:
        size = self._vocabulary.size
        text = self._vocabulary.text(t if t < size else oov[t - size] for t in phrase)
        return stem_all(words_of(text, tokenised=self._tokenised))


def compute_returns(advantages: Tensor, rollout: Rollout) -> Tensor:
    """(B, T) the return of each step: the sum of the advantages (B, 2) received from then on.

    The reward of the present phrases is received at the first `<peos>`, that of the absent ones at
    the last step (`<eos>`, unless the sequence was cut off). Without `<peos>`, both are received at
    the last step.
    """
    mask = rollout.mask
    step = torch.arange(mask.shape[1], device=mask.device)
    is_peos = (rollout.tokens == PEOS) & mask
    last = mask.sum(1) - 1  # (B,)
    peos = torch.where(is_peos.any(1), is_peos.int().argmax(1), last)
    present, absent = advantages[:, :, None].unbind(1)  # (B, 1)
    return present * (step <= peos[:, None]) + absent * mask
