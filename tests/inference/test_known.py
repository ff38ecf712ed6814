"""Known phrases: which are kept, and where they are found."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.inference.known import NOTHING_KNOWN, Known, KnownPhrases, Stems


def with_keyphrases(*keyphrases: str) -> Document:
    return Document("d", "", "text", keyphrases)


def test_those_that_several_documents_have() -> None:
    documents = [
        with_keyphrases("Graph Networks", "graph network", "sets", "a, b", "42 nets"),
        with_keyphrases("graph network", "sets", "one two three four five six"),
        with_keyphrases("Graph networks", "Sets", "rare", "a, b", "42 nets", ""),
        with_keyphrases("graph networks", "rare", "a, b", "42 nets", "one two three four five six"),
        with_keyphrases("one two three four five six"),
        Document("d", "", "no keyphrases"),
    ]
    found = KnownPhrases.of(documents)
    # The most frequent first. A document counts once, with its last spelling; of equals the first.
    assert list(found.phrases.items()) == [
        (("graph", "network"), Known("graph network", 4)),
        (("set",), Known("sets", 3)),
    ]


def test_they_are_stored_with_a_model(tmp_path: Path) -> None:
    known = KnownPhrases({("graph", "network"): Known("graph networks", 12), ("é",): Known("é", 3)})
    known.save(tmp_path)
    assert KnownPhrases.load(tmp_path).phrases == known.phrases
    assert KnownPhrases.load(tmp_path / "elsewhere").phrases == {}
    (tmp_path / "phrases.tsv").write_text("graph networks\t12\n")
    with pytest.raises(DataError, match="no list of phrases"):
        KnownPhrases.load(tmp_path)


PHRASE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple)


@given(st.dictionaries(PHRASE, st.integers(3, 20)), st.lists(st.sampled_from("abcde"), max_size=9))
def test_what_is_found_against_a_plain_search(counts: dict[Stems, int], text: list[str]) -> None:
    known = KnownPhrases({stems: Known(" ".join(stems), n) for stems, n in counts.items()})
    spaced = f" {' '.join(text)} "
    assert known.within(text) == {stems for stems in counts if f" {' '.join(stems)} " in spaced}
    assert known.scattered(text) == {
        stems
        for stems, n in counts.items()
        if len(stems) > 1 and n >= 10 and all(word in text for word in stems)
    }


def test_nothing_is_known() -> None:
    assert NOTHING_KNOWN.within(["a"]) == NOTHING_KNOWN.scattered(["a"]) == set()
