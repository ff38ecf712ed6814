from typing import Any

import pytest

from one2set.evaluation.comparison import CELLS, compare, document_records, to_record
from one2set.evaluation.metrics import compute_metrics
from one2set.evaluation.protocols import PROTOCOLS, YE2021, get_protocol
from one2set.evaluation.scoring import Gold, Scores, gold_from_lines, score


@pytest.fixture
def golds() -> list[Gold]:
    return [
        gold_from_lines("graph networks <eos> we train networks", "graph network;deep learning"),
        gold_from_lines("a survey <eos> of surveys", "survey"),
    ]


@pytest.fixture
def systems(golds: list[Gold]) -> dict[str, Scores]:
    return {
        "good": score(golds, [["deep learning", "graph networks"], ["survey", "surveys"]]),
        "bad": score(golds, [["graphs"], []]),
    }


def test_every_cell_under_every_protocol(systems: dict[str, Scores]) -> None:
    comparison = compare(systems, YE2021, resamples=0, seed=0)
    assert comparison.num_documents == 2
    assert comparison.intervals is None
    for system, scores in zip(comparison.systems, systems.values(), strict=True):
        for name, protocol in PROTOCOLS.items():
            assert system.metrics[name] == {
                cell: compute_metrics(scores.groups[cell.group], cell.cutoff, protocol)
                for cell in CELLS
            }


def test_a_joined_protocol_stands_beside_the_named_ones(systems: dict[str, Scores]) -> None:
    comparison = compare(systems, get_protocol("micro+unpadded"), resamples=0, seed=0)
    assert [*comparison.systems[0].metrics] == [*PROTOCOLS, "micro+unpadded"]


def test_record(systems: dict[str, Scores]) -> None:
    record: Any = to_record(compare(systems, YE2021, resamples=20, seed=0))
    good, bad = record["systems"]
    assert good["figures"]["ye2021"]["all@M"]["F1"] == 1.0
    assert (good["Dup"], good["predictions"], good["unique_predictions"]) == (0.25, 4, 3)
    assert good["MAE"] == {"present": 0.0, "absent": 0.0, "all": 0.0}
    assert (bad["#PK"], bad["#AK"]) == (0.5, 0.0)
    assert bad["F1_differences_to_first"]["all@M"] == {"difference": -1.0, "interval": [-1.0, -1.0]}
    assert good["F1_intervals"]["all@M"] == [1.0, 1.0]
    assert record["gold"]["absent"] == {"per_document": 0.5, "documents_with_gold": 1}


def test_documents(golds: list[Gold], systems: dict[str, Scores]) -> None:
    first, second = document_records(golds, systems["good"], get_protocol("micro+unpadded"))
    assert first["predictions"] == [
        {"stems": "deep learn", "present": False, "correct": True},
        {"stems": "graph network", "present": True, "correct": True},
    ]
    assert first["gold"] == {"present": ["graph network"], "absent": ["deep learn"]}
    assert (second["predictions_read"], second["unique_predictions"]) == (2, 1)
    assert first["all@5"] == dict.fromkeys(("P", "R", "F1", "MAP", "NDCG", "AlphaNDCG"), 1.0)
    padded, _ = document_records(golds, systems["good"], YE2021)
    at_5: Any = padded["all@5"]
    assert at_5["P"] == 0.4
