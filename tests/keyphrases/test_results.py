"""Keyphrases have a short repr; lists of them show as tables."""

import pickle

from one2set.keyphrases.results import Keyphrase, KeyphraseList

FOUND = KeyphraseList(
    [Keyphrase("graph networks", 0.8251, True, ((0, 14),)), Keyphrase("R&D <b>", 0.25, False, ())]
)


def test_keyphrases_have_a_short_repr() -> None:
    assert repr(FOUND[0]) == "Keyphrase('graph networks', 0.83, present)"
    assert repr(FOUND) == f"[{FOUND[0]!r}, Keyphrase('R&D <b>', 0.25, absent)]"


def test_a_keyphrase_list_is_a_list() -> None:
    assert [*FOUND] == FOUND
    assert isinstance(FOUND, list)
    again = pickle.loads(pickle.dumps(FOUND))
    assert again == FOUND
    assert isinstance(again, KeyphraseList)


def test_notebooks_show_a_table_in_which_texts_are_escaped() -> None:
    html = FOUND._repr_html_()
    assert html.count("<tr>") == 1 + len(FOUND)
    assert "<td>graph networks</td><td>0.83</td><td>present</td>" in html
    assert "<td>R&amp;D &lt;b&gt;</td><td>0.25</td><td>absent</td>" in html
