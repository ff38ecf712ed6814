"""Predicts any number of documents, in order and in bounded memory.

Documents are read in windows, sorted by length within a window and batched. The engine and the
runtime are predictors that run a network, with torch or without.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.text import Span
from one2set.data.vocabulary import Vocabulary
from one2set.errors import ConfigError
from one2set.prediction.prediction import AS_TRAINED, NullBias, Order, Prediction, Slot, TokenStates

WINDOW = 256  # documents


class Generated(NamedTuple):
    """What is generated for one document."""

    slots: tuple[Slot, ...] = ()
    token_states: NDArray[Any] | None = None  # (S, ·) projected states of the source tokens


# Projects the encoder states of a document's source tokens: (S, D) → (S, ·).
Project = Callable[[NDArray[np.float32]], NDArray[Any]]

# Called before each piece of work. An exception that it raises ends the work.
Check = Callable[[], None]


def never_stop() -> None:
    """The default check: it never raises."""


class Predictor(ABC):
    """A network that predicts.

    A batch has at most `batch_tokens` source tokens, padding included, but at least one document.
    Of a source that is longer than `max_source_length` only the start is read, which its prediction
    states: attention takes time that grows with the square of the length.
    """

    order: Order = "score"  # of the phrases of its predictions

    def __init__(
        self, vocabulary: Vocabulary, *, batch_tokens: int = 4096, max_source_length: int = 4096
    ) -> None:
        if batch_tokens < 1 or max_source_length < 1:
            raise ConfigError(
                f"batch tokens is {batch_tokens} and max source length is {max_source_length}; "
                "expected 1 or more"
            )
        self.vocabulary = vocabulary
        self.batch_tokens, self.max_source_length = batch_tokens, max_source_length

    @abstractmethod
    def _generate(
        self, examples: Sequence[Example], null_bias: NullBias, project: Project | None
    ) -> Iterable[Generated]:
        """What the network generates for each of a batch of examples."""

    def predict(
        self,
        documents: Iterable[Document],
        *,
        null_bias: NullBias = AS_TRAINED,
        project: Project | None = None,
        check: Check = never_stop,
    ) -> Iterator[Prediction]:
        """The prediction of each document, in order. It has `states` only if `project` is given,
        which projects the encoder's states. `check` is called for each document, before its batch.

        At most `WINDOW` documents are in memory, and the windows depend on the documents only.
        """
        remaining = iter(documents)
        while window := list(islice(remaining, WINDOW)):
            examples, spans = zip(*map(self.vocabulary.encode_source, window), strict=True)
            yield from self._predict(examples, spans, null_bias, project, check)

    def predict_examples(self, examples: Sequence[Example]) -> list[Prediction]:
        """The prediction of each document of a prepared corpus."""
        return self._predict(examples, (), AS_TRAINED, None, never_stop)

    def _predict(
        self,
        examples: Sequence[Example],
        spans: Sequence[list[Span]],  # of the source ids of each example, for `states`
        null_bias: NullBias,
        project: Project | None,
        check: Check,
    ) -> list[Prediction]:
        outputs = [Generated()] * len(examples)
        most = self.max_source_length
        read = [replace(example, source=example.source[:most]) for example in examples]
        batches = self._batches([len(example.source) for example in read])
        for batch in batches:
            for _ in batch:  # callers count the checks to show progress
                check()
            results = self._generate([read[index] for index in batch], null_bias, project)
            for index, generated in zip(batch, results, strict=True):
                outputs[index] = generated
        return [
            Prediction(
                example.id,
                output.slots,
                self.order,
                source_length=len(example.source),
                read_length=len(example.source[:most]),
                states=None
                if output.token_states is None
                else TokenStates(output.token_states, spans[index][:most]),
            )
            for index, (example, output) in enumerate(zip(examples, outputs, strict=True))
        ]

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Batches of documents of similar length, longest first. Documents without words are in
        none."""
        batch: list[int] = []
        for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
            if lengths[index] == 0:
                break
            if batch and lengths[batch[0]] * (len(batch) + 1) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch


class NoNetwork:
    """The predictor of a light model: a network that generates nothing."""

    def predict(self, documents: Iterable[Document], **options: Any) -> Iterator[Prediction]:
        """A prediction without slots for each document."""
        for document in documents:  # no work, no check
            yield Prediction(document.id, (), "score", source_length=0, read_length=0)
