"""Validation: the objective's loss in eval mode, and F1@M of the generated phrases."""

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
from one2set.evaluation.metrics import compute_metrics, count_phrases
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import gold_from_document, score
from one2set.training.batches import Batches
from one2set.training.distributed import Processes

# The phrases that a network generates for examples, best first.
Generate = Callable[[Sequence[Example]], Iterable[Sequence[str]]]


class _BatchResult(NamedTuple):
    """The results of one batch."""

    tokens: int
    losses: dict[str, float]  # sums
    phrases: dict[int, Sequence[str]]  # by document index


@dataclass(frozen=True)
class Validator:
    """Validates an objective on the given examples."""

    objective: nn.Module
    examples: Sequence[Example]
    batches: Batches
    collate: Callable[[Sequence[Example]], Batch]
    generate: Generate
    vocabulary: Vocabulary
    processes: Processes

    def run(self, *, stopped: Callable[[], bool]) -> dict[str, float] | None:
        """Return losses and metrics by name; None if `stopped` is true in any process."""
        order = np.argsort(-self.batches.lengths, kind="stable")
        batches = list(enumerate(self.batches.cut(order)))
        results: dict[int, _BatchResult] = {}
        self.objective.eval()
        try:
            for number, indices in batches[self.processes.rank :: self.processes.count]:
                if stopped():
                    break
                results[number] = self._measure(indices.tolist())
        finally:
            self.objective.train()
        gathered = self.processes.gather((stopped(), results))
        if any(interrupted for interrupted, _ in gathered):
            return None
        everything = {n: result for _, results in gathered for n, result in results.items()}
        # Summed in the order of the batches, so that the result does not depend on the number of
        # processes.
        return self._summarise([everything[number] for number, _ in batches])

    @torch.no_grad()
    def _measure(self, indices: Sequence[int]) -> _BatchResult:
        examples = [self.examples[index] for index in indices]
        loss = self.objective(self.collate(examples))
        phrases = self.generate(examples)
        return _BatchResult(
            tokens=loss.tokens,
            losses={"loss": loss.sum.item()} | {k: v.item() for k, v in loss.parts.items()},
            phrases=dict(zip(indices, phrases, strict=True)),
        )

    def _summarise(self, results: Sequence[_BatchResult]) -> dict[str, float]:
        tokens = sum(result.tokens for result in results)
        losses = {
            name: sum(result.losses[name] for result in results) / tokens
            for name in results[0].losses
        }
        phrases = {index: texts for result in results for index, texts in result.phrases.items()}
        return losses | self._metrics([phrases[index] for index in range(len(self.examples))])

    def _metrics(self, predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The metrics of the paper, by the authors' protocol."""
        scores = score([gold_from_document(d) for d in self._documents], predictions)
        f1 = {
            group: compute_metrics(scores.groups[group], "M", YE2021).f1 for group in scores.groups
        }
        return {
            "f1": f1["all"],
            "f1_present": f1["present"],
            "f1_absent": f1["absent"],
            "num_present": count_phrases(scores.groups["present"]).predicted,
            "num_absent": count_phrases(scores.groups["absent"]).predicted,
            "duplication": scores.duplication,
        }

    @cached_property
    def _documents(self) -> list[Document]:
        """The examples as documents of words."""
        return [document_from_example(example, self.vocabulary) for example in self.examples]
