"""Knowledge proposes phrases of a text, and is saved with a model."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document, StemmedDocument
from one2set.data.text import Stems
from one2set.errors import DataError
from one2set.extraction.arrays import map_arrays, save_arrays
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS
from one2set.extraction.fit_knowledge import extend_knowledge, fit_knowledge
from one2set.extraction.knowledge import (
    NO_KNOWLEDGE,
    NO_PROPOSALS,
    Knowledge,
    Proposals,
    current_versions,
    model_files,
)
from one2set.extraction.lexicon import key_of
from one2set.extraction.ngrams import HashedTexts, hash_of
from one2set.model.paths import VERSIONS

TEXT = StemmedDocument.of(Document("d", "Graphs of cats", "Here a network of cats is no graph."))


def log_odds(proposals: Proposals, text: StemmedDocument) -> dict[Stems, float]:
    """Of the n-grams of a text."""
    columns = proposals.at.tolist(), proposals.phrases.length.tolist(), proposals.log_odds.tolist()
    return {text.stems[a : a + n]: odds for a, n, odds in zip(*columns, strict=True) if a >= 0}


def texts(proposals: Proposals, knowledge: Knowledge) -> dict[Stems, str]:
    """The phrases of the list."""
    listed = proposals.listed[proposals.listed >= 0]
    return dict(knowledge.phrase_list.entry(at) for at in listed.tolist())


def count(knowledge: Knowledge, *stems: str) -> float:
    result, _ = knowledge.count_keyphrases(np.array([hash_of(stems)], np.uint64))
    return math.log1p(result[0])


def assert_same(proposals: Proposals, expected: Proposals, *, pmi: float = 0.0) -> None:
    for name in ("at", "listed", "log_odds"):
        np.testing.assert_array_equal(getattr(proposals, name), getattr(expected, name))
    np.testing.assert_array_equal(proposals.phrases.words, expected.phrases.words)
    np.testing.assert_allclose(proposals.pmi, expected.pmi, atol=pmi)
    np.testing.assert_allclose(proposals.votes, expected.votes, atol=pmi)


@pytest.fixture(scope="module")
def knowledge(documents: list[Document]) -> Knowledge:
    """The sample, and many documents about cats."""
    cats = Document("c", "Cats", "We watch cats of a network.", ("cats", "pets", "graph networks"))

    def train_documents() -> Iterator[Document]:
        yield from documents
        yield from [cats] * 60

    return fit_knowledge(train_documents)


def test_it_proposes_n_grams_of_the_text(knowledge: Knowledge) -> None:
    assert knowledge.candidate_scorer is not None
    proposals = knowledge.propose(TEXT)
    text = HashedTexts.of([TEXT.stems], [TEXT.title_length])
    at, length, odds = knowledge.candidate_scorer.select(text)
    result = log_odds(proposals, TEXT)
    assert result == {
        TEXT.stems[a : a + n]: value
        for a, n, value in zip(at.tolist(), length.tolist(), odds.tolist(), strict=True)
    }
    assert all(value >= MIN_LOG_ODDS for value in result.values())
    assert ("cat",) in result
    assert proposals.phrases.hash.tolist() == [
        hash_of(stems) for stems in (*result, *texts(proposals, knowledge))
    ]


def test_it_proposes_phrases_that_are_absent_from_the_text(knowledge: Knowledge) -> None:
    proposals = knowledge.propose(TEXT)
    # All words of the first are there, scattered; the other is associated with them.
    shown_texts = texts(proposals, knowledge)
    assert shown_texts == {("graph", "network"): "graph networks", ("pet",): "pets"}
    assert knowledge.phrase_classifier is not None
    vector = knowledge.phrase_classifier.embed(HashedTexts.of([TEXT.stems], [4]))
    _, pmi = knowledge.phrase_classifier(vector)
    np.testing.assert_array_equal(proposals.pmi, pmi)
    assert knowledge.neighbor_index is not None
    np.testing.assert_array_equal(proposals.votes, knowledge.neighbor_index.vote(vector))


def test_neighbours_have_the_keyphrases_of_their_documents(knowledge: Knowledge) -> None:
    index, numbers = knowledge.neighbor_index, knowledge.phrase_list.index
    assert index is not None
    # All 60 documents about cats are nearer to the text than any other.
    votes = knowledge.propose(TEXT).votes
    assert votes[[numbers["pet",], numbers["cat",]]] == pytest.approx([1, 1], abs=0.05)
    # "cats" is in all of their texts, "pets" in none.
    assert index.absent[numbers["pet",]] == pytest.approx(math.log(60.5 / 61))
    assert index.absent[numbers["cat",]] == pytest.approx(math.log(0.5 / 61))
    shares = knowledge.log_absent_shares(np.array([numbers["pet",], -1, len(numbers)]))
    assert shares == pytest.approx([math.log(60.5 / 61), 0, 0])


def test_parts_that_do_not_fit_are_refused(knowledge: Knowledge, tmp_path: Path) -> None:
    index = knowledge.neighbor_index
    assert index is not None
    narrow = replace(index, centroids=index.centroids[:, :4], codebook=index.codebook[:1])
    for wrong, message in (
        (replace(index, absent=np.zeros(10_000, np.float32)), "index of neighbours knows 10,000"),
        (replace(narrow, codes=index.codes[:, :1]), "does not fit the phrase classifier"),
    ):
        replace(knowledge, neighbor_index=wrong).save(tmp_path)
        with pytest.raises(DataError, match=message):
            Knowledge.load(tmp_path)


def test_keyphrase_counts_are_logarithms_of_documents(knowledge: Knowledge) -> None:
    assert count(knowledge, "pet") == pytest.approx(math.log1p(60), abs=0.01)
    assert count(knowledge, "never", "seen") == 0


def test_further_documents_add_their_counts(
    knowledge: Knowledge, documents: list[Document]
) -> None:
    dogs = Document("e", "Dogs", "We watch dogs bark.", ("dogs", "pets", "dog barks"))
    extended = extend_knowledge(knowledge, lambda: [dogs] * 20)
    assert count(extended, "pet") == pytest.approx(math.log1p(60 + 20), abs=0.01)
    assert count(extended, "dog", "bark") == pytest.approx(math.log1p(20), abs=0.01)
    stemmed = StemmedDocument.of(dogs)
    assert log_odds(extended.propose(stemmed), stemmed)["dog",] > MIN_LOG_ODDS
    assert extended.phrase_list.phrases[("pet",)].documents == 80
    assert extended.phrase_list.phrases[("dog",)].text == "dogs"
    # What is associated with texts is known by its number.
    for index in range(len(knowledge.phrase_list)):
        assert extended.phrase_list.entry(index) == knowledge.phrase_list.entry(index)
    assert extended.phrase_classifier is knowledge.phrase_classifier


def test_saving_and_loading_changes_nothing(knowledge: Knowledge, tmp_path: Path) -> None:
    knowledge.save(tmp_path)
    assert_same(Knowledge.load(tmp_path).propose(TEXT), knowledge.propose(TEXT), pmi=0.05)
    assert Knowledge.load(tmp_path / "elsewhere").propose(TEXT) is NO_PROPOSALS


def test_few_documents_make_no_phrase_classifier(documents: list[Document]) -> None:
    fitted = fit_knowledge(lambda: documents)
    assert fitted.phrase_classifier is None
    assert texts(fitted.propose(TEXT), fitted) == {}


@pytest.mark.parametrize("text", ["", ".", "the", "‽", "a " * 1000])
def test_unusual_texts_raise_no_error(knowledge: Knowledge, text: str) -> None:
    proposals = knowledge.propose(StemmedDocument.of(Document("d", "", text)))
    for values in (proposals.log_odds, proposals.pmi, proposals.votes):
        assert np.isfinite(values).all()


def test_empty_knowledge_proposes_nothing() -> None:
    assert NO_KNOWLEDGE.propose(TEXT) is NO_PROPOSALS
    assert count(NO_KNOWLEDGE, "pet") == 0


def test_other_features_are_refused(knowledge: Knowledge, tmp_path: Path) -> None:
    knowledge.save(tmp_path)
    path = tmp_path / "candidate_scorer.safetensors"
    arrays = {name: x.copy() for name, x in map_arrays(path).items()}
    arrays["feature_names"] = np.frombuffer(b"num_words other", np.uint8)
    save_arrays(path, arrays)
    with pytest.raises(DataError, match=r"candidate_scorer.safetensors: .*other features"):
        Knowledge.load(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer", "stemmer", "features"])
def test_another_version_is_refused(tmp_path: Path, name: str) -> None:
    NO_KNOWLEDGE.save(tmp_path)
    Knowledge.load(tmp_path)
    (tmp_path / VERSIONS).write_text(json.dumps(current_versions() | {name: "other"}))
    with pytest.raises(DataError, match=f"another version of: {name};"):
        Knowledge.load(tmp_path)
    (tmp_path / VERSIONS).write_text("1")
    with pytest.raises(DataError, match="not a record"):
        Knowledge.load(tmp_path)


def test_a_changed_phrase_list_is_indexed_again(knowledge: Knowledge, tmp_path: Path) -> None:
    knowledge.save(tmp_path)
    assert Knowledge.load(tmp_path).stored_phrase_index is not None
    path = tmp_path / "phrases.tsv"
    path.write_text("\n".join(reversed(path.read_text().split("\n")[:-1])) + "\n")
    changed = Knowledge.load(tmp_path)
    assert changed.stored_phrase_index is None
    assert texts(changed.propose(TEXT), changed)["graph", "network"] == "graph networks"


def test_a_light_model_shares_the_knowledge_of_another(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    for name in ("whole", "light", "copy"):
        (tmp_path / name).mkdir()
    knowledge.save(tmp_path / "whole")
    (tmp_path / "light" / "light.json").write_text('{"knowledge": "../whole"}')
    light = Knowledge.load(tmp_path / "light")
    assert_same(light.propose(TEXT), Knowledge.load(tmp_path / "whole").propose(TEXT))
    files = model_files(tmp_path / "light")
    assert {path.parent.name for path in files} == {"light", "whole"}
    for path in files:
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "whole").rename(tmp_path / "elsewhere")
    assert_same(Knowledge.load(tmp_path / "copy").propose(TEXT), light.propose(TEXT))
    with pytest.raises(DataError, match="no learnt components"):
        Knowledge.load(tmp_path / "light")
    (tmp_path / "light" / "light.json").write_text("[]")
    with pytest.raises(DataError, match="not the description of a light model"):
        Knowledge.load(tmp_path / "light")


def test_keyphraseness_is_the_share_of_texts_with_the_keyphrase(knowledge: Knowledge) -> None:
    """The share of texts with a phrase that have it as a keyphrase, if enough texts have it."""
    hashes = np.array([hash_of((word,)) for word in ("graph", "tree", "cat")], np.uint64)
    order = np.argsort(key_of(hashes))
    logs = np.log1p([[30, 120], [9, 90], [0, 200]]).astype(np.float16)
    scorer = knowledge.candidate_scorer
    assert scorer is not None
    lexicon = replace(scorer.lexicon, phrase_keys=key_of(hashes)[order], phrase_logs=logs[order])
    one = replace(knowledge, candidate_scorer=replace(scorer, lexicon=lexicon))
    assert one.count_keyphrases(hashes)[1] == pytest.approx([0.25, 1.0, 0.0], rel=0.02)
    assert [x.tolist() for x in NO_KNOWLEDGE.count_keyphrases(hashes)] == [[0.0] * 3, [1.0] * 3]
