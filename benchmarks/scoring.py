"""Speed of scoring, as a ratio to a plain implementation of the same rules.

    python benchmarks/scoring.py [--documents 20000] [--slice 2000]

Both implementations score the same random documents, alternating by slice, so that other work on
the machine slows both; times are CPU time. Both compute every metric of every group at every
cutoff, and the run fails if they differ. The plain one stems each word again, scans lists for
duplicates, presence and matches, and handles documents one by one. Ours caches stems, uses sets and
joined strings, and computes metrics on whole columns.
"""

import gc
import time
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from math import log2
from random import Random
from typing import NamedTuple

import numpy as np
from nltk.stem.porter import PorterStemmer

from one2set.arrays import Floats
from one2set.evaluation.comparison import CELLS, Cell
from one2set.evaluation.metrics import MetricValues, addends
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.rankings import Cutoff
from one2set.evaluation.scoring import gold_from_lines, score, split_phrases


class Lines(NamedTuple):
    """A document as in the text files of KP20k."""

    source: str
    target: str
    predictions: str


def make_documents(size: int) -> list[Lines]:
    """Documents as long as KP20k's: 170 words, 5 gold phrases, 8 predictions.

    Words are drawn by Mandelbrot's law, p(rank) ~ 1/(rank + 20)^1.5, which repeats them about as
    scientific abstracts do: 6,000 different words in 300 documents, 57,000 in 20,000. The hundred
    most frequent ones, like function words, are short and without an ending.
    """
    random = Random(0)
    endings = ("", "", "s", "ed", "ing", "ation", "ational", "ly", "ity", "ness", "able", "izer")
    words = []
    for rank in range(100_000):
        length = random.randint(2, 4) if rank < 100 else random.randint(3, 7)
        letters = "".join(random.choices("aeioubcdfghlmnprst", k=length))
        words.append(letters if rank < 100 else letters + random.choice(endings))
    weights = np.cumsum([(rank + 20) ** -1.5 for rank in range(1, len(words) + 1)]).tolist()
    documents = []
    for _ in range(size):
        source = random.choices(words, cum_weights=weights, k=170)

        def phrase(absent: float, source: list[str] = source) -> str:
            length = random.randint(1, 3)
            if random.random() < absent:
                return " ".join(random.choices(words, cum_weights=weights, k=length))
            start = random.randrange(len(source) - length)
            return " ".join(source[start : start + length])

        gold = [phrase(0.4) for _ in range(random.randint(2, 8))]
        result = [random.choice(gold) if random.random() < 0.4 else phrase(0.2) for _ in range(8)]
        text = " ".join(source[:10]) + " <eos> " + " ".join(source[10:])
        documents.append(Lines(text, ";".join(gold), ";".join(result)))
    return documents


def scored(documents: list[Lines]) -> dict[Cell, Floats]:
    """Ours: the documents' addends in each cell."""
    golds = [gold_from_lines(document.source, document.target) for document in documents]
    scores = score(golds, (split_phrases(document.predictions) for document in documents))
    return {cell: addends(scores.groups[cell.group], cell.cutoff, YE2021) for cell in CELLS}


def scored_plainly(documents: list[Lines]) -> dict[Cell, list[MetricValues]]:
    """The plain way: the figures of each document in each cell."""
    stem = PorterStemmer().stem
    result: dict[Cell, list[MetricValues]] = {cell: [] for cell in CELLS}
    for document in documents:
        source = [stem(word) for word in document.source.replace(" <eos>", "").split(" ")]
        golds = split(unique(document.target, stem), source)
        predicted = [
            phrase
            for phrase in unique(document.predictions, stem)
            if "<unk>" not in phrase and "," not in phrase and "." not in phrase
        ]
        ranks = split(predicted, source)
        for cell in CELLS:
            result[cell].append(figures_of(ranks[cell.group], golds[cell.group], cell.cutoff))
    return result


