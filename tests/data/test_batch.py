"""Layouts write the expected target strings; batches have the masks, counts and ids needed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from one2set.data.batch import (
    SetLayout,
    collate,
    nested,
    one_to_one,
    sequence,
    sequence_missing_eos,
    sequence_peos,
    shift_right,
)
from one2set.data.example import MAX_OOV, Example
from one2set.data.specials import (
    ABSENT_START,
    BOS,
    EOS,
    NULL,
    PAD,
    PEOS,
    PRESENT_START,
    SEP,
    UNK,
)
from one2set.errors import ConfigError

V = 20
P1, P2, A1, A2 = [7, 8], [9], [10, 11], [12]


def example(
    source: Sequence[int],
    present: Sequence[Sequence[int]] = (),
    absent: Sequence[Sequence[int]] = (),
    name: str = "d",
) -> Example:
    def ids(words: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.array(words, dtype=np.int32)

    return Example(name, ids(source), 1, tuple(map(ids, present)), tuple(map(ids, absent)))


def test_sequence_layouts_spell_the_specified_strings() -> None:
    assert sequence([P1, P2], [A1]) == [[7, 8, SEP, 9, SEP, 10, 11, EOS]]
    assert sequence_peos([P1, P2], [A1]) == [[7, 8, SEP, 9, PEOS, 10, 11, EOS]]
    assert sequence_peos([], [A1, A2]) == [[PEOS, 10, 11, SEP, 12, EOS]]
    assert sequence_peos([P1, P2], []) == [[7, 8, SEP, 9, PEOS, EOS]]


def test_a_sequence_ends_in_eos_except_where_the_release_forgets_it() -> None:
    assert sequence([P1, P2], [])[0][-1] == EOS
    assert sequence([], []) == [[EOS]]
    assert sequence_missing_eos([P1, P2], []) == [[7, 8, SEP, 9, SEP]]
    assert sequence_missing_eos([P1], [A1]) == sequence([P1], [A1])


def test_nested_phrases_begin_with_their_kind_and_end_in_a_separator() -> None:
    present, absent = PRESENT_START, ABSENT_START
    expected = [present, 7, 8, SEP, present, 9, SEP, absent, 10, 11, SEP, EOS]
    assert nested([P1, P2], [A1]) == [expected]
    assert nested([], [A2]) == [[absent, 12, SEP, EOS]]
    assert nested([], []) == [[EOS]]
    assert len({present, absent, SEP, EOS, BOS, PAD}) == 6


def test_one_to_one_has_a_row_for_each_phrase() -> None:
    assert one_to_one([P1, P2], [A1]) == [[7, 8, EOS], [9, EOS], [10, 11, EOS]]
    assert one_to_one([], []) == [[EOS]]
    examples = [example([7], present=[P1, P2]), example([7], absent=[A1], name="e")]
    batch = collate(examples, vocabulary_size=V, layout=one_to_one)
    assert batch.targets.tolist() == [[[7, 8, EOS], [9, EOS, PAD]], [[10, 11, EOS], [PAD] * 3]]
    assert batch.tokens == 8


def test_the_first_words_replace_a_missing_title() -> None:
    sources = [[7] * length for length in (30, 30, 4, 0, 3)]
    titles = (8, 0, 0, 0, 5)  # the last title was cut off with the rest of its source
    examples = [
        replace(example(source), title_length=title)
        for source, title in zip(sources, titles, strict=True)
    ]
    assert collate(examples, vocabulary_size=V).title_lengths == (8, 10, 4, 1, 3)


def test_a_set_keeps_what_fits_and_fills_up_with_null() -> None:
    long = [7] * 6
    present = [[10 + i] for i in range(9)]
    null = [NULL, PAD, PAD, PAD, PAD, PAD]
    rows = SetLayout(20)([long, *present, [7] * 5, [8]], [A1])
    assert [row[:2] for row in rows[:9]] == [[10 + i, EOS] for i in range(9)]
    assert rows[9] == [7] * 5 + [EOS]  # so that [8] is the eleventh
    assert rows[10] == [10, 11, EOS, PAD, PAD, PAD]
    assert rows[11:] == [null] * 9
    assert SetLayout(20)([], []) == [null] * 20


def test_a_single_set_has_no_halves_and_peos_only_for_parity() -> None:
    rows = SetLayout(3, phrase_length=3, separate=False)([P1], [A1])
    assert rows == [[7, 8, EOS], [10, 11, EOS], [NULL, PAD, PAD]]
    rows = SetLayout(3, phrase_length=3, separate=False, peos=True)([P1], [A1])
    assert rows == [[7, 8, EOS], [PEOS, EOS, PAD], [10, 11, EOS]]


def test_separate_halves_need_an_even_number_of_codes() -> None:
    with pytest.raises(ConfigError, match="num_codes is 3"):
        SetLayout(3)
    assert SetLayout(4).parts == {"present": slice(0, 2), "absent": slice(2, 4)}
    assert SetLayout(3, separate=False).parts == {"all": slice(0, 3)}


def test_unknown_words_get_extended_ids_by_first_occurrence() -> None:
    batch = collate(
        [example([50, 7, 30, 50], present=[[30, 50]], absent=[[99, 7]])],
        vocabulary_size=V,
        layout=SetLayout(2, phrase_length=3),
    )
    assert batch.source.tolist() == [[UNK, 7, UNK, UNK]]
    assert batch.source_extended.tolist() == [[V, 7, V + 1, V]]
    assert batch.source_first.tolist() == [[0, 1, 2, 0]]
    assert batch.oov == ((50, 30),)
    assert batch.targets.tolist() == [[[V + 1, V, EOS], [UNK, 7, EOS]]]


def test_words_that_are_neither_generated_nor_copied_are_unk_or_drop_their_phrases() -> None:
    """With 9 output words, 9 and 10 can be copied only, like the words outside the vocabulary."""
    examples = [example([50, 9], present=[[9, 50]], absent=[[8, 9], [10, 8], [8, 99]])]
    layout = SetLayout(6, phrase_length=3)
    batch = collate(examples, vocabulary_size=V, layout=layout, output_size=9)
    absent = [[8, 9, EOS], [UNK, 8, EOS], [8, UNK, EOS]]
    assert batch.targets[0, [0, 3, 4, 5]].tolist() == [[9, V, EOS], *absent]
    batch = collate(
        examples, vocabulary_size=V, layout=layout, output_size=9, drop_oov_phrases=True
    )
    null = [NULL, PAD, PAD]
    assert batch.targets[0, [0, 3, 4, 5]].tolist() == [[9, V, EOS], [8, 9, EOS], null, null]


def test_a_document_has_at_most_a_thousand_unknown_words() -> None:
    last = V + MAX_OOV + 1
    examples = [example(range(V, last + 1), present=[[last, last - 2]])]
    batch = collate(examples, vocabulary_size=V, layout=SetLayout(2, phrase_length=3))
    assert batch.targets[0, 0].tolist() == [UNK, V + MAX_OOV - 1, EOS]
    assert len(batch.oov[0]) == MAX_OOV
    assert batch.source_extended[0, -3:].tolist() == [V + MAX_OOV - 1, UNK, UNK]


def test_masks_and_counts_say_what_is_real() -> None:
    examples = [example([7, 8, 9], present=[P1]), example([7], absent=[A2], name="e")]
    batch = collate(examples, vocabulary_size=V, layout=SetLayout(4))
    assert batch.ids == ("d", "e")
    assert batch.lengths == (3, 1)
    assert batch.source_mask.tolist() == [[True] * 3, [True, False, False]]
    assert batch.source_extended[1].tolist() == [7, PAD, PAD]
    assert batch.target_mask.sum(-1).tolist() == [[3, 1, 1, 1], [1, 1, 2, 1]]
    assert batch.tokens == 11


def test_documents_of_a_batch_do_not_touch_one_another() -> None:
    examples = [example([50, 7, 60], [[60]], [P2]), example([70, 50], [[50], [70]])]
    both = collate(examples, vocabulary_size=V, layout=sequence)
    for index, alone in enumerate(examples):
        single = collate([alone], vocabulary_size=V, layout=sequence)
        length, cells = single.source.shape[1], single.targets.shape[2]
        assert torch.equal(both.source_extended[index, :length], single.source_extended[0])
        assert torch.equal(both.targets[index, :, :cells], single.targets[0])
        assert both.oov[index] == single.oov[0]


def test_prediction_needs_no_targets_and_no_words() -> None:
    batch = collate([example([]), example([7, 8])], vocabulary_size=V)
    assert batch.targets.shape == (2, 0, 0)
    assert batch.tokens == 0
    assert batch.source.tolist() == [[UNK, PAD], [7, 8]]


def test_moving_a_batch_moves_every_tensor_and_nothing_else() -> None:
    batch = collate([example([7, 50], [P1])], vocabulary_size=V, layout=sequence)
    moved = batch.to("meta")
    assert {str(t.device) for t in (moved.source, moved.targets, moved.source_mask)} == {"meta"}
    assert moved.oov == batch.oov
    assert str(batch.source.device) == "cpu"


def test_a_decoder_reads_bos_and_then_what_came_before() -> None:
    tokens = torch.tensor([[[7, 8, EOS], [NULL, PAD, PAD]]])
    assert shift_right(tokens).tolist() == [[[BOS, 7, 8], [BOS, NULL, PAD]]]
