"""Target assignment (§3.3.1): which control code is trained on which target.

An assignment is a tensor `order` (B, N): the index of each code's target. A code and its target are
always in the same part (present or absent), and `order` is a permutation of 0…N−1. Batches are not
changed.

Shapes: B documents, N codes, M = N targets, L words per target, K steps.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from one2set.data.specials import NULL, PAD
from one2set.errors import missing_extra
from one2set.model.network import Memory, Network
from one2set.prediction.greedy import roll_out

AssignmentMethod = Literal["hungarian", "fixed", "random"]
Parts = Sequence[slice]  # the codes of each set of targets: present and absent, or all


@torch.no_grad()
def match_scores(network: Network, memory: Memory, targets: Tensor, *, steps: int) -> Tensor:
    """(B, N, M) the matching scores, minus the cost of Eq. 3: the sum over the first K steps of the
    probability that code n gives to the words of target m, while it generates greedily.

    Probabilities are added, not their logarithms. `<eos>` and `<unk>` count; ∅ and padding do not.
    """
    documents, codes, _ = targets.shape
    scores = torch.zeros(documents, codes, codes, device=targets.device)
    for number, step in enumerate(roll_out(network, memory, steps=steps)):
        words = targets[:, :, number]  # (B, M)
        counted = (words != NULL) & (words != PAD)
        probability = step.mixture.probability_by_document(words)  # (B·N, M)
        scores += probability.view_as(scores) * counted[:, None]
    return scores


def hungarian(scores: Tensor, parts: Parts) -> Tensor:
    """The assignment with the highest total score (Eq. 2), for each part separately."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise missing_extra("scipy", extra="train", purpose="Assigning targets") from None

    order = np.empty(scores.shape[:2], dtype=np.int64)
    # scipy rejects NaN. The loss will report it, and names the documents.
    for document, matrix in enumerate(scores.nan_to_num().cpu().numpy()):
        for part in parts:
            _, target = linear_sum_assignment(matrix[part, part], maximize=True)
            order[document, part] = target + part.start
    return torch.from_numpy(order).to(scores.device)


def fixed(documents: int, parts: Parts) -> Tensor:
    """Assign target n to code n."""
    return torch.arange(parts[-1].stop).repeat(documents, 1)


def random(documents: int, parts: Parts) -> Tensor:
    """Assign the targets of each part to its codes at random."""
    return torch.stack(
        [
            torch.cat([torch.randperm(part.stop - part.start) + part.start for part in parts])
            for _ in range(documents)
        ]
    )
