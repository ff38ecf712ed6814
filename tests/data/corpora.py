"""Random documents to prepare, and the contents of folders."""

import random
from pathlib import Path

from one2set.data.document import Document


def make_documents(count: int, *, seed: int = 0) -> list[Document]:
    """Documents of made-up words with the frequencies of a language, some of them repeated."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(400)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, weights, k=length)).capitalize()

    documents: list[Document] = []
    for number in range(count):
        if documents and chance.random() < 0.1:
            old = chance.choice(documents)
            documents.append(
                Document(f"d{number}", old.title.upper(), old.abstract, old.keyphrases)
            )
            continue
        phrases = [text(chance.randint(1, 7)) for _ in range(chance.randint(0, 16))]
        abstract = f"{text(chance.randint(1, 60))}, {text(20)}."
        documents.append(Document(f"d{number}", text(5), abstract, tuple(phrases)))
    return documents


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
