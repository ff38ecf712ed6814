"""Known phrases: which are kept."""

from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.phrase_list import KnownPhrase, PhraseList
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
