"""BERTopic represents topics by keyphrases. Embeddings are given: no language model is loaded."""

import pickle
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer

from one2set.adapters.scikit import KeyphraseTransformer
from one2set.data.text import stem_all, words_of
from one2set.keyphrases.generator import KeyphraseGenerator

if TYPE_CHECKING:
    from one2set.adapters.bertopic import KeyphraseRepresentation

_UNUSED = ("sentence_transformers", "umap", "hdbscan")  # BERTopic does without, and starts faster
_EMBEDDINGS = np.array([[0, 1], [0.1, 1], [0, 0.9], [1, 0], [1, 0.1], [0.9, 0]])  # two topics


@pytest.fixture(scope="module", autouse=True)
def _light() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in _UNUSED:
            patch.setitem(sys.modules, name, None)
        pytest.importorskip("bertopic", reason="needs one2set[bertopic]")
        yield


@pytest.fixture
def representation(model: Path) -> "KeyphraseRepresentation":
    from one2set.adapters.bertopic import KeyphraseRepresentation

    return KeyphraseRepresentation(str(model), top=4, threads=1)


def fitted(texts: list[str], **options: Any) -> Any:
    from bertopic import BERTopic

    topics = BERTopic(
        umap_model=PCA(2), hdbscan_model=KMeans(2, n_init=1, random_state=0), **options
    )
    return topics.fit(texts, embeddings=_EMBEDDINGS)


def oracle(generator: KeyphraseGenerator, topics: dict[int, list[str]]) -> dict[int, Any]:
    """c-TF-IDF as BERTopic's page has it, on a table of topics × phrases."""
    by_topic = {topic: list(chain(*generator.generate(texts))) for topic, texts in topics.items()}
    names = sorted(
        {
            stem_all(words_of(keyphrase.text))
            for keyphrases in by_topic.values()
            for keyphrase in keyphrases
        }
    )
    counts = np.zeros((len(topics), len(names)))
    for row, topic in enumerate(topics):
        for keyphrase in by_topic[topic]:
            counts[row, names.index(stem_all(words_of(keyphrase.text)))] += keyphrase.score
    share = counts / counts.sum(1, keepdims=True)
    weights = share * np.log(1 + counts.sum(1).mean() / counts.sum(0))
    return {
        topic: {names[column]: weights[row, column] for column in np.argsort(-weights[row])[:4]}
        for row, topic in enumerate(topics)
    }


def test_topics_are_described_by_their_documents_keyphrases(
    representation: "KeyphraseRepresentation", generator: KeyphraseGenerator, texts: list[str]
) -> None:
    fit = fitted(texts, representation_model=representation)
    members: dict[int, list[str]] = {}
    for text, topic in zip(texts, fit.topics_, strict=True):
        members.setdefault(topic, []).append(text)
    assert len(members) == 2
    for topic, expected in oracle(generator, members).items():
        described = dict(fit.get_topic(topic))
        assert len(described) == 4
        assert {stem_all(words_of(phrase)) for phrase in described} == set(expected)
        np.testing.assert_allclose(list(described.values()), sorted(expected.values())[::-1])
        spoken = " ".join(members[topic]).lower()
        assert any(phrase in spoken for phrase in described)
    names = fit.get_topic_info().Name
    assert all(next(iter(dict(fit.get_topic(topic)))) in names[topic] for topic in members)


def test_it_works_with_words_hierarchies_and_merged_topics(
    representation: "KeyphraseRepresentation", texts: list[str]
) -> None:
    fit = fitted(texts, representation_model={"Keyphrases": representation})
    aspects = fit.get_topic(0, full=True)
    assert all(" " not in word for word, _ in aspects["Main"])
    assert any(" " in phrase for phrase, _ in aspects["Keyphrases"])
    again = fitted(texts, representation_model=representation)
    assert len(again.hierarchical_topics(texts)) == 1
    again.merge_topics(texts, [0, 1])
    assert 1 <= len(again.get_topic(0)) <= 4


def test_large_topics_are_sampled(
    representation: "KeyphraseRepresentation", texts: list[str]
) -> None:
    representation.set_params(documents=1)
    fitted(texts, representation_model=representation)
    assert len(representation._cache) == 2


def test_a_topic_without_keyphrases_keeps_its_words(
    representation: "KeyphraseRepresentation",
) -> None:
    import pandas

    representation.set_params(only="present")
    table = pandas.DataFrame({"Document": ["…", None, "!"], "Topic": [0, 0, 1]})
    words = {0: [("word", 0.5)], 1: [("other", 0.4)]}
    assert representation.extract_topics(None, table, None, words) == words


def test_parameters_and_copies(representation: "KeyphraseRepresentation", texts: list[str]) -> None:
    expected = fitted(texts, representation_model=representation).get_topics()
    copy = pickle.loads(pickle.dumps(representation))
    assert copy.get_params() == representation.get_params()
    assert fitted(texts, representation_model=copy).get_topics() == expected
    light = pickle.loads(pickle.dumps(representation)).set_params(model="light")
    other = fitted(texts, representation_model=light).get_topics()
    assert other != expected
    assert fitted(texts, representation_model=copy.set_params(model="light")).get_topics() == other


def test_the_transformer_works_as_the_analyzer(model: Path, texts: list[str]) -> None:
    analyzer = KeyphraseTransformer(str(model), top=5, threads=1)
    fit = fitted(texts, vectorizer_model=CountVectorizer(analyzer=analyzer))
    # BERTopic hands over each topic's documents as one text, without its marks.
    assert any(" " in phrase for phrase, _ in fit.get_topic(0))
