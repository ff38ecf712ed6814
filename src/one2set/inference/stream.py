"""Any number of documents in, their predictions out, in order and in bounded memory.

Documents are taken in windows, sorted by length within a window and handed out in batches. Which
network generates, and how it is run, is somebody else's business: see `engine` and `runtime`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.vocabulary import Vocabulary
from one2set.errors import ConfigError
from one2set.inference.calibration import Calibration
from one2set.inference.prediction import AS_TRAINED, NullBias, Order, Prediction, Slot

WINDOW = 256  # documents

# The slots of each of some documents.
Generate = Callable[[Sequence[Example]], Iterable[tuple[Slot, ...]]]


class Predictor(Protocol):
    """Whatever generates, with torch or without."""

    @property
    def calibration(self) -> Calibration:
        """Where it speaks, and how likely its phrases are right."""

    def predict(
        self, documents: Iterable[Document], *, null_bias: NullBias = AS_TRAINED
    ) -> Iterator[Prediction]:
        """The prediction of each document, in their order."""


@dataclass(frozen=True, slots=True)
class Stream:
    """How documents reach a network.

    A batch has at most `batch_tokens` source tokens, padding included, but at least one document.
    Of a source that is longer than `max_source_length` only the start is read, which its prediction
    states: attention takes time that grows with the square of the length.
    """

    vocabulary: Vocabulary
    batch_tokens: int = 4096
    max_source_length: int = 4096

    def __post_init__(self) -> None:
        if self.batch_tokens < 1 or self.max_source_length < 1:
            raise ConfigError(
                f"batch tokens is {self.batch_tokens} and max source length is "
                f"{self.max_source_length}; expected 1 or more"
            )

    def predict(
        self, documents: Iterable[Document], generate: Generate, *, order: Order
    ) -> Iterator[Prediction]:
        """The prediction of each document, in their order. It holds `WINDOW` documents at a time,
        and the windows of the same documents are always the same."""
        remaining = iter(documents)
        while window := list(islice(remaining, WINDOW)):
            yield from self._predict(window, generate, order)

    def _predict(
        self, documents: Sequence[Document], generate: Generate, order: Order
    ) -> list[Prediction]:
        # Known keyphrases are nothing that a network may see.
        examples = [self.vocabulary.encode(replace(d, keyphrases=None)) for d in documents]
        slots: list[tuple[Slot, ...]] = [()] * len(examples)
        read = [replace(e, source=e.source[: self.max_source_length]) for e in examples]
        for batch in self._batches([len(example.source) for example in read]):
            found = generate([read[index] for index in batch])
            for index, generated in zip(batch, found, strict=True):
                slots[index] = generated
        return [
            Prediction(
                example.id,
                slots[index],
                order,
                source_length=len(example.source),
                read_length=len(read[index].source),
            )
            for index, example in enumerate(examples)
        ]

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Documents of like length together, the longest first. A document without words is in no
        batch: there is nothing to say of it."""
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
