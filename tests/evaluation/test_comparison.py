"""Comparison of systems, and bootstrap intervals, against scoring each resample from scratch."""

from typing import Any

import numpy as np
import pytest

from one2set.arrays import Floats
from one2set.evaluation import comparison
from one2set.evaluation.comparison import (
    CELLS,
    compare,
    iterate_document_records,
    paired_bootstrap,
    to_record,
)
from one2set.evaluation.metrics import addends, compute_metrics
from one2set.evaluation.protocols import PROTOCOLS, YE2021, get_protocol
from one2set.evaluation.rankings import Ranking, Rankings
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
    result = compare(systems, YE2021, resamples=0, seed=0)
    assert result.num_documents == 2
    assert result.intervals is None
    for system, scores in zip(result.systems, systems.values(), strict=True):
        for name, protocol in PROTOCOLS.items():
            assert system.metrics[name] == {
                cell: compute_metrics(scores.groups[cell.group], cell.cutoff, protocol)
                for cell in CELLS
            }


def test_a_joined_protocol_is_reported_beside_the_named_ones(systems: dict[str, Scores]) -> None:
    result = compare(systems, get_protocol("micro+unpadded"), resamples=0, seed=0)
    assert [*result.systems[0].metrics] == [*PROTOCOLS, "micro+unpadded"]


def test_the_record_has_every_figure(systems: dict[str, Scores]) -> None:
    record: Any = to_record(compare(systems, YE2021, resamples=20, seed=0))
    good, bad = record["systems"]
    assert good["figures"]["ye2021"]["all@M"]["F1"] == 1.0
    assert (good["Dup"], good["predictions"], good["unique_predictions"]) == (0.25, 4, 3)
    assert good["MAE"] == {"present": 0.0, "absent": 0.0, "all": 0.0}
    assert (bad["#PK"], bad["#AK"]) == (0.5, 0.0)
    assert bad["F1_differences_to_first"]["all@M"] == {"difference": -1.0, "interval": [-1.0, -1.0]}
    assert good["F1_intervals"]["all@M"] == [1.0, 1.0]
    assert record["gold"]["absent"] == {"per_document": 0.5, "documents_with_gold": 1}


def test_document_records_have_gold_predictions_and_metrics(
    golds: list[Gold], systems: dict[str, Scores]
) -> None:
    first, second = iterate_document_records(golds, systems["good"], get_protocol("micro+unpadded"))
    assert first["predictions"] == [
        {"stems": "deep learn", "present": False, "correct": True},
        {"stems": "graph network", "present": True, "correct": True},
    ]
    assert first["gold"] == {"present": ["graph network"], "absent": ["deep learn"]}
    assert (second["predictions_read"], second["unique_predictions"]) == (2, 1)
    assert first["all@5"] == dict.fromkeys(("P", "R", "F1", "MAP", "NDCG", "AlphaNDCG"), 1.0)
    padded, _ = iterate_document_records(golds, systems["good"], YE2021)
    at_5: Any = padded["all@5"]
    assert at_5["P"] == 0.4


def random_system(generator: np.random.Generator, skill: float, size: int = 40) -> list[Ranking]:
    rankings = []
    for _ in range(size):
        hits = (generator.random(6) < skill).tolist()
        rankings.append(
            Ranking(hits, [[] for _ in hits], int(generator.integers(0, 4)) + sum(hits))
        )
    return rankings


@pytest.fixture
def ranked_systems() -> list[list[Ranking]]:
    generator = np.random.default_rng(0)
    return [random_system(generator, skill) for skill in (0.3, 0.35, 0.7)]


def stacked(ranked_systems: list[list[Ranking]], name: str = "ye2021") -> Floats:
    """(D, S, F, 3, 2) with the two figures @5 and @M."""
    parts = [
        [addends(Rankings.of(rankings), cutoff, PROTOCOLS[name])[:, :3] for cutoff in ("5", "M")]
        for rankings in ranked_systems
    ]
    return np.moveaxis(np.array(parts), 2, 0)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_equals_scoring_each_resample_from_scratch(
    ranked_systems: list[list[Ranking]], name: str
) -> None:
    generator = np.random.default_rng(5)
    f1 = []
    for _ in range(30):
        drawn = generator.integers(40, size=40)
        f1.append(
            [
                [
                    compute_metrics(
                        Rankings.of([rankings[at] for at in drawn]), cutoff, PROTOCOLS[name]
                    ).f1
                    for cutoff in ("5", "M")
                ]
                for rankings in ranked_systems
            ]
        )
    values = np.array(f1)  # (B, S, F)
    intervals = paired_bootstrap(
        stacked(ranked_systems, name), PROTOCOLS[name], resamples=30, seed=5
    )
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(intervals.f1, np.stack([low, high], axis=-1), rtol=1e-12)
    low, high = np.quantile(values - values[:, :1], [0.025, 0.975], axis=0)
    np.testing.assert_allclose(intervals.difference, np.stack([low, high], axis=-1), atol=1e-12)


def test_chunks_do_not_change_the_draws(
    ranked_systems: list[list[Ranking]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = paired_bootstrap(stacked(ranked_systems), YE2021, resamples=50, seed=1)
    monkeypatch.setattr(comparison, "_MAX_ELEMENTS", 7 * 40)  # seven resamples at a time
    np.testing.assert_allclose(
        paired_bootstrap(stacked(ranked_systems), YE2021, resamples=50, seed=1).f1,
        whole.f1,
        rtol=1e-12,
    )


def test_intervals_depend_on_the_seed(ranked_systems: list[list[Ranking]]) -> None:
    first, again, other = (
        paired_bootstrap(stacked(ranked_systems), YE2021, resamples=50, seed=seed)
        for seed in (1, 1, 2)
    )
    assert (first.f1 == again.f1).all()
    assert (first.f1 != other.f1).any()


def test_pairing_cancels_what_systems_share(ranked_systems: list[list[Ranking]]) -> None:
    """A system never differs from itself, and clearly from a much better one."""
    intervals = paired_bootstrap(
        stacked([ranked_systems[0], ranked_systems[0], ranked_systems[2]]),
        YE2021,
        resamples=500,
        seed=0,
    )
    assert (intervals.difference[:2] == 0).all()
    assert (intervals.f1[1, :, 0] < intervals.f1[1, :, 1]).all()
    assert (intervals.difference[2, :, 0] > 0).all()


def test_one_document_has_no_spread() -> None:
    rankings = [[Ranking([True, False], [[0], []], 1)]]
    intervals = paired_bootstrap(stacked(rankings), YE2021, resamples=10, seed=0)
    np.testing.assert_allclose(intervals.f1[0, :, 0], intervals.f1[0, :, 1])
