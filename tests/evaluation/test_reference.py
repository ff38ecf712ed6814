"""Every number equals the one that the authors' evaluation printed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from one2set.evaluation.comparison import Cell, compare, iterate_document_records, to_record
from one2set.evaluation.inputs import read_pair, read_predictions
from one2set.evaluation.metrics import MetricValues
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import GROUPS, Gold, Group, Scores, score

REFERENCE = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "metrics"
SYNTHETIC = REFERENCE / "synthetic"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not REFERENCE.exists(), reason="../shared is not here"),
]


@pytest.fixture(scope="module")
def golds() -> list[Gold]:
    return read_pair(str(REFERENCE / "src.txt"), str(REFERENCE / "trg.txt"))


@pytest.fixture(scope="module")
def scores(golds: list[Gold]) -> Scores:
    return score(golds, read_predictions(str(SYNTHETIC / "predictions.txt"), golds))


@pytest.fixture(scope="module")
def metrics(scores: Scores) -> dict[str, dict[Cell, MetricValues]]:
    return compare({"synthetic": scores}, YE2021, resamples=0, seed=0).systems[0].metrics


@pytest.fixture(scope="module")
def log() -> dict[str, str]:
    """The printed report, by group: under ====name==== headings."""
    text = (SYNTHETIC / "results_log_5_M_5_M_5_M.txt").read_text()
    parts = re.split(r"^=+(all|present|absent|MAE stat)=+$", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def printed(values: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(f"{value:.5}" for value in values)


@pytest.mark.parametrize("group", GROUPS)
def test_metrics_equal_those_that_the_authors_print(
    group: Group, log: dict[str, str], metrics: dict[str, dict[Cell, MetricValues]]
) -> None:
    for cutoff in ("5", "M"):
        cell = Cell(group, cutoff)
        for average, protocol in (("Micro", "micro"), ("Macro", "ye2021")):
            row = re.search(
                rf"{average}:\tP@{cutoff}=(\S+)\tR@{cutoff}=(\S+)\tF1@{cutoff}=(\S+)", log[group]
            )
            assert row is not None
            assert printed(metrics[protocol][cell][:3]) == row.groups()
        row = re.search(
            rf"MAP@{cutoff}=(\S+)\tNDCG@{cutoff}=(\S+)\tAlphaNDCG@{cutoff}=(\S+)", log[group]
        )
        assert row is not None
        assert printed(metrics["ye2021"][cell][3:]) == row.groups()


def test_counts_equal_those_that_the_authors_print(log: dict[str, str], scores: Scores) -> None:
    comparison = compare({"synthetic": scores}, YE2021, resamples=0, seed=0)
    system = comparison.systems[0]
    present, absent = system.counts["present"], system.counts["absent"]
    assert log[""].startswith(
        f"Total #samples: {comparison.num_documents}\t "
        f"# samples with present keyphrases: {present.documents_with_gold}\t "
        f"# samples with absent keyphrases: {absent.documents_with_gold}\n"
    )
    assert (
        f"Total #unique predictions: {system.num_unique}/{system.num_read}, "
        f"dup ratio {system.duplication:.3f}\n"
    ) in log[""]
    for group, result in system.counts.items():
        assert f"#predictions after filtering per src:{result.predicted:.3f}\n" in log[group]
        assert f"#unique targets per src:{result.gold:.3f}\n" in log[group]
        error = f"MAE on keyphrase numbers ({group}): {result.mean_absolute_error:.5}\n"
        assert error in log["MAE stat"]


def test_the_table_equals_that_of_the_authors(metrics: dict[str, dict[Cell, MetricValues]]) -> None:
    names, values = (
        line.split("\t")
        for line in (SYNTHETIC / "results_log_5_M_5_M_5_M.tsv").read_text().splitlines()
    )
    order = ("macro_avg_p", "macro_avg_r", "macro_avg_f1", "MAP", "avg_NDCG", "AlphaNDCG")
    result = {
        f"{name}@{cell.cutoff}_{cell.group}": f"{value:.5f}"
        for cell, values in metrics["ye2021"].items()
        for name, value in zip(order, values, strict=True)
    }
    assert len(names) == 36
    assert [result[name] for name in names] == values


def test_unrounded_metrics_equal_those_of_the_authors(scores: Scores) -> None:
    """Bit for bit, where it can be: our sums run in the same order."""
    expected: dict[str, Any] = json.loads((SYNTHETIC / "unrounded.json").read_text())
    record: Any = to_record(compare({"synthetic": scores}, YE2021, resamples=0, seed=0))
    (system,) = record["systems"]
    for cell in ("all@5", "all@M", "present@5", "present@M", "absent@5", "absent@M"):
        want = expected[cell]
        ye2021 = system["figures"]["ye2021"][cell]
        assert [ye2021[name] for name in ("P", "R", "F1")] == [want["P"], want["R"], want["F1"]]
        mean_f1 = system["figures"]["mean-f1"][cell]["F1"]
        assert mean_f1 == pytest.approx(want["mean_doc_F1_not_reported"], rel=1e-13)
    assert [system[name] for name in ("#PK", "#AK", "Dup")] == [
        expected[name] for name in ("#PK", "#AK", "Dup")
    ]
    assert record["gold"]["present"]["per_document"] == expected["gold_#PK"]
    assert record["gold"]["absent"]["per_document"] == expected["gold_#AK"]


def test_metrics_of_every_document_equal_those_of_the_authors(
    golds: list[Gold], scores: Scores
) -> None:
    expected: dict[str, list[float]] = json.loads((SYNTHETIC / "per_doc_scores.json").read_text())
    names = {"P": "precision", "R": "recall", "F1": "f1_score", "MAP": "AP"}
    compared = set()
    for at, record in enumerate(iterate_document_records(golds, scores, YE2021)):
        for group in GROUPS:
            for cutoff in ("5", "M"):
                actual: Any = record[f"{group}@{cutoff}"]
                for name, value in actual.items():
                    column = f"{names.get(name, name)}@{cutoff}_{group}"
                    assert value == pytest.approx(expected[column][at], rel=1e-12), (column, at)
                    compared.add(column)
            rankings = scores.groups[group]
            assert rankings.num_gold[at] == expected[f"num_targets_{group}"][at]
            assert rankings.num_predicted[at] == expected[f"num_predictions_{group}"][at]
    assert len(compared) == 36


def test_filtered_predictions_equal_those_of_the_authors(scores: Scores) -> None:
    expected = (SYNTHETIC / "predictions_filtered.txt").read_text().removesuffix("\n").split("\n")
    assert [";".join(matched.phrases) for matched in scores.matched] == expected
