"""What readers are shown: places, spelling, and each phrase once."""

import pytest

from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.inference.calibration import Calibration, Curve
from one2set.inference.prediction import Prediction, Slot
from one2set.inference.presentation import Keyphrase, keyphrases, select

DOCUMENT = Document(
    "d",
    "Real-Time Graph Networks",
    "A graph network for 3D\nmodels of Graph Networks.",
)


def predicted(*texts: str) -> Prediction:
    """Slots whose scores fall by the order given."""
    slots = []
    for rank, text in enumerate(texts):
        words = text.split()
        p = 0.9 - 0.1 * rank
        slots.append(Slot(rank, text, (*words, "<eos>"), (p,) * (len(words) + 1), ended=True))
    return Prediction("d", tuple(slots), "score", 12, 12)


def test_every_phrase_with_its_places_duplicates_included() -> None:
    found = keyphrases(predicted("graph networks", "deep nets", "graph network"), DOCUMENT)
    assert [one.text for one in found] == ["graph networks", "deep nets", "graph network"]
    assert [one.present for one in found] == [True, False, True]
    surfaces = [DOCUMENT.text[start:end] for start, end in found[0].spans]
    assert surfaces == ["Graph Networks", "graph network", "Graph Networks"]
    assert found[0].spans == found[2].spans
    assert found[0].score == pytest.approx(0.9)
    assert found[0].probability == pytest.approx(0.9**3)


def test_probabilities_are_calibrated_by_half() -> None:
    calibration = Calibration(Curve(20.0, 0.0, 0.0, 0.0), Curve(-20.0, 0.0, 0.0, 0.0))
    found = keyphrases(predicted("graph network", "nets"), DOCUMENT, calibration=calibration)
    assert [one.probability for one in found] == pytest.approx([1.0, 0.0], abs=1e-6)


def test_selection_shows_each_phrase_once_as_the_document_spells_it() -> None:
    texts = ["graph network", "graph networks", "deep nets", "real time", "3d models"]
    chosen = select(keyphrases(predicted(*texts), DOCUMENT), DOCUMENT, by="score")
    assert [one.text for one in chosen] == ["graph network", "deep nets", "Real-Time", "3D models"]
    assert [one.present for one in chosen] == [True, False, True, True]


def test_the_inflection_that_was_written_is_preferred() -> None:
    (plural,) = select(keyphrases(predicted("graph networks"), DOCUMENT), DOCUMENT)
    assert plural.text == "Graph Networks"
    (other,) = select(keyphrases(predicted("graph networking"), DOCUMENT), DOCUMENT)
    assert other.text == "Graph Networks"  # the first place, as none is written so


def made(text: str, score: float, probability: float) -> Keyphrase:
    return Keyphrase(text, score, probability, ())


def test_order_limit_and_threshold() -> None:
    found = [made("a", 0.9, 0.1), made("b", 0.5, 0.6), made("c", 0.7, 0.4), made("d", 0.7, 0.4)]

    def texts(**options: object) -> str:
        return "".join(k.text for k in select(found, DOCUMENT, **options))  # type: ignore[arg-type]

    assert texts() == "bcda"
    assert texts(by="score") == "acdb"
    assert texts(least=0.4) == "bcd"
    assert texts(by="score", least=0.6, top=2) == "ac"
    assert texts(top=0) == ""
    with pytest.raises(ConfigError, match="top is -1"):
        texts(top=-1)


def test_of_duplicates_the_best_counts() -> None:
    found = [made("nets", 0.9, 0.1), made("net", 0.1, 0.8)]
    assert [one.text for one in select(found, DOCUMENT)] == ["net"]
    assert [one.text for one in select(found, DOCUMENT, by="score")] == ["nets"]
