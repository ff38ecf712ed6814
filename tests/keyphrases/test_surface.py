"""Phrases are whole terms, without the capitals of titles and sentences."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from one2set.data.document import Document
from one2set.data.text import Span, tokenise
from one2set.keyphrases.phrase_speller import NO_SPELLER, PhraseSpeller
from one2set.keyphrases.surface import Surface
from tests.data.test_text import ANY_TEXT

SPELLER = PhraseSpeller(
    ["k-means clustering", "EEG signals", "ciliates", "Bayesian inference"].copy
)


def surface(text: str, title: str = "", speller: PhraseSpeller = NO_SPELLER) -> Surface:
    return Surface(Document("d", title, text), speller)


def occurrences(text: str, phrase: str) -> list[Span]:
    """Where a phrase of the field's words occurs."""
    words, spans = tokenise(text)
    wanted = phrase.split()
    count = len(wanted)
    starts = [at for at in range(len(words)) if words[at : at + count] == wanted]
    return [(spans[at][0], spans[at + count - 1][1]) for at in starts]


@pytest.mark.parametrize(
    ("text", "phrase", "whole"),
    [
        ("of Alzheimer's disease", "s disease", "Alzheimer's disease"),
        ("of Alzheimer’s disease", "s disease", "Alzheimer’s disease"),
        ("by Newton's method", "newton", "Newton"),
        ("you don't know", "don", "don't"),
        ("in Industry 4.0, we", "industry <digit>", "Industry 4.0"),
        ("use TLS 1.3.", "tls <digit>", "TLS 1.3"),
        ("in IEEE 802.11ax nets", "ieee <digit>", "IEEE 802.11ax"),
        ("of PM2.5 in air", "pm2", "PM2.5"),
        ("with C++ code", "c", "C++"),
        ("with C# code", "c", "C#"),
        ("by A* search", "a", "A*"),
        ("in Node.js now", "js", "Node.js"),
        ("in Node.js now", "node", "Node.js"),
        ("the .NET world", "net", ".NET"),
        ("the ASP.NET world", "asp", "ASP.NET"),
        ("of LiNi0.8Co0.1O2 cathodes", "lini0", "LiNi0.8Co0.1O2"),
        ("of Ca(OH)2 powder", "ca", "Ca(OH)2"),
        ("of Ca2+ ions", "ca2", "Ca2+"),
        ("of 1,2-dichloroethane", "dichloroethane", "1,2-dichloroethane"),
        ("by TCP/IP stacks", "ip stacks", "TCP/IP stacks"),
        ("by k-means clustering", "means clustering", "k-means clustering"),
        ("by k‑means clustering", "means clustering", "k‑means clustering"),
        ("the Navier–Stokes equations", "stokes equations", "Navier–Stokes equations"),
        ("our R&D work", "r", "R&D"),
        ("of adversarial&nbsp;examples", "adversarial", "adversarial"),
        ("if a < b and c > d", "b", "b"),
        ("by TCP/IP stacks", "tcp", "TCP/IP"),
        ("by k‐means clustering", "means clustering", "k‐means clustering"),
        ("by k−means clustering", "means clustering", "k−means clustering"),
        ("of PM2.5 in air", "<digit>", "PM2.5"),
        ("with F# code", "f", "F#"),
        ("of Fe3O4@SiO2 cores", "fe3o4", "Fe3O4@SiO2"),
        ("on TiO2/SiO2 films", "sio2 films", "TiO2/SiO2 films"),
        ("a mix of and/or", "and", "and/or"),
        ("it ends.We go", "ends", "ends"),
        ("the system(s) here", "system", "system"),
    ],
)
def test_no_term_is_cut(text: str, phrase: str, whole: str) -> None:
    spans = occurrences(text, phrase)
    assert spans
    extended = surface(text).extend_to_terms(spans)
    assert [text[start:end] for start, end in extended] == [whole]


