"""Validation: the objective's own loss in eval mode, and F1@M of what the network generates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from one2set.data.batch import Batch
from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.vocabulary import Vocabulary, document_from_example
from one2set.distributed import Processes
from one2set.evaluation.metrics import counts, figures
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import gold_of_document, score
from one2set.training.batches import Batches

# The phrases that a network generates for documents, best first.
Generate = Callable[[Sequence[Document]], Iterable[Sequence[str]]]


class _Measured(NamedTuple):
    """What a process has found out about a batch of documents."""

    tokens: int
    losses: dict[str, float]  # sums
    phrases: dict[int, Sequence[str]]  # of each document


@dataclass(frozen=True)
class Validator:
    """The validation documents, and what to do with them."""

    objective: nn.Module
    examples: Sequence[Example]
    batches: Batches
    collate: Callable[[Sequence[Example]], Batch]
    generate: Generate
    vocabulary: Vocabulary
    processes: Processes

    def run(self, *, stopped: Callable[[], bool]) -> dict[str, float] | None:
        """Losses and figures by name; None when `stopped` says so in one of the processes."""
        order = np.argsort(-self.batches.lengths, kind="stable")
        batches = list(enumerate(self.batches.cut(order)))
        found: dict[int, _Measured] = {}
        self.objective.eval()
        try:
            for number, indices in batches[self.processes.rank :: self.processes.count]:
                if stopped():
                    break
                found[number] = self._measure(indices.tolist())
        finally:
            self.objective.train()
        gathered = self.processes.gather((stopped(), found))
        if any(interrupted for interrupted, _ in gathered):
            return None
        everything = {number: one for _, found in gathered for number, one in found.items()}
        # In the order of the batches, so that sums are the same for any number of processes.
        return self._summarise([everything[number] for number, _ in batches])

    @torch.no_grad()
    def _measure(self, indices: Sequence[int]) -> _Measured:
        loss = self.objective(self.collate([self.examples[index] for index in indices]))
        phrases = self.generate([self._documents[index] for index in indices])
        return _Measured(
            tokens=loss.tokens,
            losses={"loss": loss.sum.item()} | {k: v.item() for k, v in loss.parts.items()},
            phrases=dict(zip(indices, phrases, strict=True)),
        )

    def _summarise(self, measured: Sequence[_Measured]) -> dict[str, float]:
        tokens = sum(one.tokens for one in measured)
        losses = {
            name: sum(one.losses[name] for one in measured) / tokens for name in measured[0].losses
        }
        phrases = {index: said for one in measured for index, said in one.phrases.items()}
        return losses | self._figures([phrases[index] for index in range(len(self.examples))])

    def _figures(self, predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The paper's figures, by the authors' protocol."""
        scores = score([gold_of_document(d) for d in self._documents], predictions)
        f1 = {group: figures(scores.groups[group], "M", YE2021).f1 for group in scores.groups}
        return {
            "f1": f1["all"],
            "f1_present": f1["present"],
            "f1_absent": f1["absent"],
            "num_present": counts(scores.groups["present"]).predicted,
            "num_absent": counts(scores.groups["absent"]).predicted,
            "duplication": scores.duplication,
        }

    @cached_property
    def _documents(self) -> list[Document]:
        """The examples in words again."""
        return [document_from_example(example, self.vocabulary) for example in self.examples]


def spread(total: int, count: int) -> list[int]:
    """`count` of `total` indices, evenly spread; all of them for 0."""
    if not count or count >= total:
        return list(range(total))
    return [index * total // count for index in range(count)]
