"""Rows of ids become slots by the rules of the authors' release."""

from collections.abc import Sequence

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece

from one2set.data.example import Example
from one2set.data.specials import (
    ABSENT_START,
    BOS,
    EOS,
    NULL,
    PAD,
    PEOS,
    PRESENT_START,
    SEP,
    SPECIALS,
    UNK,
)
from one2set.data.vocabulary import PieceVocabulary, WordVocabulary
from one2set.prediction.spelling import DecodedRow, SlotBuilder

# Dictionary: 7 graph, 8 network, then 9 rare, which the network can only copy.
WORDS = WordVocabulary([*SPECIALS, "graph", "network", "rare"], size=9)
GRAPH, NETWORK, RARE, ODD = 7, 8, 9, 10  # 10 is a word that even the dictionary lacks
COPIED_ODD, COPIED_RARE = 9, 10  # extended ids, in the order of the source


@pytest.fixture
def builder() -> SlotBuilder:
    source = np.array([GRAPH, ODD, RARE, ODD], np.int32)
    return SlotBuilder(WORDS, Example("d", source, 0, unknown=("odd",)), oov=(ODD, RARE))


def row(*tokens: int, positions: Sequence[int] | None = None) -> DecodedRow:
    return DecodedRow(tokens, [0.5] * len(tokens), positions or [0] * len(tokens))


def test_words_to_eos_are_the_phrase(builder: SlotBuilder) -> None:
    slot = builder.slot(3, row(GRAPH, NETWORK, EOS), null=0.25)
    assert (slot.code, slot.text, slot.null) == (3, "graph network", 0.25)
    assert slot.tokens == ("graph", "network", "<eos>")
    assert slot.probabilities == (0.5, 0.5, 0.5)
    assert slot.ended


@pytest.mark.parametrize("tokens", [[NULL], [GRAPH, NULL], [GRAPH, NETWORK, NULL]])
def test_null_before_eos_drops_the_phrase_and_keeps_the_tokens(
    builder: SlotBuilder, tokens: list[int]
) -> None:
    slot = builder.slot(0, row(*tokens), null=0.0)
    assert slot.text == ""
    assert slot.is_null
    assert slot.tokens == tuple(WORDS.words[t] for t in tokens)


def test_without_eos_all_words_are_kept(builder: SlotBuilder) -> None:
    slot = builder.slot(0, row(*[GRAPH] * 6), null=0.0)
    assert slot.text == " ".join(["graph"] * 6)
    assert not slot.ended
    assert len(slot.word_probabilities) == 6


def test_eos_first_is_no_phrase(builder: SlotBuilder) -> None:
    slot = builder.slot(0, row(EOS), null=0.0)
    assert slot.text == ""
    assert slot.ended
    assert not slot.is_null


def test_other_specials_are_words(builder: SlotBuilder) -> None:
    slot = builder.slot(0, row(PAD, BOS, SEP, PEOS, GRAPH, EOS), null=0.0)
    assert slot.text == "<pad> <bos> <sep> <peos> graph"


def test_copied_words_are_spelt(builder: SlotBuilder) -> None:
    slot = builder.slot(0, row(COPIED_RARE, COPIED_ODD, EOS), null=0.0)
    assert slot.text == "rare odd"


def test_unk_is_the_most_attended_source_word_of_its_own_step(builder: SlotBuilder) -> None:
    slot = builder.slot(0, row(UNK, GRAPH, UNK, EOS, positions=[1, 0, 2, 0]), null=0.0)
    assert slot.text == "odd graph rare"
    (first, second) = builder.slots(row(UNK, SEP, GRAPH, UNK, EOS, positions=[2, 3, 3, 1, 0]))
    assert (first.text, second.text) == ("rare", "graph odd")


def test_unk_stays_where_there_is_no_source() -> None:
    builder = SlotBuilder(WORDS, Example("d", np.array([], np.int32), 0), oov=())
    assert builder.slot(0, row(UNK, EOS), null=0.0).text == "<unk>"


def test_a_sequence_is_split_at_its_separators(builder: SlotBuilder) -> None:
    tokens = (GRAPH, SEP, SEP, NETWORK, GRAPH, PEOS, NETWORK, EOS)
    slots = list(builder.slots(row(*tokens)))
    assert [slot.text for slot in slots] == ["graph", "", "network graph", "network"]
    assert [slot.code for slot in slots] == [0, 1, 2, 3]
    assert [slot.tokens[-1] for slot in slots] == ["<sep>", "<sep>", "<peos>", "<eos>"]
    assert all(slot.ended and slot.null == 0.0 for slot in slots)
    assert [len(slot.probabilities) for slot in slots] == [2, 1, 3, 2]


def test_a_sequence_that_does_not_end_keeps_its_last_words(builder: SlotBuilder) -> None:
    slots = list(builder.slots(row(GRAPH, SEP, NETWORK, NULL)))
    assert [slot.text for slot in slots] == ["graph", "network <null>"]
    assert [slot.ended for slot in slots] == [True, False]
    assert [slot.text for slot in builder.slots(row(GRAPH, SEP))] == ["graph"]


def test_a_nested_row_is_split_and_its_kinds_are_no_words(builder: SlotBuilder) -> None:
    tokens = (PRESENT_START, GRAPH, NETWORK, SEP, ABSENT_START, SEP, ABSENT_START, GRAPH, SEP, EOS)
    slots = list(builder.nested_slots(row(*tokens)))
    assert [slot.text for slot in slots] == ["graph network", "", "graph", ""]
    assert [len(slot.tokens) for slot in slots] == [4, 2, 3, 1]
    assert [len(slot.word_probabilities) for slot in slots] == [2, 0, 1, 0]
    assert not any(slot.is_null for slot in slots)
    (cut,) = builder.nested_slots(row(PRESENT_START, GRAPH))
    assert (cut.text, cut.ended, cut.word_probabilities) == ("graph", False, (0.5,))


def test_pieces_are_joined_and_specials_stay_readable() -> None:
    pieces = {"[UNK]": 0, "graph": 1, "##s": 2, "net": 3, "##work": 4}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.decoder = WordPieceDecoder()
    vocabulary = PieceVocabulary(tokenizer)
    net, work, graph, s = (len(SPECIALS) + id for id in (3, 4, 1, 2))
    builder = SlotBuilder(vocabulary, Example("d", np.array([net, work], np.int32), 0), oov=())
    assert builder.slot(0, row(net, work, graph, s, EOS), null=0.0).text == "network graphs"
    assert builder.slot(0, row(net, work, SEP, graph, EOS), null=0.0).text == "network <sep> graph"
    unk = builder.slot(0, row(net, UNK, EOS, positions=[0, 1, 0]), null=0.0)
    assert unk.text == "network"


def test_a_phrase_of_pieces_has_neither_hyphens_nor_numbers() -> None:
    pieces = {"[UNK]": 0, "self": 1, "-": 2, "organ": 3, "##ising": 4, "90": 5}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.decoder = WordPieceDecoder()
    vocabulary = PieceVocabulary(tokenizer)
    first = len(SPECIALS)
    tokens = [first + n for n in (1, 2, 3, 4, 5)] + [EOS]
    example = Example("a", source=np.array([first], np.int32), title_length=0)
    row = DecodedRow(tokens, [0.5] * 6, [0] * 6)
    slot = SlotBuilder(vocabulary, example, ()).slot(0, row, null=0.1)
    assert slot.text == "self organising <digit>"
    assert slot.tokens[:2] == ("self", "-")
