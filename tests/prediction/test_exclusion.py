"""Exclusive search equals a plain statement of its rules."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from one2set.data.batch import Batch, collate
from one2set.data.specials import ABSENT_START, BOS, EOS, PEOS, PRESENT_START, SEP
from one2set.model.network import Memory, Network, State
from one2set.model.pointer import CopySource, Mixture
from one2set.prediction.exclusion import ALL, NESTED_STEPS, Exclusive, ExclusiveNested
from one2set.prediction.greedy import Choose, greedy_sequence
from tests.model import tiny

V = 40
W1, W2, W3, *_ = WORDS = tuple(range(20, 36))
# What a rigged network likes to write next, best first, after what it has written.
Taste = Callable[[list[int]], list[int]]


@dataclass
class History(State):
    written: Tensor  # (rows, t)

    def select(self, rows: Tensor) -> "History":
        documents = [self.documents[row] for row in rows.tolist()]
        return replace(self, documents=documents, written=self.written[rows])


class Rigged(Network):
    """Its taste is its distribution; what it does not name is less probable, the higher the id."""

    def __init__(self, taste: Taste) -> None:
        super().__init__()
        self.taste, self.vocabulary_size, self.dropout = taste, V, 0.0

    def encode(self, batch: Batch) -> Memory:
        words = torch.full((len(batch.ids), 1), W3)
        return Memory((1,) * len(batch.ids), CopySource(words, torch.zeros_like(words)))

    def decode(self, memory: Memory, inputs: Tensor, mask: Tensor) -> Mixture:
        raise NotImplementedError

    def start(self, memory: Memory, *, steps: int) -> History:
        rows = len(memory.lengths)
        return History(memory, list(range(rows)), torch.zeros(rows, 0, dtype=torch.int64))

    def step(self, state: History, tokens: Tensor) -> Mixture:
        state.written = torch.cat([state.written, tokens[:, None]], dim=1)
        logits = torch.arange(V, 0, -1.0).repeat(len(tokens), 1) / V
        for row, written in enumerate(state.written.tolist()):
            assert written[0] == BOS
            for rank, token in enumerate(self.taste(written[1:])):
                logits[row, token] = 20.0 - rank
        open_gate, ones = torch.ones(len(tokens)), torch.ones(len(tokens), 1)
        return Mixture(
            logits, torch.eye(V), open_gate, ones, state.memory.copy_source, state.counts
        )


def write(network: Rigged, choose: Choose, *, steps: int) -> list[int]:
    decoded = greedy_sequence(network, network.encode(tiny.batch(1)), steps=steps, choose=choose)
    tokens: list[int] = decoded.tokens[0, 0, : decoded.length[0, 0]].tolist()
    return tokens


def phrases(tokens: list[int]) -> list[list[int]]:
    """The phrases between separators."""
    result: list[list[int]] = [[]]
    for token in tokens:
        if token in (SEP, EOS):
            result.append([])
        else:
            result[-1].append(token)
    return [phrase for phrase in result if phrase]


def always_w1(written: list[int]) -> list[int]:
    """A sequence of `w1 w1`, wherever it may."""
    position = len(phrases([*written, 9])[-1]) - 1
    return [SEP] if position == 2 else [*WORDS]


def always_w1_nested(written: list[int]) -> list[int]:
    position = len(phrases([*written, 9])[-1]) - 1
    return [[PRESENT_START], [*WORDS], [W1], [SEP]][position]


@pytest.mark.parametrize("nested", [False, True])
def test_close_phrases_begin_differently_even_if_one_word_is_always_best(nested: bool) -> None:
    def first_words(window: int) -> list[int]:
        if nested:
            written = write(Rigged(always_w1_nested), ExclusiveNested(window), steps=40)
        else:
            written = write(Rigged(always_w1), Exclusive(window), steps=30)
        second = [phrase[-1] for phrase in phrases(written)]
        assert second == [W1] * 10, "the rule is for first words only"
        return [phrase[-2] for phrase in phrases(written)]

    assert first_words(0) == [W1] * 10
    assert first_words(1) == [W1, W2] * 5
    assert first_words(2) == ([W1, W2, W3] * 4)[:10]
    assert first_words(ALL) == list(WORDS[:10])


def test_without_a_window_nothing_is_forbidden() -> None:
    network = tiny.transformer()
    memory = network.encode(tiny.batch(8))
    free = greedy_sequence(network, memory, steps=9)
    off = greedy_sequence(network, memory, steps=9, choose=Exclusive(0))
    assert all(torch.equal(row, own) for row, own in zip(free, off, strict=True))


def test_a_nested_row_is_well_formed_for_any_network() -> None:
    """It would rather end than write, at any time."""
    quick = Rigged(lambda written: [EOS, SEP, PEOS])
    assert write(quick, ExclusiveNested(1), steps=9) == [PRESENT_START, SEP, EOS]
    slow = Rigged(lambda written: [SEP, ABSENT_START, EOS])
    assert write(slow, ExclusiveNested(1), steps=6) == [ABSENT_START, SEP] * 3
    endless = write(
        Rigged(lambda written: [W1, W2, PRESENT_START]), ExclusiveNested(1), steps=NESTED_STEPS
    )
    assert len(endless) == NESTED_STEPS
    assert endless[-2:] == [SEP, EOS]
    result = phrases(endless)
    assert len(result) == 20
    assert {len(phrase) for phrase in result} == {6}
    assert [phrase[1] for phrase in result] == [W1, W2] * 10


def allowed_nested(written: list[int], window: int) -> set[int]:
    """Which words may follow, from the history alone."""
    parts: list[list[int]] = [[]]
    for token in written:
        parts[-1].append(token)
        if token == SEP:
            parts.append([])
    *before, now = parts
    if not now:
        if len(before) == 20:
            return {EOS}
        return {PRESENT_START, ABSENT_START} | ({EOS} if before else set())
    if len(now) == 6:
        return {SEP}
    words = set(range(V)) - {EOS, PRESENT_START, ABSENT_START}
    if len(now) == 1:
        firsts = [phrase[1] for phrase in before if phrase[1] != SEP]
        words -= set(firsts if window == ALL else firsts[max(0, len(firsts) - window) :])
    return words


def allowed_sequence(written: list[int], window: int) -> set[int]:
    parts: list[list[int]] = [[]]
    for token in written:
        if token in (SEP, PEOS):
            parts.append([])
        else:
            parts[-1].append(token)
    *before, now = parts
    firsts = [phrase[0] for phrase in before if phrase]
    if now:
        return set(range(V))
    return set(range(V)) - set(firsts if window == ALL else firsts[max(0, len(firsts) - window) :])


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 2, 4, ALL]), st.booleans())
def test_the_most_probable_allowed_word_is_chosen(seed: int, window: int, nested: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    order: list[list[int]] = []

    def moody(written: list[int]) -> list[int]:
        """Likes separators and a few words; what it likes is written down."""
        liked = torch.randperm(8, generator=generator).tolist()
        order.append([[SEP, EOS, PEOS, ABSENT_START, W1, W2, W3, 30][word] for word in liked])
        return order[-1]

    choose: Choose = ExclusiveNested(window) if nested else Exclusive(window)
    result = write(Rigged(moody), choose, steps=40)
    allowed = allowed_nested if nested else allowed_sequence
    for number, (token, liked) in enumerate(zip(result, order, strict=True)):
        may = allowed(result[:number], window)
        assert token == next(word for word in [*liked, *range(V)] if word in may)


def test_exclusion_holds_where_all_other_probabilities_vanish() -> None:
    class Certain(Rigged):
        def step(self, state: History, tokens: Tensor) -> Mixture:
            mixture = super().step(state, tokens)
            return replace(mixture, features=1000.0 * mixture.features)

    written = write(Certain(always_w1), Exclusive(ALL), steps=30)
    firsts = [phrase[0] for phrase in phrases(written)]
    assert len(set(firsts)) == len(firsts) == 10


def test_rows_are_independent() -> None:
    """Rows that are at different places of phrases, and end at different steps."""
    network = tiny.transformer(seed=1)
    torch.manual_seed(14)
    with torch.no_grad():
        network.pointer.vocabulary.weight[[SEP, EOS]] = 1.5 * torch.randn(2, 16)
        network.pointer.gate.bias.add_(1.0)
    together = greedy_sequence(
        network, network.encode(tiny.batch(8)), steps=40, choose=ExclusiveNested(2)
    )
    assert len(set(together.length.flatten().tolist())) > 3
    for index, example in enumerate(tiny.examples(8)):
        memory = network.encode(collate([example], vocabulary_size=tiny.V))
        alone = greedy_sequence(network, memory, steps=40, choose=ExclusiveNested(2))
        assert torch.equal(alone.tokens[0], together.tokens[index])
        torch.testing.assert_close(alone.probability[0], together.probability[index])
