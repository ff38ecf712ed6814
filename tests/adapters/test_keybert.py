"""The adapter has KeyBERT's signature and return types."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import pytest

from one2set.adapters.keybert import KeyBERT, extract_keywords
from one2set.data.control_codes import Side
from one2set.data.text import words_of
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.generator import KeyphraseGenerator

# Of KeyBERT 0.9.0; the last test compares with the installed one, where there is one.
PARAMETERS = [
    "docs",
    "candidates",
    "keyphrase_ngram_range",
    "stop_words",
    "top_n",
    "min_df",
    "use_maxsum",
    "use_mmr",
    "diversity",
    "nr_candidates",
    "vectorizer",
    "highlight",
    "seed_keywords",
    "doc_embeddings",
    "word_embeddings",
    "threshold",
]


@pytest.fixture(scope="module")
def keybert(model: Path) -> KeyBERT:
    return KeyBERT(model)


def test_the_signature_is_that_of_keybert() -> None:
    ours = inspect.signature(KeyBERT.extract_keywords)
    assert list(ours.parameters)[1:] == PARAMETERS


def test_one_text_gives_a_list_and_several_a_list_of_lists(
    keybert: KeyBERT, texts: list[str], model: Path
) -> None:
    keywords: Any = keybert.extract_keywords(texts[0])
    assert 0 < len(keywords) <= 5
    for keyword, score in keywords:
        assert isinstance(keyword, str)
        assert isinstance(score, float)
    scores = [score for _, score in keywords]
    assert scores == sorted(scores, reverse=True)
    many = keybert.extract_keywords(texts, top_n=3)
    assert len(many) == len(texts)
    assert many[0] == keywords[:3]
    assert keybert.extract_keywords(texts[:1]) == keywords
    assert keybert.extract_keywords("") == []
    assert extract_keywords(texts[0], top_n=2, model=model) == keywords[:2]


def test_n_gram_range_and_candidates_filter_keywords(keybert: KeyBERT, texts: list[str]) -> None:
    for least, most in ((1, 1), (2, 3)):
        keywords: Any = keybert.extract_keywords(
            texts[0], keyphrase_ngram_range=(least, most), top_n=20
        )
        assert all(least <= len(words_of(keyword)) <= most for keyword, _ in keywords)
    everything: Any = keybert.extract_keywords(texts[0], top_n=20)
    first, second, *_ = everything
    assert keybert.extract_keywords(texts[0], candidates=[second[0].upper()]) == [second]
    assert first != second


def test_as_many_keywords_as_asked_for_however_unlikely(
    model: Path, texts: list[str], tmp_path: Path
) -> None:
    """Also if the calibration cuts the phrases off by their expected F1."""
    proposed = LogisticModel(-6.0, {"candidate_score": 0.4, "keyphrase_count": 0.1})
    found = []
    for factor in (None, 0.7):
        folder = tmp_path / str(factor)
        shutil.copytree(model, folder)
        half = SideCalibration(threshold=0.2, proposed=proposed, expected_gold_factor=factor)
        Calibration(half, half).save(folder)
        found.append([KeyBERT(folder).extract_keywords(texts[0], top_n=n) for n in (5, 6, 10, 99)])
    assert [len(keywords) for keywords in found[0][:3]] == [5, 6, 10]
    assert found[1] == found[0]


def test_parts_of_phrases_are_filtered_too(model: Path) -> None:
    """Those that people are not shown, because they occur within longer phrases only."""
    text = "We study graph neural networks. All graph neural networks are networks of graphs."
    keybert = KeyBERT(model)
    keywords: Any = keybert.extract_keywords(text, top_n=1000)
    assert "neural networks" not in _words(keywords)
    candidates = ["neural networks"]
    assert _words(keybert.extract_keywords(text, candidates=candidates)) == candidates
    two: Any = keybert.extract_keywords(text, keyphrase_ngram_range=(2, 2), top_n=1000)
    assert "neural networks" in _words(two)


def test_only_present_phrases_by_default(model: Path, texts: list[str]) -> None:
    generator = KeyphraseGenerator(model, threads=1)
    sides: tuple[Side | None, ...] = ("present", "absent", None)
    expected = {
        side: [
            keyphrase.text
            for keyphrase in generator.generate(texts[0], top=1000, more=100.0, only=side)
        ]
        for side in sides
    }
    assert expected["present"]
    assert expected["absent"]
    assert _words(KeyBERT(model).extract_keywords(texts[0], top_n=1000)) == expected["present"]
    for side, phrases in expected.items():
        keywords = extract_keywords(texts[0], 1000, model=model, only=side)
        assert sorted(_words(keywords)) == sorted(phrases)


def _words(keywords: Any) -> list[str]:
    return [keyword for keyword, _ in keywords]


def test_options_without_effect_and_options_that_are_refused(
    keybert: KeyBERT, texts: list[str]
) -> None:
    plain = keybert.extract_keywords(texts[0])
    steered = keybert.extract_keywords(texts[0], stop_words=None, use_mmr=True, diversity=0.7)
    assert steered == plain
    for option in ("vectorizer", "highlight", "seed_keywords", "doc_embeddings", "threshold"):
        with pytest.raises(ConfigError, match=f"does not support {option} of KeyBERT"):
            keybert.extract_keywords(texts[0], **{option: ["x"]})  # type: ignore[arg-type]


def test_the_installed_keybert_has_this_signature() -> None:
    theirs = pytest.importorskip("keybert", reason="KeyBERT is not installed").KeyBERT
    parameters = inspect.signature(theirs.extract_keywords).parameters
    ours = inspect.signature(KeyBERT.extract_keywords).parameters
    assert list(parameters) == list(ours)
    for name, parameter in parameters.items():
        if name != "keyphrase_ngram_range":  # ours are of any length
            assert ours[name].default == parameter.default
