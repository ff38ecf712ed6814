"""The recorded outputs of the authors' release, as our examples and arrays."""

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from one2set.data.batch import Batch, Layout, collate
from one2set.data.example import Example, Ids

FOLDER = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference"
HEADS, V = 4, 400
# The tolerances that the reference states.
LOSS = 1e-5  # relative

recorded = [
    pytest.mark.shared,
    pytest.mark.skipif(not FOLDER.exists(), reason="../shared is not here"),
]


Recording = dict[str, NDArray[Any]]


def recording(name: str) -> Recording:
    """The arrays of a file."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


@cache
def documents() -> list[dict[str, list[Any]]]:
    with (FOLDER / "data" / "docs.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def words() -> dict[str, int]:
    """The dictionary, and after it the words of the documents that it lacks."""
    lines = (FOLDER / "data" / "vocab_full.txt").read_text(encoding="utf-8").splitlines()
    ids = {line.split("\t")[0]: id for id, line in enumerate(lines)}
    for document in documents():
        for word in chain(document["src_words"], *document["trg_words"]):
            ids.setdefault(word, len(ids))
    return ids


@cache
def examples() -> list[Example]:
    """The eight documents, in dictionary ids."""

    def numbers(phrase: list[str]) -> Ids:
        return np.array([words()[word] for word in phrase], dtype=np.int32)

    result = []
    for index, document in enumerate(documents()):
        phrases = [numbers(phrase) for phrase in document["trg_words"]]
        split = document["trg_words"].index(["<peos>"])
        source = numbers(document["src_words"])
        present, absent = tuple(phrases[:split]), tuple(phrases[split + 1 :])
        result.append(Example(str(index), source, 0, present, absent))
    return result


def batch(chosen: list[int], layout: Layout) -> Batch:
    """Documents by their place in docs.jsonl."""
    return collate([examples()[index] for index in chosen], vocabulary_size=V, layout=layout)


def close(actual: Tensor, expected: NDArray[Any]) -> None:
    """Equality of distributions and what they are made of."""
    torch.testing.assert_close(actual, torch.from_numpy(expected), rtol=0.0, atol=2e-6)


def by_length(recording: Recording, layout: Layout) -> Batch:
    """All documents in the order of a recording."""
    return batch(recording["original_indices"].tolist(), layout)
