"""BagOfWordsClassifier: against a plain computation, and that words come to speak of phrases."""

from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.build_lexicon import LabelledTexts, build_lexicon
from one2set.extraction.lexicon import key_of
from one2set.extraction.ngrams import HashedTexts, hash_of
from one2set.extraction.phrase_classifier import FILE, BagOfWordsClassifier, fit_phrase_classifier

TOPICS = ("cat", "dog", "fish", "owl")


def text_of(words: str, title: int = 0) -> HashedTexts:
    return HashedTexts.of([words.split()], [title])


@pytest.fixture(scope="module")
def fitted() -> BagOfWordsClassifier:
    """Each topic has four words, and two of them stand in a text whose keyphrase it is."""
    random = np.random.default_rng(0)
    documents, targets = [], []
    for number in range(1200):
        topic = number % 4
        own = [f"{TOPICS[topic]}{letter}" for letter in random.permutation([*"abcd"])[:2]]
        documents.append(Document(str(number), "", f"we say {' '.join(own)} here", ("topic",)))
        targets.append([topic])
    chunks = [LabelledTexts(documents[:500]), LabelledTexts(documents[500:])]
    texts = (chunk.words for chunk in chunks)
    return fit_phrase_classifier(texts, targets, [300] * 4, build_lexicon(chunks))


def test_words_come_to_speak_of_phrases(fitted: BagOfWordsClassifier) -> None:
    for topic, name in enumerate(TOPICS):
        likely, lift = fitted(text_of(f"{name}a {name}b"))
        assert np.argmax(likely) == topic
        assert np.exp(likely).sum() == pytest.approx(1, abs=1e-4)
        assert likely - lift == pytest.approx(np.log([0.25] * 4), abs=1e-5)
    nothing, _ = fitted(text_of("never seen"))
    assert np.exp(nothing) == pytest.approx([0.25] * 4, abs=0.1)


def test_against_a_plain_computation() -> None:
    random = np.random.default_rng(1)
    names = ["a", "b", "c"]
    order = np.argsort(key_of(np.array([hash_of([name]) for name in names], np.uint64)))
    vectors = random.normal(size=(4, 5)).astype(np.float32)
    phrases, bias = random.normal(size=(6, 5)).astype(np.float32), np.zeros(6, np.float32)
    keys = np.sort(key_of(np.array([hash_of([name]) for name in names], np.uint64)))
    phrase_classifier = BagOfWordsClassifier(keys, vectors, phrases, bias, bias)
    vector = {names[number]: vectors[place] for place, number in enumerate(order)}
    body, title = (vector["a"] + vector["b"]) / np.sqrt(3), vector["b"] / np.sqrt(2)
    scores = np.exp(phrases @ (body + title))
    likely, _ = phrase_classifier(text_of("b x a a b", title=2))
    assert np.exp(likely) == pytest.approx(scores / scores.sum(), rel=1e-4)


def test_it_is_stored_with_a_model(tmp_path: Path, fitted: BagOfWordsClassifier) -> None:
    assert BagOfWordsClassifier.load(tmp_path) is None
    fitted.save(tmp_path)
    found = BagOfWordsClassifier.load(tmp_path)
    assert found is not None
    text = text_of("cata owlb owlc")
    assert found(text)[0] == pytest.approx(fitted(text)[0], abs=0.1)
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a phrase classifier"):
        BagOfWordsClassifier.load(tmp_path)
