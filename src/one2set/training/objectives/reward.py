"""The adaptive reward of catSeqTG-2RF1 (Chan et al., 2019), and the steps to which it belongs.

A row `p1 <sep> p2 <peos> a1 <eos>` has two parts, the present and the absent phrases, and each has
a reward: recall until there are as many phrases as gold ones, F1 from there on. A repeated phrase
is a wrong one.

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
    """The reward of a part; gold phrases differ from one another, and None is never right.

    It is F1 with precision at k = max(predicted, gold): where there are fewer phrases than gold
    ones, precision at k is recall.
    """
    right = set(predicted).intersection(gold) - {None}
    most = max(len(predicted), len(gold))
    return 2 * len(right) / (most + len(gold)) if gold else 0.0


def split_present_absent_tokens(row: Tokens) -> tuple[list[Tokens], list[Tokens]]:
    """Its present and its absent phrases: those before and behind the first `<peos>`. Without one,
    all are present; a further one counts as an absent phrase, which is always wrong."""
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
    """Compares phrases by their stems, as evaluation does."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokenised = isinstance(vocabulary, WordVocabulary)

    def __call__(self, rollout: Rollout, batch: Batch) -> Tensor:
        """(B, 2) the rewards of the present and the absent phrases of each document."""
        gold = Rollout.from_targets(batch).rows()
        rewards = [
            [
                adaptive_f1(self._stems(said, oov), self._stems(right, oov))
                for said, right in zip(
                    split_present_absent_tokens(row),
                    split_present_absent_tokens(gold_row),
                    strict=True,
                )
            ]
            for row, gold_row, oov in zip(rollout.rows(), gold, batch.oov, strict=True)
        ]
        return torch.tensor(rewards, device=rollout.tokens.device)

    def _stems(self, phrases: Sequence[Tokens], oov: Tokens) -> list[tuple[str, ...] | None]:
        """Of each phrase; None where it has a special token, which no reader would accept."""
        return [
            None if min(phrase) < len(SPECIALS) else self._stemmed(phrase, oov)
            for phrase in phrases
        ]

    def _stemmed(self, phrase: Tokens, oov: Tokens) -> tuple[str, ...]:
        size = self._vocabulary.size
        text = self._vocabulary.text(t if t < size else oov[t - size] for t in phrase)
        return stem_all(words_of(text, tokenised=self._tokenised))


def compute_returns(advantages: Tensor, rollout: Rollout) -> Tensor:
    """(B, T) the sum of what comes at each step or after it, of advantages (B, 2): that of the
    present phrases comes at the first `<peos>`, that of the absent ones at the last step, which is
    `<eos>` unless there was no room for it. Without `<peos>` both come at the last step.
    """
    mask = rollout.mask
    step = torch.arange(mask.shape[1], device=mask.device)
    is_peos = (rollout.tokens == PEOS) & mask
    last = mask.sum(1) - 1  # (B,)
    peos = torch.where(is_peos.any(1), is_peos.int().argmax(1), last)
    present, absent = advantages[:, :, None].unbind(1)  # (B, 1)
    return present * (step <= peos[:, None]) + absent * mask
