"""Phrases are spelt as the phrases of a list are."""

from hypothesis import given
from hypothesis import strategies as st

from one2set.data.text import words_of
from one2set.keyphrases.phrase_speller import PhraseSpeller


def test_words_are_joined_as_in_the_list() -> None:
    speller = PhraseSpeller(["k-means clustering", "TCP/IP stacks", "EEG", "k means"].copy)
    assert speller.spell(["fuzzy", "k", "means"]) == "fuzzy k-means"
    assert speller.spell(["tcp", "ip"]) == "TCP/IP"
    assert speller.spell(["eeg", "(", "x", ")"]) == "EEG (x)"
    assert speller.spell(["bell", "'", "s", "palsy"]) == "bell's palsy"
    assert speller.spell([]) == ""


def test_joins_are_counted_between_whole_words() -> None:
    parts = ["remark means", "mark meanson", "dark k means"]
    speller = PhraseSpeller(["mark-means", *parts, *parts, "k means", "k-means", "k-means k"].copy)
    assert speller.spell(["mark", "means"]) == "mark-means"
    assert speller.spell(["k", "means"]) == "k means"


def test_the_share_of_phrases_that_end_with_a_word() -> None:
    phrases = ["visual search", "Visual-attention", "visual cortex", "search", "video search"]
    one = PhraseSpeller(
        [*phrases, "fractal sets", "texts", "text mining", "graphic art", "graphics"].copy
    )
    assert one.share_at_end("visual") < 0.2 < 0.9 < one.share_at_end("SEARCH")
    assert one.share_at_end("text") > 0.8  # by its plural
    assert one.share_at_end("graphics") > 0.8 > 0.4 > one.share_at_end("graphic") > 0
    # As unknown words of the same suffix do, or as most words.
    assert one.share_at_end("dual") < one.share_at_end("x") == 0.6
    assert PhraseSpeller(tuple).share_at_end("visual") == 0.6


def test_the_most_frequent_capitals_then_the_first() -> None:
    one = PhraseSpeller(["Web", "web search", "web", "EEG", "Eeg", "Eeg eeg"].copy)
    assert (one.case("web"), one.case("eeg"), one.case("other")) == ("web", "Eeg", "other")
    assert PhraseSpeller(["GPU", "gpu"].copy).case("gpu") == "GPU"


@given(st.lists(st.text(alphabet="aB-/' ", max_size=12)), st.lists(st.sampled_from("ab'()x")))
def test_spelling_keeps_the_words(spellings: list[str], words: list[str]) -> None:
    assert words_of(PhraseSpeller(spellings.copy).spell(words)) == words
