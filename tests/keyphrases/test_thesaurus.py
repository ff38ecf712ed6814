"""Thesauri: formats, and the terms of phrases."""

from pathlib import Path

import pytest

from one2set.data.text import Span, stem_all, words_of
from one2set.errors import ConfigError, DataError
from one2set.keyphrases.scoring import ScoredPhrase
from one2set.keyphrases.thesaurus import (
    Term,
    Thesaurus,
    load_stop_list,
    load_thesaurus,
    without_marks,
)

NETWORKS = Term("Neural networks", "ex:7", ("ANN", "networks, artificial neural"))
THESAURUS = Thesaurus([NETWORKS, Term("Graphs", None, ("Neural network",))])

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://example.org/> .
ex:7 skos:prefLabel "Neural networks"@en, "Neuronale Netze"@de ; skos:altLabel "ANN"@en-GB .
ex:8 skos:prefLabel "Graphs" ; skos:hiddenLabel "Graffs" .
ex:9 skos:prefLabel "Nur deutsch"@de .
"""
SPELLINGS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<ex:1> skos:prefLabel "Colour models"@en-GB, "Color models"@en-US ; skos:altLabel "palettes"@en .
"""


def phrase(text: str, score: float = 0.5, *spans: tuple[int, int]) -> ScoredPhrase:
    return ScoredPhrase(stem_all(words_of(text)), score, text, spans)


def find_nothing(phrase: str) -> tuple[Span, ...]:
    return ()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("neural network", "Neural networks"),  # a preferred label goes first
        ("networks of neural", None),
        ("network neural", "Neural networks"),
        ("ann", "Neural networks"),
        ("artificial neural networks", "Neural networks"),
        ("graphs", "Graphs"),
        ("graph theory", None),
    ],
)
def test_labels_match_in_any_inflection_and_order(text: str, label: str | None) -> None:
    match = THESAURUS.find(stem_all(words_of(text)))
    assert (match and match.label) == label


def test_phrases_of_one_term_are_merged() -> None:
    phrases = [phrase("ANN", 0.2, (9, 12)), phrase("deep", 0.9), phrase("neural nets", 0.4)]
    phrases.append(phrase("neural networks", 0.6, (0, 8)))
    (reversed_,) = THESAURUS.choose(phrases[::-1], find_nothing)
    assert reversed_.score == 0.6
    (result,) = THESAURUS.choose(phrases, find_nothing)
    assert result.term == NETWORKS
    assert (result.score, result.spans) == (0.6, ((0, 8), (9, 12)))
    assert result.stems == ("neural", "network")


def test_a_term_is_present_if_the_text_has_one_of_its_labels() -> None:
    spans = {"ANN": ((7, 10),), "Neural networks": ((0, 3),)}
    phrases = [phrase("neural network", 0.6), phrase("graphs", 0.5)]
    networks, graphs = THESAURUS.choose(phrases, lambda label: spans.get(label, ()))
    assert networks.spans == ((0, 3), (7, 10))
    assert graphs.spans == ()


def test_an_occurrence_within_another_is_not_counted() -> None:
    phrases = [phrase("neural networks", 0.4, (4, 19)), phrase("ANN", 0.2, (11, 19), (30, 33))]
    (merged,) = THESAURUS.choose(phrases, find_nothing)
    assert merged.spans == ((4, 19), (30, 33))


def test_terms_that_differ_in_a_number_are_not_the_same(tmp_path: Path) -> None:
    first, second = Term("Diabetes, Type 1", "1"), Term("Diabetes, Type 2", "2")
    thesaurus = Thesaurus([first, second])
    assert len(thesaurus) == 2
    assert thesaurus.find(("type", "2", "diabet")) == second
    assert thesaurus.find(("type", "3", "diabet")) is None
    (tmp_path / "stop.txt").write_text("Python 2\n")
    assert load_stop_list(tmp_path / "stop.txt") == {("python", "2")}