def figures_of(ranked: list[list[str]], gold: list[list[str]], cutoff: Cutoff) -> MetricValues:
    depth = {"5": 5, "10": 10, "M": len(ranked), "O": len(gold)}[cutoff]
    if not ranked or not gold:
        return MetricValues(0, 0, 0, 0, 0, 0)
    hits = [phrase in gold for phrase in ranked]
    matches = sum(hits[:depth])
    precision, recall = matches / depth, matches / len(gold)
    ranks = range(1, min(depth, len(hits)) + 1)
    precisions = [sum(hits[:rank]) / rank for rank in ranks if hits[rank - 1]]
    covers = [[" ".join(phrase) in " ".join(target) for target in gold] for phrase in ranked]
    left, times, ideal = list(covers), [0] * len(gold), []
    while left:
        offers = [gain(cover, times) for cover in left]
        ideal.append(max(offers))
        cover = left.pop(offers.index(max(offers)))
        times = [before + covered for before, covered in zip(times, cover, strict=True)]
    times, result = [0] * len(gold), []
    for cover in covers:
        result.append(gain(cover, times))
        times = [before + covered for before, covered in zip(times, cover, strict=True)]
    best = dcg(sorted(hits, reverse=True), depth)
    best_novelty = dcg(ideal, depth)
    return MetricValues(
        precision,
        recall,
        2 * precision * recall / (precision + recall) if matches else 0.0,
        sum(precisions) / len(gold),
        dcg(hits, depth) / best if best else 0.0,
        dcg(result, depth) / best_novelty if best_novelty else 0.0,
    )


def dcg(gains: Sequence[float], depth: int) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:depth], 1))


def gain(cover: list[bool], times: list[int]) -> float:
    pairs = zip(cover, times, strict=True)
    return sum(0.5**before for covered, before in pairs if covered)


def unique(line: str, stem: Callable[[str], str]) -> list[list[str]]:
    phrases: list[list[str]] = []
    for text in line.split(";"):
        stems = [stem(word) for word in text.split(" ")]
        if stems not in phrases:
            phrases.append(stems)
    return phrases


def split(phrases: list[list[str]], source: list[str]) -> dict[str, list[list[str]]]:
    groups: dict[str, list[list[str]]] = {"all": phrases, "present": [], "absent": []}
    for phrase in phrases:
        starts = range(len(source) - len(phrase) + 1)
        present = any(source[at : at + len(phrase)] == phrase for at in starts)
        groups["present" if present else "absent"].append(phrase)
    return groups


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--slice", type=int, default=2000)
    options = parser.parse_args()
    documents = make_documents(options.documents)
    scored(documents[:1])  # imports are no part of scoring
    gc.freeze()  # nor is looking for garbage among the documents
    seconds = plain_seconds = 0.0
    ours: dict[Cell, list[Floats]] = {cell: [] for cell in CELLS}
    plain: dict[Cell, list[Floats]] = {cell: [] for cell in CELLS}
    for start in range(0, len(documents), options.slice):
        part = documents[start : start + options.slice]
        begun = time.process_time()
        rows = scored(part)
        between = time.process_time()
        documents_figures = scored_plainly(part)
        ended = time.process_time()
        seconds += between - begun
        plain_seconds += ended - between
        for cell in CELLS:
            ours[cell].append(rows[cell][:, :, 0])  # (D, 6)
            plain[cell].append(np.array(documents_figures[cell]))
    for cell in CELLS:
        pair = np.concatenate(ours[cell]), np.concatenate(plain[cell])
        np.testing.assert_allclose(*pair, rtol=1e-9)
    print(f"equal: {len(MetricValues._fields)} figures in {len(CELLS)} cells of each document")
    print(f"ours   {seconds:8.2f} s for {len(documents):,} documents")
    print(f"plain  {plain_seconds:8.2f} s for the same documents")
    print(f"ratio  {plain_seconds / seconds:8.1f}")


if __name__ == "__main__":
    main()
