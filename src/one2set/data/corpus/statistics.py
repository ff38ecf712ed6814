"""Statistics of a corpus: the paper's Table 1, for any documents."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from one2set.data.document import Document
from one2set.data.text import split_present_absent


class Statistics(BaseModel):
    """A row of Table 1. Phrases that are equal after stemming count once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    samples: int
    phrases_per_document: float
    words_per_phrase: float
    absent_percent: float


def compute_statistics(documents: Iterable[Document], *, name: str) -> Statistics:
    """The row of a set of documents. Documents without keyphrases count as samples."""
    samples = phrases = words = absent = 0
    for document in documents:
        spelled = document.phrase_words()
        split = split_present_absent(spelled, document.words())
        samples += 1
        phrases += len(split.present) + len(split.absent)
        words += sum(len(spelled[i]) for i in split.present + split.absent)
        absent += len(split.absent)
    return Statistics(
        name=name,
        samples=samples,
        phrases_per_document=phrases / max(samples, 1),
        words_per_phrase=words / max(phrases, 1),
        absent_percent=100 * absent / max(phrases, 1),
    )


@cache
def published_statistics() -> dict[str, Statistics]:
    """The paper's rows, by the set's name in lower case."""
    table = tomllib.loads(files("one2set").joinpath("published.toml").read_text("utf-8"))
    return {name: Statistics(**row) for name, row in table["table1"].items()}


def find_published_statistics(path: str) -> Statistics | None:
    """The paper's row for a file named after one of its sets, such as kp20k_test_src.txt."""
    names = re.split(r"[^a-z0-9]+", path.lower())
    return next((row for name, row in published_statistics().items() if name in names), None)
