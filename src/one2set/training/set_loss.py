"""The set loss (§3.3): roll out, assign, supervise. Its options are the paper's ablations.

Shapes: B documents, N codes, L words per target, C real cells.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, SetLayout, shifted
from one2set.data.specials import NULL
from one2set.model.decoding import roll_out
from one2set.model.network import Memory
from one2set.model.settrans import SetTrans
from one2set.training.assignment import Assignment, fixed, hungarian, match_scores, random
from one2set.training.likelihood import Loss


class SetLoss(nn.Module):
    """Eqs. 2–5, on batches of its `layout`. In eval mode it is the validation loss.

    A single set (`separate=False`) has one λ, `null_weight_present`.
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
        assignment: Assignment = "hungarian",
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
        """The loss of a batch, which it leaves as it is."""
        memory = self.network.encode(batch)
        order = self.assign(batch, memory)[:, :, None]  # (B, N, 1)
        targets = batch.targets.take_along_dim(order, 1)  # (B, N, L)
        mask = batch.target_mask.take_along_dim(order, 1)
        read = targets if self.teacher_forcing else self._written(batch, memory)
        mixture = self.network.decode(memory, shifted(read), mask)

        _, code, _ = mask.nonzero(as_tuple=True)  # (C,)
        words = targets[mask]
        weight = self.null_weight[code].where(words == NULL, 1.0)
        losses = -mixture.log_likelihood(words) * weight
        parts = {
            name: losses[(code >= part.start) & (code < part.stop)].sum()
            for name, part in self.layout.parts.items()
        }
        total = torch.stack(list(parts.values())).sum()
        return Loss(total, batch.tokens, {name: part.detach() for name, part in parts.items()})

    def assign(self, batch: Batch, memory: Memory) -> Tensor:
        """(B, N) which target each code is trained on."""
        parts = list(self.layout.parts.values())
        match self.assignment:
            case "hungarian":
                with self._undisturbed(batch, memory) as calm:
                    steps = min(self.assign_steps, batch.targets.shape[2])
                    scores = match_scores(self.network, calm, batch.targets, steps=steps)
                return hungarian(scores, parts)
            case "fixed":
                return fixed(len(batch.ids), parts).to(batch.targets.device)
            case "random":
                return random(len(batch.ids), parts).to(batch.targets.device)

    def _written(self, batch: Batch, memory: Memory) -> Tensor:
        """(B, N, L) what the network writes when it is not told the targets."""
        with self._undisturbed(batch, memory) as calm:
            steps = roll_out(self.network, calm, steps=batch.targets.shape[2])
            return torch.stack([step.choice.tokens for step in steps], 1).view_as(batch.targets)

    @contextmanager
    def _undisturbed(self, batch: Batch, memory: Memory) -> Iterator[Memory]:
        """For roll-outs: neither gradient nor dropout. As in the authors' release, what dropout has
        touched is encoded again, unless the encoding is to be shared."""
        training = self.network.training
        self.network.eval()
        try:
            with torch.no_grad():
                touched = training and self.network.dropout > 0
                again = touched and not self.shared_encoding
                yield self.network.encode(batch) if again else memory
        finally:
            self.network.train(training)
