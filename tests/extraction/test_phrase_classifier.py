"""The phrase classifier equals a plain computation, and learns which words indicate a phrase."""

from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.extraction.build_lexicon import LabelledTexts, build_lexicon
from one2set.extraction.lexicon import key_of
from one2set.extraction.ngrams import HashedTexts, hash_of
from one2set.extraction.phrase_classifier import (
    FILE,
    Bags,
    PhraseClassifier,
    fit_phrase_classifier,
)

TOPICS = ("cat", "dog", "fish", "owl")


def text_of(words: str, title: int = 0) -> HashedTexts:
    return HashedTexts.of([words.split()], [title])


@pytest.fixture(scope="module")
def fitted() -> PhraseClassifier:
    """Each topic has four words; a text with this keyphrase contains two of them."""
    random = np.random.default_rng(0)
    documents, targets = [], []
    for number in range(1200):
        topic = number % 4
        letters = sorted(random.permutation([*"abcd"])[:2])
        own = [f"{TOPICS[topic]}{letter}" for letter in letters]
        documents.append(Document(str(number), "", f"we say {' '.join(own)} here", ("topic",)))
        targets.append([topic])
    chunks = [LabelledTexts(documents[:500]), LabelledTexts(documents[500:])]
    texts = (chunk.words for chunk in chunks)
    return fit_phrase_classifier(texts, targets, [300] * 4, build_lexicon(chunks))


def test_it_learns_which_words_indicate_a_phrase(fitted: PhraseClassifier) -> None:
    for topic, name in enumerate(TOPICS):
        likely, lift = fitted(fitted.embed(text_of(f"{name}a {name}b")))
        assert np.argmax(likely) == topic
        assert np.exp(likely).sum() == pytest.approx(1, abs=1e-4)
        assert likely - lift == pytest.approx(np.log([0.25] * 4), abs=1e-5)
    nothing, _ = fitted(fitted.embed(text_of("never seen")))
    assert np.exp(nothing) == pytest.approx([0.25] * 4, abs=0.1)


def test_scores_equal_those_of_a_plain_computation() -> None:
    """Words and n-grams of up to two words, of which the title's count once more."""
    random = np.random.default_rng(1)
    terms = [("a",), ("b",), ("c",), ("b", "a"), ("a", "a"), ("a", "b", "a")]
    keys = key_of(np.array([hash_of(term) for term in terms], np.uint64))
    order = np.argsort(keys)
    rows = random.integers(-127, 128, size=(6, 5)).astype(np.int8)
    scale = random.uniform(0.001, 0.01, 6).astype(np.float32)
    phrases, bias = random.normal(size=(7, 5)).astype(np.float32), np.zeros(7, np.float32)
    classifier = PhraseClassifier(
        keys[order], rows[order], scale[order], phrases, bias, bias, longest=2
    )
    vector = {term: rows[at] * scale[at] for at, term in enumerate(terms)}
    body = vector["a",] + vector["b",] + vector["b", "a"] + vector["a", "a"]
    title = vector["a",] + vector["b",] + vector["b", "a"]
    scores = np.exp(phrases @ (body / np.sqrt(5) + title / np.sqrt(4)))
    likely, _ = classifier(classifier.embed(text_of("b a . x b a a b", title=3)))
    assert np.exp(likely) == pytest.approx(scores / scores.sum(), rel=1e-4)


def test_bags_of_words_do_not_depend_on_other_texts() -> None:
    random = np.random.default_rng(2)
    words = ["a", "b", "c", ".", "d"]
    sources = [random.choice(words, count).tolist() for count in (7, 0, 1, 12, 5)]
    titles = [2, 0, 1, 4, 5]
    phrases = [(letter,) for letter in "abd"] + [
        ("a", "b"),
        ("b", "b"),
        ("a", "b", "c"),
        ("d", "a"),
    ]
    keys = np.sort(key_of(np.array([hash_of(phrase) for phrase in phrases], np.uint64)))
    together = Bags.of(HashedTexts.of(sources, titles), keys, 3)
    for number, (source, title) in enumerate(zip(sources, titles, strict=True)):
        alone = Bags.of(HashedTexts.of([source], [title]), keys, 3)
        part = slice(together.start[number], together.start[number + 1])
        assert together.terms[part].tolist() == alone.terms.tolist()
        assert together.weights[part].tolist() == alone.weights.tolist()


def test_a_text_without_terms_has_an_empty_bag() -> None:
    bags = Bags.of(HashedTexts.of([["a", "b"], ["c"]], [1, 1]), np.empty(0, np.uint32), 3)
    assert (len(bags.terms), len(bags.weights), bags.start.tolist()) == (0, 0, [0, 0, 0])


def test_terms_are_words_and_n_grams_of_many_texts(fitted: PhraseClassifier) -> None:
    def known(*words: str) -> bool:
        return bool(np.isin(key_of(np.array([hash_of(words)], np.uint64)), fitted.keys)[0])

    assert known("cata")
    assert known("cata", "catb")  # next to each other in some 50 texts
    assert not known("here")  # in every text, but in no keyphrase


def test_saving_and_loading_changes_nothing(tmp_path: Path, fitted: PhraseClassifier) -> None:
    assert PhraseClassifier.load(tmp_path) is None
    fitted.save(tmp_path)
    loaded = PhraseClassifier.load(tmp_path)
    assert loaded is not None
    text = text_of("cata owlb owlc")
    probabilities, _ = loaded(loaded.embed(text))
    assert probabilities == pytest.approx(fitted(fitted.embed(text))[0], abs=0.1)
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a phrase classifier"):
        PhraseClassifier.load(tmp_path)
