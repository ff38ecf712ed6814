"""Which code is trained on which target (§3.3.1): the K-step cost and the assignment.

An order (B, N) holds the index of each code's target: a permutation of 0…N−1 in which a code's
target never lies outside the code's own part. Nothing here changes a batch.

Shapes: B documents, N codes, M = N targets, L words per target, K steps.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from one2set.data.specials import NULL, PAD
from one2set.errors import missing_extra
from one2set.model.decoding import roll_out
from one2set.model.network import Memory, Network

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
