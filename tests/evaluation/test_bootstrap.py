import numpy as np
import pytest

from one2set.arrays import Floats
from one2set.evaluation import bootstrap
from one2set.evaluation.bootstrap import paired_bootstrap
from one2set.evaluation.metrics import addends, compute_metrics
from one2set.evaluation.protocols import PROTOCOLS, YE2021
from one2set.evaluation.rankings import Ranking, Rankings


def random_system(generator: np.random.Generator, skill: float, size: int = 40) -> list[Ranking]:
    rankings = []
    for _ in range(size):
        hits = (generator.random(6) < skill).tolist()
        rankings.append(
            Ranking(hits, [[] for _ in hits], int(generator.integers(0, 4)) + sum(hits))
        )
    return rankings


@pytest.fixture
def systems() -> list[list[Ranking]]:
    generator = np.random.default_rng(0)
    return [random_system(generator, skill) for skill in (0.3, 0.35, 0.7)]


def stacked(systems: list[list[Ranking]], name: str = "ye2021") -> Floats:
    """(D, S, F, 3, 2) with the two figures @5 and @M."""
    parts = [
        [addends(Rankings.of(rankings), cutoff, PROTOCOLS[name])[:, :3] for cutoff in ("5", "M")]
        for rankings in systems
    ]
    return np.moveaxis(np.array(parts), 2, 0)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_equals_scoring_each_resample_from_scratch(systems: list[list[Ranking]], name: str) -> None:
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
                for rankings in systems
            ]
        )
    values = np.array(f1)  # (B, S, F)
    found = paired_bootstrap(stacked(systems, name), PROTOCOLS[name], resamples=30, seed=5)
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(found.f1, np.stack([low, high], axis=-1), rtol=1e-12)
    low, high = np.quantile(values - values[:, :1], [0.025, 0.975], axis=0)
    np.testing.assert_allclose(found.difference, np.stack([low, high], axis=-1), atol=1e-12)


def test_chunks_do_not_change_the_draws(
    systems: list[list[Ranking]], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = paired_bootstrap(stacked(systems), YE2021, resamples=50, seed=1)
    monkeypatch.setattr(bootstrap, "_CELLS", 7 * 40)  # seven resamples at a time
    np.testing.assert_allclose(
        paired_bootstrap(stacked(systems), YE2021, resamples=50, seed=1).f1, whole.f1, rtol=1e-12
    )


def test_the_seed_decides(systems: list[list[Ranking]]) -> None:
    first, again, other = (
        paired_bootstrap(stacked(systems), YE2021, resamples=50, seed=seed) for seed in (1, 1, 2)
    )
    assert (first.f1 == again.f1).all()
    assert (first.f1 != other.f1).any()


def test_pairing_cancels_what_systems_share(systems: list[list[Ranking]]) -> None:
    """A system never differs from itself, and clearly from a much better one."""
    found = paired_bootstrap(
        stacked([systems[0], systems[0], systems[2]]), YE2021, resamples=500, seed=0
    )
    assert (found.difference[:2] == 0).all()
    assert (found.f1[1, :, 0] < found.f1[1, :, 1]).all()
    assert (found.difference[2, :, 0] > 0).all()


def test_one_document_has_no_spread() -> None:
    one = [[Ranking([True, False], [[0], []], 1)]]
    found = paired_bootstrap(stacked(one), YE2021, resamples=10, seed=0)
    np.testing.assert_allclose(found.f1[0, :, 0], found.f1[0, :, 1])
