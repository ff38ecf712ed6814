"""Exploration: what one run of the network finds at every position is what as many runs find."""

import pytest

from one2set.data.document import Document, StemmedDocument
from one2set.data.vocabulary import WordVocabulary
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.keyphrases.candidates import CandidateBuilder
from one2set.keyphrases.exploration import BIASES, explore
from one2set.keyphrases.selection import Selection
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import apply_null_bias
from one2set.search.null_bias import NO_NULL


@pytest.fixture(scope="module")
def engine(settrans: SetTrans, vocabulary: WordVocabulary) -> Engine:
    return Engine(settrans, vocabulary)


def test_codes_speak_from_their_position_on(engine: Engine, documents: list[Document]) -> None:
    calibration = Calibration(SideCalibration(-1.0), SideCalibration(0.5))
    document = StemmedDocument.of(documents[0])
    (prediction,) = engine.predict(documents[:1], null_bias=NO_NULL)
    found = explore(CandidateBuilder(document), [(prediction, document)], calibration, [])
    (voices,) = found.passages
    assert [voice.side for voice in voices] == ["present"] * 4 + ["absent"] * 4
    for voice in voices:
        for more, speaks in ((voice.since - 0.001, False), (voice.since + 0.001, True)):
            heard = apply_null_bias(prediction, calibration.null_bias(more))
            assert (heard.slots[voice.slot.code] == voice.slot) == speaks


def test_a_sequence_has_no_codes_to_silence(
    transformer: Transformer, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    engine = Engine(transformer, vocabulary)
    some = map(StemmedDocument.of, documents[:4])
    for document, prediction in zip(some, engine.predict(documents[:4]), strict=True):
        pair = [(prediction, document)]
        found = explore(
            CandidateBuilder(document), pair, Calibration(), [Selection(more=-3.0), Selection()]
        )
        assert {voice.side for voice in found.passages[0]} <= {None}
        (_, fewest), (_, usual) = found.dial
        assert fewest == usual


def test_the_stems_of_a_keyphrase_are_those_of_the_codes_that_say_it(
    engine: Engine, documents: list[Document]
) -> None:
    for document in map(StemmedDocument.of, documents[:10]):
        (prediction,) = engine.predict([document.document], null_bias=NO_NULL)
        found = explore(
            CandidateBuilder(document), [(prediction, document)], Calibration(), [Selection()]
        )
        voices = {voice.stems for voice in found.passages[0]}
        for _, keyphrases in found.dial:
            assert {found.stems(one.text) for one in keyphrases} <= voices


def test_the_dial_goes_both_ways() -> None:
    assert list(BIASES) == sorted(BIASES)
    assert 0.0 in BIASES
    assert BIASES[0] == -BIASES[-1]
