"""Other languages are recognised."""

import pytest

from one2set.data.document import Document
from one2set.data.text import words_of
from one2set.keyphrases.language import looks_foreign

FOREIGN = {
    "German": "Wir untersuchen die Eigenschaften von Graphen, deren Knoten eine Farbe haben, und "
    "zeigen, dass es einen Algorithmus gibt, der in linearer Zeit eine Lösung findet.",
    "French": "Nous étudions les propriétés des graphes dont les sommets ont une couleur et nous "
    "montrons qu'il existe un algorithme qui trouve une solution en temps linéaire.",
    "Spanish": "En este trabajo se estudian las propiedades de los grafos cuyos vértices tienen un "
    "color y se demuestra que existe un algoritmo que encuentra una solución en tiempo lineal.",
    "Dutch": "Wij onderzoeken de eigenschappen van grafen waarvan de knopen een kleur hebben, en "
    "laten zien dat er een algoritme is dat in lineaire tijd een oplossing vindt.",
    "Russian": "Мы изучаем свойства графов, вершины которых имеют цвет.",
    "Chinese": "我们研究其顶点具有颜色的图的性质，并证明存在一种在线性时间内找到解的算法。",
    "Greek": "Μελετάμε τις ιδιότητες των γραφημάτων.",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=list(FOREIGN))
def test_other_languages_and_scripts_look_foreign(text: str) -> None:
    assert looks_foreign(words_of(text))


def test_english_never_looks_foreign(documents: list[Document]) -> None:
    assert not any(looks_foreign(document.words()) for document in documents)
    assert not any(looks_foreign(document.title_words()) for document in documents)


@pytest.mark.parametrize(
    "text",
    [
        "La memoria de los peces en el agua",
        "Une étude de la mémoire avec les poissons",
        "Das Gedächtnis der Fische ist nicht kurz",
    ],
)
def test_short_texts_of_other_languages_look_foreign(text: str) -> None:
    assert looks_foreign(words_of(text))


@pytest.mark.parametrize("text", ["", "!!!", "graph neural networks", "α-helix of the β-sheet"])
def test_very_short_texts_never_look_foreign(text: str) -> None:
    assert not looks_foreign(words_of(text))
