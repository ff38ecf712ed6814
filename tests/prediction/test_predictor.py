"""Predictors: order, windows, batches by length, and what is cut; with a generator that only notes
what it is given."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.prediction.prediction import NullBias, Order, Slot
from one2set.prediction.predictor import WINDOW, Generated, Predictor, Project

VOCABULARY = WordVocabulary([*SPECIALS, "a", "b"], size=9)


class Note(Predictor):
    """Generates the length of what it reads, and keeps the batches."""

    order: Order = "generated"

    def __init__(self, batch_tokens: int = 4096, max_source_length: int = 4096) -> None:
        super().__init__(VOCABULARY, batch_tokens=batch_tokens, max_source_length=max_source_length)
        self.batches: list[list[Example]] = []

    def _generate(
        self, examples: Sequence[Example], null_bias: NullBias, project: Project | None
    ) -> Iterator[Generated]:
        self.batches.append(list(examples))
        for example in examples:
            text = f"{example.id}:{len(example.source)}"
            yield Generated((Slot(0, text, ("a",), (1.0,), ended=False),))


def documents(lengths: Sequence[int]) -> list[Document]:
    return [Document(str(n), "", "a " * length, ("b",)) for n, length in enumerate(lengths)]


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 100), st.integers(1, 40))
def test_every_document_once_in_order_and_batches_within_their_bounds(
    lengths: list[int], batch_tokens: int, longest: int
) -> None:
    note = Note(batch_tokens, longest)
    predictions = list(note.predict(documents(lengths)))
    assert [prediction.id for prediction in predictions] == [str(n) for n in range(len(lengths))]
    for n, (prediction, length) in enumerate(zip(predictions, lengths, strict=True)):
        read = min(length, longest)
        assert (prediction.source_length, prediction.read_length, prediction.order) == (
            length,
            read,
            "generated",
        )
        assert [slot.text for slot in prediction.slots] == ([f"{n}:{read}"] if length else [])
    sizes = [[len(example.source) for example in batch] for batch in note.batches]
    assert all(len(batch) == 1 or max(batch) * len(batch) <= batch_tokens for batch in sizes)
    flat = [size for batch in sizes for size in batch]
    assert flat == sorted(flat, reverse=True)
    assert all(example.present == example.absent == () for b in note.batches for example in b)


def test_at_most_one_window_is_read_ahead() -> None:
    pulled = 0

    def source() -> Iterator[Document]:
        nonlocal pulled
        for document in documents([3] * (WINDOW + 5)):
            pulled += 1
            yield document

    predictions = Note().predict(source())
    next(predictions)
    assert pulled == WINDOW
    assert len(list(predictions)) == WINDOW + 4


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0), (-5, 5)])
def test_invalid_sizes_are_errors(sizes: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="expected 1 or more"):
        Note(*sizes)


def test_a_check_for_each_document_before_its_batch_can_end_the_work() -> None:
    note = Note(batch_tokens=2, max_source_length=10)
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 5:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        list(note.predict(documents([1] * 20), check=check))
    assert [len(batch) for batch in note.batches] == [2, 2]
