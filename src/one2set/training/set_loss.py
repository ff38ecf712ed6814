"""The set loss (§3.3): roll out, assign, supervise. Its options are the paper's ablations.

Groups of codes (Group DETR, Chen et al. 2023) are not the paper's: in training, further groups of N
codes read the same encoding, each with its own assignment and loss, so that a document that is read
once teaches several times. Groups do not see one another, and only the first one is the network's.

Shapes: B documents, N codes, L words per target, C real cells.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from operator import add
from typing import NamedTuple

import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, SetLayout, shifted
from one2set.data.specials import NULL
from one2set.errors import ConfigError
from one2set.model.decoding import Choose, anything_but_null, most_probable, roll_out
from one2set.model.memory import TransformerMemory
from one2set.model.network import Memory
from one2set.model.settrans import SetTrans, new_codes
from one2set.training.assignment import (
    Assignment,
    fixed,
    hungarian,
    match_scores,
    random,
    reassign,
)
from one2set.training.likelihood import Loss

Calm = Callable[[], Memory]  # what the network reads undisturbed, once it is asked for


class _Lesson(NamedTuple):
    """What a group of codes is taught."""

    codes: nn.Embedding | None  # without any, all rows are the same
    targets: Tensor  # (B, N, L), each code's own
    mask: Tensor  # (B, N, L), True = a cell to predict
    taught: Tensor  # (B, N), whether a code is taught at all
    read: Tensor  # (B, N, L), the words that it reads meanwhile


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
        reassign: bool = False,
        code_groups: int = 1,
        phrase_length: int = 6,
        separate: bool = True,
        assignment: Assignment = "hungarian",
        teacher_forcing: bool = True,
    ) -> None:
        super().__init__()
        self.network = network
        self.assign_steps = assign_steps
        self.shared_encoding = shared_encoding
        self.reassign = reassign
        self.assignment = assignment
        self.teacher_forcing = teacher_forcing
        self.layout = SetLayout(network.rows, phrase_length, separate)
        null_weight = torch.full((network.rows,), null_weight_present)
        if "absent" in self.layout.parts:
            null_weight[self.layout.parts["absent"]] = null_weight_absent
        self.register_buffer("null_weight", null_weight, persistent=False)
        if code_groups > 1 and network.codes is None:
            raise ConfigError(
                f"loss.code_groups is {code_groups}, and this network has no control codes, by "
                "which groups would differ; set it to 1"
            )
        # Theirs and not the network's, which is saved as if they had never been.
        self.further_codes = nn.ModuleList(
            new_codes(network.rows, network.arguments["width"]) for _ in range(code_groups - 1)
        )

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch, which it leaves as it is; in training, that of all groups."""
        memory = self.network.encode(batch)
        groups = [self.network.codes, *(self.further_codes if self.training else ())]
        with self._undisturbed(batch, memory) as calm:
            lessons = [self._prepare(batch, calm, codes) for codes in groups]
        return reduce(add, [self._teach(memory, lesson) for lesson in lessons])

    def _prepare(self, batch: Batch, calm: Calm, codes: nn.Embedding | None) -> _Lesson:
        """Roll out and assign."""
        with self.network.speaking_by(codes):
            order, taught = self.assign(batch, calm)
            targets = batch.targets.take_along_dim(order[:, :, None], 1)  # (B, N, L)
            mask = batch.target_mask.take_along_dim(order[:, :, None], 1)
            read = targets if self.teacher_forcing else self._written(calm, targets.shape[2])
        return _Lesson(codes, targets, mask, taught, read)

    def _teach(self, memory: TransformerMemory, lesson: _Lesson) -> Loss:
        """Supervise."""
        codes, targets, mask, taught, read = lesson
        with self.network.speaking_by(codes):
            mixture = self.network.decode(memory, shifted(read), mask)
        document, code, _ = mask.nonzero(as_tuple=True)  # (C,)
        words = targets[mask]
        weight = self.null_weight[code].where(words == NULL, 1.0) * taught[document, code]
        losses = -mixture.log_likelihood(words) * weight
        parts = {
            name: losses[(code >= part.start) & (code < part.stop)].sum()
            for name, part in self.layout.parts.items()
        }
        total = torch.stack(list(parts.values())).sum()
        return Loss(total, len(words), {name: part.detach() for name, part in parts.items()})

    def assign(self, batch: Batch, calm: Calm) -> tuple[Tensor, Tensor]:
        """Both (B, N): which target each code is trained on, and whether it is."""
        parts, device = list(self.layout.parts.values()), batch.targets.device
        steps = min(self.assign_steps, batch.targets.shape[2])
        match self.assignment:
            case "hungarian":
                order = hungarian(
                    match_scores(self.network, calm(), batch.targets, steps=steps), parts
                )
            case "fixed":
                order = fixed(len(batch.ids), parts).to(device)
            case "random":
                order = random(len(batch.ids), parts).to(device)
        if self.reassign:
            guesses = self._written(calm, steps, choose=anything_but_null)
            return reassign(order, guesses, batch.targets, parts)
        return order, torch.ones_like(order, dtype=torch.bool)

    def _written(self, calm: Calm, steps: int, *, choose: Choose = most_probable) -> Tensor:
        """(B, N, steps) what the network writes when it is not told the targets."""
        walk = roll_out(self.network, calm(), steps=steps, choose=choose)
        tokens = torch.stack([step.choice.tokens for step in walk], 1)  # (B·N, steps)
        return tokens.view(-1, self.network.rows, steps)

    @contextmanager
    def _undisturbed(self, batch: Batch, memory: Memory) -> Iterator[Calm]:
        """For roll-outs: neither gradient nor dropout. As in the authors' release, what dropout has
        touched is encoded again if it is asked for, unless the encoding is to be shared."""
        training = self.network.training
        touched = training and self.network.dropout > 0
        again = touched and not self.shared_encoding
        self.network.eval()
        try:
            with torch.no_grad():
                yield cache(lambda: self.network.encode(batch) if again else memory)
        finally:
            self.network.train(training)
