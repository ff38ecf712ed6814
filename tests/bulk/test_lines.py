"""Lines of predictions and of keyphrases."""

import json
from dataclasses import replace

from one2set.bulk.lines import format_as_text, format_keyphrases, format_prediction
from one2set.data.document import Document
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.results import Keyphrase
from one2set.prediction.prediction import Prediction, Slot


def test_lines() -> None:
    document = Document("d", "", "Graph networks.")
    said = Slot(
        2, "graph network", ("graph", "network", "<eos>"), (0.5, 0.25, 0.1234567), True, 0.1
    )
    null = Slot(3, "", ("<null>",), (0.9,), True, 0.9)
    again = replace(said, code=4, probabilities=(0.1, 0.1, 0.1), text="nets")
    prediction = Prediction("d", (said, null, again, said), "score", 3, 2)
    assert format_as_text(prediction) == b"graph network;graph network;nets\n"
    record = json.loads(format_prediction(document, prediction, Calibration(), slots=False))
    phrase = {"text": "graph network", "score": 0.375, "probability": 0.0154321, "present": True}
    other = {"text": "nets", "score": 0.1, "probability": 0.001, "present": False}
    assert record == {
        "id": "d",
        "keyphrases": [phrase, phrase, other],
        "source_length": 3,
        "read_length": 2,
    }
    sure = Calibration(absent=SideCalibration(generated=LogisticModel(0.0, {})))
    record = json.loads(format_prediction(document, prediction, sure, slots=False))
    assert [one["probability"] for one in record["keyphrases"]] == [0.0154321, 0.0154321, 0.5]
    whole = replace(prediction, read_length=3)
    record = json.loads(format_prediction(document, whole, Calibration(), slots=True))
    assert "source_length" not in record
    assert [slot["code"] for slot in record["slots"]] == [2, 3, 4, 2]
    assert record["slots"][1]["tokens"] == ["<null>"]
    assert format_as_text(replace(prediction, slots=())) == b"\n"


def test_lines_of_keyphrases() -> None:
    document = Document("d", "", "Graph networks.")
    found = [
        Keyphrase("Graph networks", 0.54321, True, ((0, 14),)),
        Keyphrase("nets", 0.1, False, ()),
    ]
    assert json.loads(format_keyphrases(document, found)) == {
        "id": "d",
        "keyphrases": [
            {"text": "Graph networks", "score": 0.5432, "present": True, "spans": [[0, 14]]},
            {"text": "nets", "score": 0.1, "present": False, "spans": []},
        ],
    }
