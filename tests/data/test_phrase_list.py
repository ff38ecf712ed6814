"""Known phrases: which are kept."""

from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.phrase_list import KnownPhrase, PhraseList, SpellingCounts, tidy
from one2set.data.text import stem_all, words_of
from one2set.errors import DataError


def with_keyphrases(*keyphrases: str) -> Document:
    return Document("d", "", "text", keyphrases)


def test_those_that_many_documents_have() -> None:
    often = with_keyphrases("graph network", "sets", "a, b", "42 nets", "a b c d e f")
    documents = [
        *[often] * 7,
        *[with_keyphrases("Graph Networks", "real time", "graph networks")] * 3,
        *[with_keyphrases("real-time", "Sets", "a, b", "42 nets", "")] * 8,
        *[with_keyphrases("rare phrase", "a b c d e f")] * 9,
        Document("d", "", "no keyphrases"),
    ]
    found = PhraseList.from_documents(documents)
    # The most frequent first. A document counts once, with its last spelling.
    assert list(found.phrases.items()) == [
        (("set",), KnownPhrase("sets", 15)),
        (("real", "time"), KnownPhrase("real-time", 11)),
        (("graph", "network"), KnownPhrase("graph network", 10)),
    ]


def test_they_are_stored_with_a_model(tmp_path: Path) -> None:
    known = PhraseList(
        {("graph", "network"): KnownPhrase("graph networks", 12), ("é",): KnownPhrase("é", 3)}
    )
    known.save(tmp_path)
    found = PhraseList.load(tmp_path)
    assert found.phrases == known.phrases
    assert found.index == {("graph", "network"): 0, ("é",): 1}
    assert [found.entry(at) for at in (0, 1)] == [
        (("graph", "network"), "graph networks"),
        (("é",), "é"),
    ]
    assert len(found) == 2
    assert found.checksum == known.checksum
    assert PhraseList.load(tmp_path / "elsewhere").phrases == {}
    (tmp_path / "phrases.tsv").write_text("graph networks\t12\n")
    with pytest.raises(DataError, match="not a phrase list"):
        PhraseList.load(tmp_path)


@pytest.mark.parametrize(
    ("phrase", "tidied"),
    [
        ("k‑means   clustering", "k-means clustering"),
        ("Alzheimer’s disease", "Alzheimer's disease"),
        ("alzheimer ' s disease", "alzheimer's disease"),
        ("electroencephalography ( eeg )", "electroencephalography (eeg)"),
        ("“deep learning”", "deep learning"),
        ("C++", "C++"),
        (".NET", ".NET"),
    ],
)
def test_tidy(phrase: str, tidied: str) -> None:
    assert tidy(phrase) == tidied


def counts(*documents: tuple[str, ...], abstract: str = "") -> SpellingCounts:
    found = SpellingCounts()
    for keyphrases in documents:
        document = Document("d", "", abstract, keyphrases)
        found.add(document, {stem_all(words_of(one)): one for one in keyphrases})
    return found


def test_the_most_frequent_spelling() -> None:
    found = counts(
        ("k-means clustering", "EEG"),
        ("k means clustering", "eeg"),
        ("k-means clusterings", "EEG"),
        ("k-means clustering",),
    )
    assert found.spelling(("k", "mean", "cluster")) == "k-means clustering"
    assert found.spelling(("eeg",)) == "EEG"
    assert found.spelling(("never", "seen")) == "never seen"


def test_abstracts_show_which_capitals_are_those_of_names() -> None:
    abstract = "Markov models are graphs. We fit Markov models, and deep ones, by learning."
    found = counts(("Markov Models", "Deep Learning", "Graphs"), abstract=abstract)
    assert found.spelling(("markov", "model")) == "Markov models"
    assert found.spelling(("deep", "learn")) == "deep learning"
    assert found.spelling(("graph",)) == "graphs"


def test_unknown_case_is_taken_from_other_phrases() -> None:
    found = counts(*[("Graph Learning",)] * 5, ("deep learning",))
    assert found.spelling(("graph", "learn")) == "Graph learning"


def test_preprocessed_records_tell_nothing() -> None:
    document = Document("d", "", "", ("eeg signals",), tokenised=True)
    found = counts(("EEG signals",))
    for _ in range(5):
        found.add(document, {("eeg", "signal"): "eeg signals"})
    assert found.spelling(("eeg", "signal")) == "EEG signals"
