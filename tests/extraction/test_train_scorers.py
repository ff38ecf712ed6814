"""A candidate scorer learns from features."""

import numpy as np

from one2set.extraction.train_scorers import fit_mlp


def test_the_network_learns_from_features() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(20_000, 6)).astype(np.float32)
    features[:, 5] = 3  # a constant feature
    correct = features[:, 0] * features[:, 1] > 0.5  # no linear model could tell
    layers = fit_mlp(features, correct)
    odds = layers(features)
    assert np.mean((odds > 0) == correct) > 0.95
    assert np.array_equal(layers(features + np.eye(6, dtype=np.float32)[5]), odds)
    again = fit_mlp(features, correct)(features)
    assert np.array_equal(odds, again)
