"""The list has the frequent keyphrases of training documents."""

from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.phrase_list import KnownPhrase, PhraseList, SpellingCounts, tidy
from one2set.data.text import stem_all, words_of
from one2set.errors import DataError


def with_keyphrases(*keyphrases: str) -> Document:
    return Document("d", "", "text", keyphrases)


def test_the_list_has_keyphrases_of_many_documents() -> None:
    often = with_keyphrases("graph network", "sets", "a, b", "42 nets", "a b c d e f")
    documents = [
        *[often] * 7,
        *[with_keyphrases("Graph Networks", "real time", "graph networks")] * 3,
        *[with_keyphrases("real-time", "Sets", "a, b", "42 nets", "")] * 8,
        *[with_keyphrases("rare phrase", "a b c d e f")] * 9,
        Document("d", "", "no keyphrases"),
    ]
    phrase_list = PhraseList.from_documents(documents)
    # The most frequent first. A document counts once, with its last spelling.
    assert list(phrase_list.phrases.items()) == [
        (("set",), KnownPhrase("sets", 15)),
        (("real", "time"), KnownPhrase("real-time", 11)),
        (("graph", "network"), KnownPhrase("graph network", 10)),
    ]


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    known = PhraseList(
        {("graph", "network"): KnownPhrase("graph networks", 12), ("é",): KnownPhrase("é", 3)}
    )
    known.save(tmp_path)
    loaded = PhraseList.load(tmp_path)
    assert loaded.phrases == known.phrases
    assert loaded.index == {("graph", "network"): 0, ("é",): 1}
    assert [loaded.entry(at) for at in (0, 1)] == [
        (("graph", "network"), "graph networks"),
        (("é",), "é"),
    ]
    assert len(loaded) == 2
    assert loaded.checksum == known.checksum
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
    result = SpellingCounts()
    for keyphrases in documents:
        document = Document("d", "", abstract, keyphrases)
        result.add(document, {stem_all(words_of(keyphrase)): keyphrase for keyphrase in keyphrases})
    return result


def test_the_most_frequent_spelling() -> None:
    spellings = counts(
        ("k-means clustering", "EEG"),
        ("k means clustering", "eeg"),
        ("k-means clusterings", "EEG"),
        ("k-means clustering",),
    )
    assert spellings.spelling(("k", "mean", "cluster")) == "k-means clustering"
    assert spellings.spelling(("eeg",)) == "EEG"
    assert spellings.spelling(("never", "seen")) == "never seen"


def test_abstracts_show_which_capitals_are_those_of_names() -> None:
    abstract = "Markov models are graphs. We fit Markov models, and deep ones, by learning."
    spellings = counts(("Markov Models", "Deep Learning", "Graphs"), abstract=abstract)
    assert spellings.spelling(("markov", "model")) == "Markov models"
    assert spellings.spelling(("deep", "learn")) == "deep learning"
    assert spellings.spelling(("graph",)) == "graphs"


def test_unknown_case_is_taken_from_other_phrases() -> None:
    spellings = counts(*[("Graph Learning",)] * 5, ("deep learning",))
    assert spellings.spelling(("graph", "learn")) == "Graph learning"


def test_preprocessed_records_tell_nothing() -> None:
    document = Document("d", "", "", ("eeg signals",), tokenised=True)
    spellings = counts(("EEG signals",))
    for _ in range(5):
        spellings.add(document, {("eeg", "signal"): "eeg signals"})
    assert spellings.spelling(("eeg", "signal")) == "EEG signals"
