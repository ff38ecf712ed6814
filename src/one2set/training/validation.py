"""Validation: the objective's own loss in eval mode, and F1@M of what the network generates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

import numpy as np
import torch
from torch import nn

from one2set.data.batch import Batch
from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.specials import EOS, NULL, PAD, PEOS, SEP, SPECIALS, UNK
from one2set.data.vocabulary import Vocabulary, WordVocabulary
from one2set.distributed import Processes
from one2set.evaluation.metrics import counts, figures
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import gold_of_document, score
from one2set.model.decoding import Rows, greedy_sequence, greedy_set
from one2set.model.transformer import Transformer
from one2set.training.batches import Batches

# What a network says of the documents of a batch: phrases of dictionary ids, best first.
Generate = Callable[[Batch], list[list[list[int]]]]


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
        mine = list(self.batches.cut(order))[self.processes.rank :: self.processes.count]
        sums: dict[str, float] = {}
        tokens = 0
        said: dict[int, list[str]] = {}
        self.objective.eval()
        try:
            with torch.no_grad():
                for indices in mine:
                    if stopped():
                        break
                    examples = [self.examples[index] for index in indices.tolist()]
                    batch = self.collate(examples)
                    loss = self.objective(batch)
                    tokens += loss.tokens
                    for name, value in {"loss": loss.sum, **loss.parts}.items():
                        sums[name] = sums.get(name, 0.0) + value.item()
                    for index, phrases in zip(indices.tolist(), self.generate(batch), strict=True):
                        said[index] = self._texts(phrases, self.examples[index])
        finally:
            self.objective.train()
        gathered = self.processes.gather((stopped(), tokens, sums, said))
        if any(interrupted for interrupted, *_ in gathered):
            return None
        total = sum(tokens for _, tokens, _, _ in gathered)
        names = next(sums for _, _, sums, _ in gathered if sums)
        losses = {
            name: sum(sums.get(name, 0.0) for _, _, sums, _ in gathered) / total for name in names
        }
        predictions = {index: phrases for *_, said in gathered for index, phrases in said.items()}
        return losses | self._figures([predictions[index] for index in range(len(self.examples))])

    def _texts(self, phrases: Sequence[Sequence[int]], example: Example) -> list[str]:
        """Phrases in words; one that holds a special token is no text."""
        return [
            self.vocabulary.text(ids, unknown=example.unknown)
            for ids in phrases
            if min(ids) >= len(SPECIALS)
        ]

    def _figures(self, predictions: Sequence[Sequence[str]]) -> dict[str, float]:
        """The paper's figures, by the authors' protocol."""
        golds = [gold_of_document(self._document(example)) for example in self.examples]
        scores = score(golds, predictions)
        f1 = {group: figures(scores.groups[group], "M", YE2021).f1 for group in scores.groups}
        return {
            "f1": f1["all"],
            "f1_present": f1["present"],
            "f1_absent": f1["absent"],
            "num_present": counts(scores.groups["present"]).predicted,
            "num_absent": counts(scores.groups["absent"]).predicted,
            "duplication": scores.duplication,
        }

    def _document(self, example: Example) -> Document:
        """An example in words again."""
        cut = example.title_length
        title, abstract, *phrases = (
            self.vocabulary.text(ids.tolist(), unknown=example.unknown)
            for ids in (
                example.source[:cut],
                example.source[cut:],
                *example.present,
                *example.absent,
            )
        )
        return Document(
            example.id,
            title,
            abstract,
            tuple(phrases),
            tokenised=isinstance(self.vocabulary, WordVocabulary),
        )


def spread(total: int, count: int) -> list[int]:
    """`count` of `total` indices, evenly spread; all of them for 0."""
    if not count or count >= total:
        return list(range(total))
    return [index * total // count for index in range(count)]


# --- From what a network writes to phrases --------------------------------------------------------


def generate_set(network: Transformer, batch: Batch, *, steps: int) -> list[list[list[int]]]:
    """The phrases of a set network's rows, the surest first: by the mean probability of their
    words, as the authors order them."""
    rows = greedy_set(network, network.encode(batch), steps=steps)
    said = []
    for index, document in enumerate(_written(rows, batch, network.vocabulary_size)):
        scored = []
        for row, tokens in enumerate(document):
            words = list(takewhile(lambda token: token not in (EOS, NULL, PAD), tokens))
            if words and NULL not in tokens:
                score = rows.probability[index, row, : len(words)].mean().item()
                scored.append((score, words))
        said.append([words for _, words in sorted(scored, key=lambda pair: -pair[0])])
    return said


def generate_sequence(network: Transformer, batch: Batch, *, steps: int) -> list[list[list[int]]]:
    """The phrases between the separators of a sequence, in their order."""
    rows = greedy_sequence(network, network.encode(batch), steps=steps)
    said = []
    for (tokens,) in _written(rows, batch, network.vocabulary_size):
        words = takewhile(lambda token: token not in (EOS, PAD), tokens)
        groups = groupby(words, key=lambda token: token in (SEP, PEOS))
        said.append([list(phrase) for separates, phrase in groups if not separates])
    return said


def _written(rows: Rows, batch: Batch, vocabulary_size: int) -> list[list[list[int]]]:
    """What the rows hold, in dictionary ids; `<unk>` is the source word that it looked at most."""
    sources = batch.source_extended.gather(1, rows.place.flatten(1)).view_as(rows.place)
    tokens = rows.tokens.where(rows.tokens != UNK, sources)
    return [
        [[t if t < vocabulary_size else oov[t - vocabulary_size] for t in row] for row in document]
        for document, oov in zip(tokens.tolist(), batch.oov, strict=True)
    ]