@pytest.mark.parametrize(
    ("text", "phrase", "whole"),
    [
        ("of Alzheimer's disease", "alzheimer", "Alzheimer's disease"),
        ("of Alzheimer’s disease, Alzheimer’s disease", "alzheimer", "Alzheimer’s disease"),
        ("of Alzheimer's disease, of Alzheimer", "alzheimer", None),
        ("by Newton's method or Newton's law", "newton", None),
        ("by Stokes' theorem", "stokes", "Stokes' theorem"),
        ("of Huntington's disease-free life", "huntington", "Huntington's disease-free"),
        ("in the patient's age", "patient", None),  # no name
        ("of Google's new plan", "google", None),  # an adjective
        ("it is Newton's.", "newton", None),
        ("use TLS 1.3, or TLS 1.3", "tls", "TLS 1.3"),
        ("use TLS 1.2, or TLS 1.3", "tls", None),
        ("use TLS 1.3, TLS", "tls", None),
        ("in IEEE 802.11ax nets", "ieee", "IEEE 802.11ax"),
        ("in Industry 4.0, we", "industry", "Industry 4.0"),
        ("by Web 2.0 and by Web\n2.0", "web", "Web 2.0"),
        ("in Python 3 and Python 3", "python", "Python 3"),
        ("in Python v3.8b1", "python", "Python v3.8b1"),
        ("In Africa 30 species", "africa", None),  # a count
        ("In West Africa 30 species", "west africa", None),
        ("In Africa 30.5 % of all", "africa", None),
        ("In Africa 4,304 fires", "africa", None),
        ("In Africa 4.4 million live", "africa", None),
        ("with BERT 88.5 and", "bert", None),  # a measurement
        ("with iOS 17.2 and iOS 17.2", "ios", None),  # it begins with a small letter
        ("In Africa 2015, In Africa 2015", "africa", None),  # a year
        ("of industry 4.0 here", "industry", None),  # no name
    ],
)
def test_a_name_is_not_cut(text: str, phrase: str, whole: str | None) -> None:
    speller = PhraseSpeller([f"new {letter}" for letter in "abcdefghi"].copy)
    spans = occurrences(text, phrase)
    extended = surface(text, speller=speller).extend_names(spans)
    assert spans
    written = [" ".join(text[start:end].split()) for start, end in extended]
    kept = [text[start:end] for start, end in spans]
    assert written == (kept if whole is None else [whole] * len(spans))


def test_names_of_preprocessed_text_are_left_as_they_are() -> None:
    document = Document("d", "", "Use TLS 1.3 .", tokenised=True)
    assert Surface(document, NO_SPELLER).extend_names([(4, 7)]) == ((4, 7),)


def test_an_uncut_occurrence_is_preferred() -> None:
    text = "Graph-based methods, by numpy/core, read a graph."
    (span,) = surface(text).extend_to_terms(occurrences(text, "graph"))
    assert text[slice(*span)] == "graph"


def test_the_most_frequent_extended_phrase_is_taken() -> None:
    text = "Python-based and C-based and C-based tools"
    extended = surface(text).extend_to_terms(occurrences(text, "based"))
    assert [text[slice(*span)] for span in extended] == ["C-based"] * 2


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("see https://numpy.org/doc now", "numpy"),
        ("write to ada@example.org now", "example"),
        ("in /usr/share/doc now", "share"),
        ("from ijl/orjson?tab=readme now", "orjson"),
        ("of networks; graphs are", "networks graphs"),
        ("Is it hot? Heat is", "hot heat"),
        ("a network\n\nGraphs", "network graphs"),
        ("a network\nGraphs are", "network graphs"),
        ("a network\r\nGraphs are", "network graphs"),
        ("我们提出了一种新的图神经网络方法", "我们提出了一种新的图神经网络方法"),
        ("a-b-c-d-e-f-g-h-i-j", "c"),
        ("to do\n- book flights\n- hotels", "flights hotels"),
        ("to do:\n * book flights\n * hotels", "flights hotels"),
        ("book flights – hotels", "flights hotels"),
        ("book flights—hotels", "flights hotels"),
        ("a query rewrit-\ning rule", "query rewrit"),
        ("of adversarial&nbsp;examples", "adversarial nbsp"),
        ("of adversarial&nbsp;examples", "nbsp"),
        ("<jats:title>Abstract</jats:title>", "jats"),
        ("<p class='x y'>Abstract</p>", "y"),
    ],
)
def test_spans_across_clauses_and_in_markup_are_no_phrases(text: str, phrase: str) -> None:
    spans = occurrences(text, phrase)
    assert spans
    assert surface(text).extend_to_terms(spans) == ()