def load(tmp_path: Path, name: str, content: str) -> Thesaurus:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return load_thesaurus(str(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("terms.txt", "# terms\nNeural networks\n\nGraphs\n"),
        (
            "terms.csv",
            "Label,ID,altLabel\nNeural networks,http://example.org/7,ANN|nets\nGraphs,,\n",
        ),
        ("semicolons.csv", 'term;uri\n"Neural networks";http://example.org/7\nGraphs;\n'),
        ("lines.csv", 'term;uri\r\n"Neural\r\nnetworks";http://example.org/7\r\nGraphs\r\n'),
        ("terms.ttl", TURTLE),
    ],
)
def test_every_format_has_the_same_terms(tmp_path: Path, name: str, content: str) -> None:
    loaded = load(tmp_path, name, content)
    assert len(loaded) == 2
    term = loaded.find(("neural", "network"))
    assert term is not None
    assert term.label == "Neural networks"
    assert term.id == (None if name == "terms.txt" else "http://example.org/7")
    if name in ("terms.csv", "terms.ttl"):
        assert loaded.find(("ann",)) == term
    assert loaded.find(("nur", "deutsch")) is None


def test_every_serialisation_of_skos_is_read(tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    for name, form in (("a.rdf", "xml"), ("a.json", "json-ld"), ("a.nt", "nt")):
        loaded = load(tmp_path, name, graph.serialize(format=form))
        assert loaded.find(("graff",)) == Term("Graphs", "http://example.org/8", ("Graffs",))


def test_of_several_preferred_labels_all_are_found(tmp_path: Path) -> None:
    loaded = load(tmp_path, "terms.ttl", SPELLINGS)
    for stems in (("color", "model"), ("colour", "model"), ("palett",)):
        assert loaded.find(stems) == Term("Color models", "ex:1", ("Colour models", "palettes"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("terms.txt", "# nothing\n", "has no terms"),
        ("terms.csv", "colour\nred\n", "no column of labels"),
        (
            "terms.csv",
            'label,id\n"Graphs,1\nNetworks,2\n',
            "is not CSV .*quote labels",
        ),
        ("terms.csv", "label,id\nGraphs,1\nNetworks, neural,2\n", "row 2 .*quote labels.*','"),
        ("terms.ttl", "this is no turtle", "is not SKOS"),
        ("terms.ttl", "", "has no terms"),
    ],
)
def test_damaged_files_are_reported(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path, name, content)


def test_missing_files_are_reported(tmp_path: Path) -> None:
    for name in ("no.txt", "no.csv", "no.ttl"):
        with pytest.raises(DataError, match="cannot be read"):
            load_thesaurus(str(tmp_path / name))
    with pytest.raises(ConfigError, match=r"expected \.txt, \.csv, \.ttl"):
        load_thesaurus("terms.doc")


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    assert len(load(tmp_path, "terms.txt", "Graphs\n")) == 1
    assert len(load(tmp_path, "terms.txt", "Graphs\nNetworks\n")) == 2
    path = tmp_path / "terms.txt"
    assert load_thesaurus(path) is load_thesaurus(path)
    assert len(load_stop_list(path)) == 2
    path.write_text("Graphs\n")
    assert len(load_stop_list(path)) == 1


def test_punctuation_does_not_matter(tmp_path: Path) -> None:
    """The words of a text contain apostrophes; the entries of lists do not."""
    stems = stem_all(words_of("Alzheimer's disease"))
    assert "'" in stems
    assert Thesaurus([Term("Alzheimer's disease"), Term("disease")]).find(stems) == Term(
        "Alzheimer's disease"
    )
    (tmp_path / "stop.txt").write_text("Alzheimer’s disease\n")
    assert without_marks(stems) in load_stop_list(tmp_path / "stop.txt")


def test_a_stop_list_has_one_phrase_per_line(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("Case study\n# no\n\nusers\n")
    assert load_stop_list(str(tmp_path / "stop.txt")) == {("case", "studi"), ("user",)}
