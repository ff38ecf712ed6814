"""The adaptive reward and its place, by hand-made cases and by the definition with its branch."""

import itertools
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from one2set.data.batch import Batch, collate, sequence_peos
from one2set.data.document import Document
from one2set.data.specials import EOS, PEOS, SEP, SPECIALS, UNK
from one2set.data.vocabulary import WordVocabulary
from one2set.text import stem_all
from one2set.training.objectives.reward import (
    AdaptiveReward,
    adaptive_f1,
    compute_returns,
    split_present_absent_tokens,
)
from one2set.training.objectives.rollout import Rollout

GOLD = ("neural network", "graph theory", "clustering")


def stems(phrases: Sequence[str]) -> list[tuple[str, ...]]:
    return [stem_all(phrase.split()) for phrase in phrases]


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [
        (("neural networks", "clustering"), 0.6667),
        (("neural network", "neural networks", "foo", "clustering"), 0.5714),
        (("clustering", "clustering"), 0.3333),
        ((), 0.0),
        (GOLD, 1.0),
        ((*GOLD, "a", "b", "c"), 0.6667),
    ],
)
def test_recall_until_there_are_enough_then_f1(predicted: tuple[str, ...], expected: float) -> None:
    assert adaptive_f1(stems(predicted), stems(GOLD)) == pytest.approx(expected, abs=1e-4)
    assert adaptive_f1(stems(predicted), []) == 0.0


@given(st.lists(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_one_formula_is_both_branches(predicted: list[int], gold: set[int]) -> None:
    right, recall = len(gold & {*predicted}), 0.0
    expected = 0.0
    if right:
        precision, recall = right / len(predicted), right / len(gold)
        f1 = 2 * precision * recall / (precision + recall)
        expected = recall if len(predicted) < len(gold) else f1
    assert adaptive_f1(predicted, list(gold)) == pytest.approx(expected)


A, B, C = 10, 11, 12


@pytest.mark.parametrize(
    ("row", "present", "absent"),
    [
        ([A, SEP, B, C, PEOS, A, EOS], [(A,), (B, C)], [(A,)]),
        ([PEOS, A, EOS], [], [(A,)]),
        ([A, PEOS, EOS], [(A,)], []),
        ([A, SEP, B, EOS], [(A,), (B,)], []),  # without <peos> all are present
        ([A, SEP, SEP, B, PEOS, SEP, C], [(A,), (B,)], [(C,)]),  # nor is there an <eos>
        ([A, PEOS, B, PEOS, C, EOS], [(A,)], [(B,), (PEOS,), (C,)]),
        ([EOS], [], []),
    ],
)
def test_the_first_peos_parts_present_from_absent(
    row: list[int], present: list[tuple[int, ...]], absent: list[tuple[int, ...]]
) -> None:
    assert split_present_absent_tokens(row) == (present, absent)


WORDS = [
    "neural",
    "networks",
    "network",
    "clustering",
    "deep",
    "learning",
    "robotics",
    "x1",
    "theory",
]
UNSEEN = "zeugma"  # beyond the network's vocabulary


@pytest.fixture
def vocabulary() -> WordVocabulary:
    return WordVocabulary([*SPECIALS, *WORDS, UNSEEN], size=len(SPECIALS) + len(WORDS))


def batch_of(vocabulary: WordVocabulary, keyphrases: tuple[str, ...], body: str) -> Batch:
    document = Document("1", "", body, keyphrases, tokenised=True)
    example = vocabulary.encode(document)
    return collate([example], vocabulary_size=vocabulary.size, layout=sequence_peos)


def rollout_of(tokens: list[int]) -> Rollout:
    """One row, with room behind its end."""
    length = tokens.index(EOS) + 1 if EOS in tokens else len(tokens)
    row = torch.tensor([[*tokens, 0]])
    return Rollout(row, torch.arange(row.shape[1])[None] < length)


def row_of(text: str) -> list[int]:
    marks = {";": SEP, "|": PEOS, ".": EOS, "?": UNK}
    names = [*SPECIALS, *WORDS, UNSEEN]
    return [marks[word] if word in marks else names.index(word) for word in text.split()]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("neural networks ; clustering | deep learning .", (0.6667, 0.5)),
        ("neural network | x1 ; | deep learning .", (0.3333, 0.4)),  # a second <peos> is wrong
        ("neural network ; clustering .", (0.6667, 0.0)),
        ("clustering ; zeugma | .", (0.6667, 0.0)),  # copied from the document
        ("? | ? .", (0.0, 0.0)),
    ],
)
def test_what_was_written_is_compared_by_stems(
    row: str, expected: tuple[float, float], vocabulary: WordVocabulary
) -> None:
    gold = ("neural network", "zeugma", "clustering", "deep learning", "robotics")
    batch = batch_of(vocabulary, gold, "neural network theory zeugma clustering")
    found = AdaptiveReward(vocabulary)(rollout_of(row_of(row)), batch)
    torch.testing.assert_close(found, torch.tensor([expected]), atol=1e-4, rtol=0)


def test_unknown_words_are_never_right(vocabulary: WordVocabulary) -> None:
    """Though the target says `<unk>` too, where neither vocabulary nor source have the word."""
    batch = batch_of(vocabulary, ("zeugma", "clustering"), "neural networks")
    assert batch.targets.tolist() == [[[PEOS, UNK, SEP, len(SPECIALS) + 3, EOS]]]
    found = AdaptiveReward(vocabulary)(rollout_of(row_of("| ? ; clustering .")), batch)
    assert found.tolist() == [[0.0, 0.5]]


def placed(tokens: list[int], present: float, absent: float, length: int) -> list[float]:
    """Returns by their definition: rewards at steps, then sums from each step on."""
    last = length - 1
    rewards = [0.0] * len(tokens)
    real = tokens[:length]
    rewards[real.index(PEOS) if PEOS in real else last] += present
    rewards[last] += absent
    sums = list(itertools.accumulate(reversed(rewards)))[::-1]
    return [value if step < length else 0.0 for step, value in enumerate(sums)]


def returns_of(tokens: list[int], present: float, absent: float) -> Tensor:
    return compute_returns(torch.tensor([[present, absent]]), rollout_of(tokens))[0, : len(tokens)]


def test_advantages_reach_the_steps_before_them() -> None:
    tokens = [A, SEP, B, C, PEOS, A, EOS]
    expected = torch.tensor([0.1333] * 5 + [-0.2] * 2)
    found = returns_of(tokens, 0.3333, -0.2)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    "tokens",
    [
        [A, PEOS, EOS, PEOS, A],  # what follows the end does not count
        [A, SEP, B, A, A],  # neither <peos> nor <eos>
        [PEOS, A, PEOS, B, EOS],  # two <peos>: the first, where the row is parted
        [EOS, 0, 0, 0, 0],
    ],
)
def test_returns_are_sums_of_placed_advantages(tokens: list[int]) -> None:
    length = tokens.index(EOS) + 1 if EOS in tokens else len(tokens)
    expected = torch.tensor(placed(tokens, 0.5, -0.25, length))
    assert returns_of(tokens, 0.5, -0.25).tolist() == expected.tolist()
