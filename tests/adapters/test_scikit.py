"""The transformer works in scikit-learn's pipelines and vectorisers."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from one2set.adapters.scikit import KeyphraseTransformer
from one2set.errors import ConfigError, DataError
from one2set.keyphrases.generator import KeyphraseGenerator


@pytest.fixture
def transformer(model: Path) -> KeyphraseTransformer:
    return KeyphraseTransformer(str(model), top=5, threads=1)


def test_it_gives_the_generator_s_keyphrases(
    transformer: KeyphraseTransformer, generator: KeyphraseGenerator, texts: list[str]
) -> None:
    expected = [
        [keyphrase.text.lower() for keyphrase in keyphrases]
        for keyphrases in generator.generate(texts, top=5)
    ]
    assert any(expected)
    assert transformer.fit_transform(texts) == expected
    assert [transformer(text) for text in texts] == expected


def test_in_a_pipeline_with_cross_validation(
    transformer: KeyphraseTransformer, texts: list[str]
) -> None:
    pipeline = make_pipeline(transformer, TfidfVectorizer(analyzer=list), LogisticRegression())
    labels = np.arange(len(texts)) % 2
    assert (pipeline.fit(texts, labels).predict(texts) == labels).mean() > 0.5
    assert len(cross_val_predict(pipeline, texts, labels, cv=2)) == len(texts)


def test_as_the_analyzer_of_a_vectoriser(
    transformer: KeyphraseTransformer, texts: list[str]
) -> None:
    vectoriser = clone(CountVectorizer(analyzer=transformer))
    counts = vectoriser.fit_transform(texts)
    names = vectoriser.get_feature_names_out()
    for row, text in enumerate(texts):
        assert {names[column] for column in counts[row].indices} == set(transformer(text))


def test_parameters_and_copies(transformer: KeyphraseTransformer, texts: list[str]) -> None:
    assert clone(transformer).get_params() == transformer.get_params()
    expected = transformer(texts[0])
    assert pickle.loads(pickle.dumps(transformer))(texts[0]) == expected
    assert len(transformer.set_params(top=1)(texts[0])) <= 1
    light = KeyphraseTransformer("light", threads=1)
    assert transformer.set_params(model="light", top=None).transform(texts) == light.transform(
        texts
    )


def test_a_model_that_cannot_be_loaded_is_never_taken_for_loaded(
    transformer: KeyphraseTransformer, texts: list[str]
) -> None:
    transformer.transform(texts)
    transformer.set_params(model="typo")
    for _ in range(2):
        with pytest.raises(ConfigError, match="typo"):
            transformer.transform(texts)


def test_a_single_text_is_refused(transformer: KeyphraseTransformer, texts: list[str]) -> None:
    with pytest.raises(DataError, match="put it into a list"):
        transformer.transform(texts[0])