_ADDRESS_ANYWHERE = re.compile(
    r"\S*(?:://|www\.|\w@[\w-]+\.\w|\w\.(?:com|org|net|io|edu|gov)/|\w/\S*[?=]|\w/\w+/\w+/)\S*"
    r"|(?<!\S)(?:~|\.\.?)?/\w\S*"
)


@given(st.lists(st.sampled_from([*"aé/@.?=-_~ \n", "://", "www.", "com", ".."])))
def test_addresses_are_those_of_a_slow_search(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected = [match.span() for match in _ADDRESS_ANYWHERE.finditer(text)]
    assert surface(text)._addresses.all == expected


def test_a_word_of_any_length_is_searched_once() -> None:
    """A search from each of its letters would not end."""
    assert surface("ﷺ" * 300_000)._addresses.all == []
    assert surface("a/" + "b=" * 300_000)._addresses.all == [(0, 600_002)]


def test_a_word_that_may_go_on_after_many_lines_is_searched_once() -> None:
    """Trying every line end would not end."""
    text = "a query-" + "\n" * 300_000 + "A"
    assert surface(text).extend_to_terms([(2, 7)]) == ((2, 7),)


def test_preprocessed_text_is_left_as_it_is() -> None:
    document = Document("d", "", "alzheimer 's disease .", tokenised=True)
    assert Surface(document, NO_SPELLER).extend_to_terms([(10, 20)]) == ((10, 20),)


@settings(max_examples=40)
@given(ANY_TEXT, st.data())
def test_extended_spans_are_valid_for_any_text(text: str, data: st.DataObject) -> None:
    """What is found contains an occurrence that was given, and is found again."""
    spans = tokenise(text).spans
    if not spans:
        return
    first = data.draw(st.integers(0, len(spans) - 1))
    last = data.draw(st.integers(first, min(first + 4, len(spans) - 1)))
    given_span = spans[first][0], spans[last][1]
    one = surface(text)
    for start, end in one.extend_to_terms([given_span]):
        assert start <= given_span[0] < given_span[1] <= end <= len(text)
        assert one.extend_to_terms([(start, end)]) == ((start, end),)


@pytest.mark.parametrize(
    ("title", "text", "phrase", "spelt"),
    [
        ("", "Query processing is slow. We study query processing.", "query processing", None),
        ("Query Processing", "We study Query processing.", "query processing", "Query processing"),
        ("LEARNING TO RANK", "A way of learning to rank.", "learning to rank", "learning to rank"),
        ("Fast Digital Twins", "Each digital thing, twins too.", "digital twins", "digital twins"),
        ("", "Ciliates swim.", "ciliates", "ciliates"),
        ("", "Paramecia swim.", "paramecia", "Paramecia"),
        ("Bayesian inference", "We do it.", "bayesian inference", "Bayesian inference"),
        ("A test of Wolff's law", "Bones grow.", "wolff", "Wolff"),
        ("EEG FOR ALL", "We read.", "eeg", "EEG"),
        ("", "NumPy is fast. We use NumPy, and numpy, or NumPy.", "numpy", "NumPy"),
        ("", "It is so. (Query plans) are slow; query plans.", "query plans", "query plans"),
        # Lines of capitals are headings, at the end of the text too.
        ("", "each query has plans\nQUERY PLANS\nin use", "query plans", "query plans"),
        ("", "each query has plans\nQUERY PLANS", "query plans", "query plans"),
        ("", "each query has plans\nsee QUERY PLANS\nin use", "query plans", "QUERY PLANS"),
        ("", "each query has plans\nQUERY PLANS here\nin use", "query plans", "QUERY PLANS"),
        # A new line may be a new paragraph.
        ("", "each query has plans\nQuery plans", "query plans", "query plans"),
        ("", "on\nNewton methods", "newton methods", "Newton methods"),
        # Another form of the word is in lower case; an acronym is written in capitals.
        ("How Bats Roost", "They are roosting.", "roost", "roost"),
        ("", "Eeg plans are.", "eeg plans", "eeg plans"),
        ("", "as nasa they ask\nNASA\nand NASA", "nasa", "NASA"),
        # Before another capital, it is the beginning of a name; in a title it is not.
        ("", "It is. Eeg Kalman is one.", "eeg kalman", "Eeg Kalman"),
        ("Eeg Kalman for All", "We read.", "eeg kalman", "eeg Kalman"),
        # In a line that has small letters, capitals are those of an acronym.
        ("CILIATES Benchmark for All", "We read.", "ciliates", "CILIATES"),
        ("CILIATES BENCHMARKS FOR ALL", "We read.", "ciliates", "ciliates"),
        # A word that ends like a common noun follows the others of its phrase.
        ("Ciliates Depletion Everywhere", "We read.", "ciliates depletion", "ciliates depletion"),
        ("Of Lygus hesperus", "We read.", "lygus hesperus", "Lygus hesperus"),
        ("Ciliates Kalman Everywhere", "We read.", "ciliates kalman", "ciliates Kalman"),
        # The first of a pair of marks is outside the phrase.
        ("", 'We plan "smart" cities.', "smart cities", "smart cities"),
        ("", "We plan [deep] learning and {a} b.", "deep learning", "deep learning"),
    ],
)
def test_capitals_are_those_of_running_text(
    title: str, text: str, phrase: str, spelt: str | None
) -> None:
    document = Document("d", title, text)
    spans = occurrences(document.text, phrase)
    assert spans
    result = Surface(document, SPELLER).spell(spans, phrase.split())
    assert result == (phrase if spelt is None else spelt)


def test_a_phrase_is_found_in_any_inflection_with_its_numbers() -> None:
    document = Document("d", "Types of diabetes", "Type 1 diabetes, and not diabetes of type 2.")
    one = Surface(document, NO_SPELLER)

    def find(phrase: str) -> list[str]:
        return [document.text[slice(*span)] for span in one.find(phrase)]

    assert find("type 1") == ["Type 1"]
    assert find("types 2") == ["type 2"]
    assert find("Type 3") == find("diabetes and") == find("...") == []


def test_a_phrase_is_found_with_its_sign() -> None:
    document = Document("d", "", "Of C++, C#, A* and vitamin C.")
    one = Surface(document, NO_SPELLER)
    for phrase in ("C++", "C#", "C", "A*"):
        (span,) = one.find(phrase)
        assert document.text[slice(*span)] == phrase


def test_the_generated_inflection_is_preferred() -> None:
    text = "A graph, a graph and two graphs."
    spans = [*occurrences(text, "graph"), *occurrences(text, "graphs")]
    assert surface(text).spell(spans, ["graphs"]) == "graphs"
    assert surface(text).spell(spans, ["graphing"]) == "graph"


def test_a_noun_is_preferred() -> None:
    speller = PhraseSpeller(["optimisation", *[f"optimal {letter}" for letter in "abcdefghi"]].copy)
    text = "The optimal plan, an optimal one, by optimisation."
    spans = [*occurrences(text, "optimal"), *occurrences(text, "optimisation")]
    assert surface(text, speller=speller).spell(spans, ["optimal"]) == "optimisation"
    assert surface(text, speller=speller).spell(spans[:2], ["optimal"]) == "optimal"


def test_absent_phrases_are_written_as_authors_write_them() -> None:
    one = surface("We read the genome of SARS with Deep Genome, and others.", speller=SPELLER)
    assert one.spell_absent("k means for eeg") == "k-means for EEG"
    assert one.spell_absent("deep sars genome") == "deep SARS genome"
    assert one.spell_absent("parkinson ' s disease ( pd )") == "parkinson's disease (pd)"
    assert one.spell_absent("Markov chains") == "Markov chains"  # of the phrase list
