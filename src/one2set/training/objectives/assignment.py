"""Which code is trained on which target (§3.3.1): the K-step cost and the assignment.

An order (B, N) holds the index of each code's target, which never lies outside the code's own part:
a permutation of 0…N−1, until `reassign` gives some targets to further codes. Nothing here changes a
batch.

Shapes: B documents, N codes, M = N targets, L words per target, K steps.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from one2set.data.specials import NULL, PAD, UNK
from one2set.errors import missing_extra
from one2set.model.network import Memory, Network
from one2set.search.greedy import roll_out

Assignment = Literal["hungarian", "fixed", "random"]
Parts = Sequence[slice]  # codes that share their targets: the two halves, or all


@torch.no_grad()
def match_scores(network: Network, memory: Memory, targets: Tensor, *, steps: int) -> Tensor:
    """(B, N, M) minus the cost of Eq. 3: how probable code n finds the first K words of target m,
    given the words that it would write itself.

    Probabilities are added, not their logarithms; `<eos>` and `<unk>` count, ∅ does not.
    """
    documents, codes, _ = targets.shape
    scores = torch.zeros(documents * codes, codes, device=targets.device)
    for step, (_, mixture, _) in enumerate(roll_out(network, memory, steps=steps)):
        words = targets[:, :, step]  # (B, M)
        counted = (words != NULL) & (words != PAD)
        for_codes = words.repeat_interleave(codes, 0)  # (B·N, M)
        scores += mixture.probability(for_codes) * counted.repeat_interleave(codes, 0)
    return scores.view(documents, codes, codes)


def hungarian(scores: Tensor, parts: Parts) -> Tensor:
    """The order with the highest total score (Eq. 2), part by part."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise missing_extra("scipy", extra="train", purpose="Assigning targets") from None

    order = np.empty(scores.shape[:2], dtype=np.int64)
    # A network that is broken is told by its loss, which names the documents, not by scipy.
    for document, matrix in enumerate(scores.nan_to_num().cpu().numpy()):
        for part in parts:
            _, target = linear_sum_assignment(matrix[part, part], maximize=True)
            order[document, part] = target + part.start
    return torch.from_numpy(order).to(scores.device)


def fixed(documents: int, parts: Parts) -> Tensor:
    """Code n gets target n."""
    return torch.arange(parts[-1].stop).repeat(documents, 1)


def random(documents: int, parts: Parts) -> Tensor:
    """A code gets any target of its part."""
    return torch.stack(
        [
            torch.cat([torch.randperm(part.stop - part.start) + part.start for part in parts])
            for _ in range(documents)
        ]
    )


def reassign(
    order: Tensor, guesses: Tensor, targets: Tensor, parts: Parts
) -> tuple[Tensor, Tensor]:
    """What to do with codes that were given ∅ and know a phrase all the same (WR-One2Set, Xie et
    al. 2022): guesses (B, N, K) are the words that codes say when they have to speak.

    Where such a code says the first K words of exactly one phrase, which is of its own part and not
    said by the code that has it, it is taught that phrase too. Where it says those of any other
    phrase, it is taught nothing: ∅ would be wrong. Phrases are compared word by word; one with an
    `<unk>` is not known.

    The order, which may give one target to several codes; and which codes are taught (B, N).
    """
    first = targets[:, None, :, : guesses.shape[2]]  # (B, 1, M, K)
    known = (targets[:, :, 0] != NULL) & (targets != UNK).all(2)  # (B, M)
    same = (first == guesses[:, :, None]) | (first == PAD)
    said = same.all(3) & known[:, None]  # (B, N, M)
    told = said.take_along_dim(order.argsort(1)[:, None], 1).squeeze(1)  # (B, M) by its own code

    part = torch.cat([torch.full((p.stop - p.start,), at) for at, p in enumerate(parts)])
    part = part.to(order.device)
    phrase = said.int().argmax(2)  # (B, N) the first that is said, if any is
    further = (said.sum(2) == 1) & (part[phrase] == part) & ~told.gather(1, phrase)
    silent = targets[:, :, 0].gather(1, order) == NULL
    return phrase.where(silent & further, order), ~(silent & said.any(2) & ~further)
