"""The set loss of One2Set (§3.3).

1. Encode the documents.
2. Roll out: each control code generates K words greedily, without gradient.
3. Assign each code a target, a phrase or ∅, by the probability of its words (Eqs. 2 and 3).
4. Supervise: the likelihood of the assigned targets with teacher forcing (Eqs. 4 and 5).

The options are the paper's ablations.

Shapes: B documents, N codes, L words per target, C target words without padding.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, SetLayout, shift_right
from one2set.data.specials import NULL
from one2set.model.network import Memory
from one2set.model.settrans import SetTrans
from one2set.model.transformer import TransformerMemory
from one2set.prediction.greedy import roll_out
from one2set.training.objectives.assignment import (
    AssignmentMethod,
    fixed,
    hungarian,
    match_scores,
    random,
)
from one2set.training.objectives.likelihood import Loss


class SetLoss(nn.Module):
    """Eqs. 2–5, on batches of its `layout`. In eval mode, it is the validation loss.

    With `separate=False` there is a single set of codes, whose λ is `null_weight_present`.
    """

    null_weight: Tensor  # (N,) λ of each code

    def __init__(
        self,
        network: SetTrans,
        *,
        assign_steps: int = 2,
        null_weight_present: float = 0.2,
        null_weight_absent: float = 0.1,
        shared_encoding: bool = False,
        phrase_length: int = 6,
        separate: bool = True,
        assignment: AssignmentMethod = "hungarian",
        teacher_forcing: bool = True,
    ) -> None:
        super().__init__()
        self.network = network
        self.assign_steps = assign_steps
        self.shared_encoding = shared_encoding
        self.assignment = assignment
        self.teacher_forcing = teacher_forcing
        self.layout = SetLayout(network.rows, phrase_length, separate)
        null_weight = torch.full((network.rows,), null_weight_present)
        if "absent" in self.layout.parts:
            null_weight[self.layout.parts["absent"]] = null_weight_absent
        self.register_buffer("null_weight", null_weight, persistent=False)

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch. The batch is not changed."""
        return self.compute(batch, self.network.encode(batch))

    def compute(self, batch: Batch, memory: TransformerMemory) -> Loss:
        """The loss of a batch, given its encoding."""
        with self._evaluation_mode(batch, memory) as evaluation_memory:
            order = self.assign(batch, evaluation_memory)
            targets = batch.targets.take_along_dim(order[:, :, None], 1)  # (B, N, L)
            target_mask = batch.target_mask.take_along_dim(order[:, :, None], 1)
            inputs = targets
            if not self.teacher_forcing:
                inputs = self._roll_out_greedily(evaluation_memory, steps=targets.shape[2])
        return self._supervise(memory, inputs, targets, target_mask)

    def _supervise(
        self, memory: TransformerMemory, inputs: Tensor, targets: Tensor, target_mask: Tensor
    ) -> Loss:
        """Eqs. 4 and 5: the weighted negative log-likelihood of the assigned targets (B, N, L),
        given the words before each."""
        mixture = self.network.decode(memory, shift_right(inputs), target_mask)
        _, code, _ = target_mask.nonzero(as_tuple=True)  # (C,)
        words = targets[target_mask]
        weight = self.null_weight[code].where(words == NULL, 1.0)
        losses = -mixture.log_likelihood(words) * weight
        parts = {
            name: losses[(code >= part.start) & (code < part.stop)].sum()
            for name, part in self.layout.parts.items()
        }
        total = torch.stack(list(parts.values())).sum()
        return Loss(total, len(words), {name: part.detach() for name, part in parts.items()})

    def assign(self, batch: Batch, memory: Memory) -> Tensor:
        """The index of each code's target, (B, N)."""
        parts, device = list(self.layout.parts.values()), batch.targets.device
        match self.assignment:
            case "hungarian":
                steps = min(self.assign_steps, batch.targets.shape[2])
                return hungarian(
                    match_scores(self.network, memory, batch.targets, steps=steps), parts
                )
            case "fixed":
                return fixed(len(batch.ids), parts).to(device)
            case "random":
                return random(len(batch.ids), parts).to(device)

    def _roll_out_greedily(self, memory: Memory, *, steps: int) -> Tensor:
        """(B, N, steps) the words that each code generates from its own previous words."""
        walk = roll_out(self.network, memory, steps=steps)
        tokens = torch.stack([step.choice.tokens for step in walk], 1)  # (B·N, steps)
        return tokens.view(-1, self.network.rows, steps)

    @contextmanager
    def _evaluation_mode(self, batch: Batch, memory: Memory) -> Iterator[Memory]:
        """Within the block there is no gradient and no dropout. Yields the memory for roll-outs.

        As in the authors' release, a document encoded with dropout is encoded again without it,
        unless `shared_encoding` is set or nothing is rolled out.
        """
        training = self.network.training
        rolls_out = self.assignment == "hungarian" or not self.teacher_forcing
        has_dropout = training and self.network.dropout > 0
        encode_again = rolls_out and has_dropout and not self.shared_encoding
        self.network.eval()
        try:
            with torch.no_grad():
                yield self.network.encode(batch) if encode_again else memory
        finally:
            self.network.train(training)
