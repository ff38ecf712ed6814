"""A candidate scorer learns from features."""

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.fit_knowledge import fit_knowledge, fit_mlp


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


def test_documents_without_words_are_refused() -> None:
    documents = [Document(str(number), "", "...", ("a keyphrase",)) for number in range(20)]
    with pytest.raises(DataError, match="no document has a word that may begin a keyphrase"):
        fit_knowledge(lambda: documents)
