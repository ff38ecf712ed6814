"""Fitting a selector: that its network learns what keyphrases are."""

import numpy as np

from one2set.extraction.train_scorers import fit


def test_the_network_learns_from_measures() -> None:
    random = np.random.default_rng(0)
    measures = random.normal(size=(20_000, 6)).astype(np.float32)
    measures[:, 5] = 3  # which tells nothing
    correct = measures[:, 0] * measures[:, 1] > 0.5  # no linear model could tell
    layers = fit(measures, correct)
    odds = layers(measures)
    assert np.mean((odds > 0) == correct) > 0.95
    assert np.array_equal(layers(measures + np.eye(6, dtype=np.float32)[5]), odds)
    again = fit(measures, correct)(measures)
    assert np.array_equal(odds, again)
