"""Slots and predictions: the authors' order, scores and probabilities."""

import math

import pytest

from one2set.data.document import Document
from one2set.data.vocabulary import WordVocabulary
from one2set.model.settrans import SetTrans
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import (
    NO_NULL,
    NullBias,
    Order,
    Prediction,
    Slot,
    apply_null_bias,
    predicts_null,
)

BIASES = [NullBias(), NullBias(-1.0, 0.5), NullBias(2.0, -2.0), NO_NULL]


def slot(text: str, *probabilities: float, ended: bool = True) -> Slot:
    tokens = (*text.split(), *(["<eos>"] if ended else []))
    return Slot(0, text, tokens, probabilities, ended)


def prediction(*slots: Slot, order: Order = "score") -> Prediction:
    return Prediction("d", slots, order, source_length=3, read_length=3)


def test_the_score_is_the_mean_over_words_and_the_probability_the_product_over_tokens() -> None:
    generated = slot("graph network", 0.5, 0.7, 0.1)
    assert generated.score == pytest.approx(0.6)
    assert generated.probability == pytest.approx(0.5 * 0.7 * 0.1)
    cut = slot("a b", 0.5, 0.7, ended=False)
    assert cut.score == pytest.approx(0.6)
    assert cut.probability == pytest.approx(0.35)


def test_null_and_empty_slots_have_no_score() -> None:
    null = Slot(0, "", ("<null>",), (0.9,), ended=True, null=0.9)
    assert null.is_null
    assert null.score == 0.0
    assert not slot("", 0.9).is_null
    assert slot("", 0.9).score == 0.0


def test_phrases_of_a_set_are_ordered_by_score_and_duplicates_stay() -> None:
    slots = [
        slot("low", 0.2, 1.0),
        Slot(1, "", ("<null>",), (0.9,), ended=True),
        slot("first of equals", 0.5, 0.5, 0.5, 0.1),
        slot("second", 0.5, 0.9),
        slot("high", 0.8, 0.1),
        slot("low", 0.4, 1.0),
        slot("", 0.9),
    ]
    actual = prediction(*slots)
    expected = ["high", "first of equals", "second", "low", "low"]
    assert [phrase.text for phrase in actual.phrases] == expected
    assert actual.slots == tuple(slots)


def test_phrases_of_a_sequence_keep_their_order() -> None:
    result = prediction(
        slot("low", 0.2, 1.0), slot("", 1.0), slot("high", 0.8, 0.1), order="generated"
    )
    assert [phrase.text for phrase in result.phrases] == ["low", "high"]


def said(prediction: Prediction) -> list[tuple[int, str]]:
    return [(slot.code, slot.text) for slot in prediction.slots]


def test_silenced_codes_are_those_of_a_biased_network(
    settrans: SetTrans, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    engine = Engine(settrans, vocabulary)
    everything = list(engine.predict(documents[:12], null_bias=NO_NULL))
    num_phrases = []
    for bias in BIASES:
        biased = list(engine.predict(documents[:12], null_bias=bias))
        assert [said(apply_null_bias(slot, bias)) for slot in everything] == list(map(said, biased))
        num_phrases.append(sum(len(slot_.phrases) for slot_ in biased))
    assert len(set(num_phrases)) == len(BIASES), "the biases differ in what is said"
    nulls = [slot.null for output in everything for slot in output.slots]
    muted = (apply_null_bias(slot, NullBias(1000, 1000)) for slot in everything)
    assert [slot.null for output in muted for slot in output.slots if slot.is_null] == nulls


def test_a_code_is_silent_if_null_is_more_probable_than_a_word() -> None:
    assert predicts_null(0.2, 0.3, 0.0)
    assert not predicts_null(0.3, 0.3, 0.0)
    assert not predicts_null(0.2, 0.3, math.log(0.5))
    assert predicts_null(0.3, 0.2, math.log(2))


def test_infinite_biases_decide_alone() -> None:
    assert not predicts_null(1e-30, 1.0, -math.inf)
    assert predicts_null(1.0, 1e-30, math.inf)
