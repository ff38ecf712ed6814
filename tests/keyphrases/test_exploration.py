"""One run of the network gives the keyphrases of every slider position."""

import pytest

from one2set.data.document import Document, StemmedDocument
from one2set.data.vocabulary import WordVocabulary
from one2set.extraction.knowledge import NO_KNOWLEDGE
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.keyphrases.exploration import DIAL, Exploration, explore
from one2set.keyphrases.phrase_speller import NO_SPELLER
from one2set.keyphrases.selection import Selection
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import NO_NULL, Prediction, apply_null_bias


@pytest.fixture(scope="module")
def engine(settrans: SetTrans, vocabulary: WordVocabulary) -> Engine:
    return Engine(settrans, vocabulary)


def explore_at(
    document: StemmedDocument, prediction: Prediction, calibration: Calibration, *more: float
) -> Exploration:
    selections = [Selection(more=value) for value in more]
    model = calibration, NO_KNOWLEDGE, NO_SPELLER
    return explore(document, [(prediction, document)], model, selections)


def test_codes_generate_at_the_calibrated_bias(engine: Engine, documents: list[Document]) -> None:
    calibration = Calibration(SideCalibration(-1.0), SideCalibration(0.5))
    document = StemmedDocument.of(documents[0])
    (prediction,) = engine.predict(documents[:1], null_bias=NO_NULL)
    (outputs,) = explore_at(document, prediction, calibration).passages
    assert [output.side for output in outputs] == ["present"] * 4 + ["absent"] * 4
    biased = apply_null_bias(prediction, calibration.null_bias())
    for output in outputs:
        assert (biased.slots[output.slot.code] == output.slot) == output.generates


def test_a_sequence_has_no_codes_to_silence(
    transformer: Transformer, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    engine = Engine(transformer, vocabulary)
    some = map(StemmedDocument.of, documents[:4])
    for document, prediction in zip(some, engine.predict(documents[:4]), strict=True):
        result = explore_at(document, prediction, Calibration(), -3.0, 0.0)
        assert {output.side for output in result.passages[0]} <= {None}
        (_, fewest), (_, usual) = result.dial
        assert {keyphrase.text for keyphrase in fewest} <= {keyphrase.text for keyphrase in usual}


def test_stems_connect_keyphrases_with_the_codes_that_generate_them(
    engine: Engine, documents: list[Document]
) -> None:
    for document in map(StemmedDocument.of, documents[:10]):
        (prediction,) = engine.predict([document.document], null_bias=NO_NULL)
        result = explore_at(document, prediction, Calibration(), 0.0)
        outputs = {output.stems for output in result.passages[0]}
        for _, keyphrases in result.dial:
            assert {result.stems(keyphrase.text) for keyphrase in keyphrases} <= outputs


def test_the_dial_has_both_directions() -> None:
    assert list(DIAL) == sorted(DIAL)
    assert 0.0 in DIAL
    assert DIAL[0] == -DIAL[-1]
