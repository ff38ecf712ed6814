"""Fitting: knowledge, that is a selector, a sight and associations, from training documents.

What stands in documents that were not counted (`counting`) is judged by the counts of the others,
and a network learns from it which n-grams are keyphrases; another one learns it from what the
model's encoder holds of them. It needs some minutes for 300,000 documents.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from one2set.arrays import Flags, Float32s
from one2set.data.document import Document
from one2set.data.phrase_list import PhraseList
from one2set.errors import missing_extra
from one2set.extraction.build_lexicon import Chunk, chunks_of, count, every_chunk
from one2set.extraction.candidate_scorer import UNLIKELY, Layers, Selector
from one2set.extraction.features import NUM_MEASURES, Grams
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import hash_of
from one2set.extraction.phrase_classifier import fit_associations
from one2set.extraction.span_scorer import Sight

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_HIDDEN = (64, 32)
_LEAST_STEPS, _WARMUP = 300, 50
_LEAST_SPREAD = 1e-3
_DROPOUT = 0.2  # of a sight
_MOST_SEEN = 6000  # documents
_LEAST_ASSOCIATED = 20  # documents that have a phrase, so that something can be learned of it


class _Course(NamedTuple):
    """How a network learns."""

    epochs: int
    batch: int  # rows
    rate: float
    decay: float  # of weights
    fall: int  # the step from which the rate falls, to 0 in as many steps as there are


# Shipped models were fitted so, to the last bit.
_SELECTOR = _Course(epochs=3, batch=4096, rate=3e-3, decay=1e-4, fall=0)
_SIGHT = _Course(epochs=6, batch=1024, rate=2e-3, decay=1e-2, fall=1)


def fit_knowledge(documents: Callable[[], Iterable[Document]]) -> Knowledge:
    """What documents teach whose keyphrases are known. They are read twice."""
    known = PhraseList.of(documents())
    counted, learnt = chunks_of(documents())
    selector = fit_selector(counted, learnt)
    often = [one.documents for one in known.phrases.values()]
    often = [count for count in often if count >= _LEAST_ASSOCIATED]
    if not often:
        return Knowledge(known, selector)
    targets = [
        [known.number[stems] for stems in each if known.number.get(stems, len(often)) < len(often)]
        for chunk in counted
        for each in chunk.keyphrases
    ]
    texts = (chunk.words for chunk in counted)
    return Knowledge(known, selector, fit_associations(texts, targets, often, selector.lexicon))


def extend_knowledge(
    knowledge: Knowledge, documents: Callable[[], Iterable[Document]]
) -> Knowledge:
    """Knowledge with the counts of further documents, which are read twice. What was learnt of the
    first ones, how to judge by counts, and which words speak of which phrases, stays."""
    if knowledge.selector is None:
        return fit_knowledge(documents)
    known = knowledge.known.plus(PhraseList.of(documents()))
    lexicon = knowledge.selector.lexicon.plus(count(every_chunk(documents())))
    selector = Selector(lexicon, knowledge.selector.layers)
    return Knowledge(known, selector, knowledge.associations)


def fit_selector(counted: Sequence[Chunk], learnt: Sequence[Chunk]) -> Selector:
    """What documents teach by their counts, and others by what stands in them."""
    lexicon = count(counted)
    rows = [_examples(chunk, lexicon) for chunk in learnt if chunk.keyphrases]
    correct = np.concatenate([right for _, right in rows])
    return Selector(lexicon, fit(np.concatenate([given for given, _ in rows]), correct))


def _examples(chunk: Chunk, lexicon: Lexicon) -> tuple[Float32s, Flags]:
    """The measures of all n-grams, and whether each is a keyphrase.  (Q, M), (Q,)"""
    grams = Grams(chunk.words, lexicon)
    return grams.measures(), are_keyphrases(chunk, grams)


def are_keyphrases(chunk: Chunk, grams: Grams) -> Flags:
    """(Q,) whether each n-gram is a keyphrase."""
    right = [(d, hash_of(stems)) for d, each in enumerate(chunk.keyphrases) for stems in each]
    document = np.array([d for d, _ in right], np.int64)
    hashes = np.array([name for _, name in right], np.uint64)
    return np.isin(
        chunk.words.apart(grams.at, grams.hash),
        chunk.words.apart(chunk.words.start[document], hashes),
    )


def _spread(given: Float32s) -> Float32s:
    """(M,) the standard deviations of columns (Q, M). That of a column with one value only is taken
    to be infinite: another value, of which nothing was learnt, then changes nothing."""
    spread: Float32s = given.std(axis=0)
    return np.where(spread < _LEAST_SPREAD, np.float32(np.inf), spread)


def fit(measures: Float32s, correct: Flags) -> Layers:
    """The network that tells the correct (Q,) by their measures (Q, M)."""
    try:
        import torch
        from torch.nn import Linear, Sequential, SiLU
        from torch.nn.functional import binary_cross_entropy_with_logits as surprise
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a selector") from None

    none = np.zeros(0, np.float32)
    layers = Layers(measures.mean(axis=0), _spread(measures), (none,) * 3, (none,) * 3)
    inputs = torch.from_numpy(layers.standardised(measures))
    target = torch.from_numpy(correct.astype(np.float32))
    sizes = measures.shape[1], *_HIDDEN, 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear = [Linear(*pair) for pair in pairwise(sizes)]
        network = Sequential(linear[0], SiLU(), linear[1], SiLU(), linear[2])

        def loss(some: "Tensor") -> "Tensor":
            return surprise(network(inputs[some])[:, 0], target[some])

        _learn(network, loss, len(inputs), _SELECTOR)
    first, second, third = (
        (one.weight.detach().numpy().T.copy(), one.bias.detach().numpy()) for one in linear
    )
    weights, biases = (first[0], second[0], third[0]), (first[1], second[1], third[1])
    return replace(layers, weights=weights, biases=biases)


def fit_sight(selector: Selector, seen: Iterable[tuple[Document, Float32s]]) -> Sight | None:
    """What the network holds of the words (S, D) of documents that were not counted teaches beside
    the selector. None if that is nothing."""
    try:
        import torch
        from torch.nn import Dropout, Linear, Sequential, SiLU
        from torch.nn.functional import binary_cross_entropy_with_logits as surprise
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a sight") from None

    rows = [_seen(Chunk([one]), states, selector) for one, states in islice(seen, _MOST_SEEN)]
    rows = [one for one in rows if len(one[0])]
    if not rows:
        return None
    columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    given, odds, right = map(torch.from_numpy, columns)
    centre, scale = given.mean(dim=0), torch.from_numpy(_spread(given.numpy()))
    width = (given.shape[1] - NUM_MEASURES - 1) // 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = (Linear(*pair) for pair in pairwise((given.shape[1], *_HIDDEN)))
        third = Linear(_HIDDEN[1], 1, bias=False)
        network = Sequential(
            Dropout(_DROPOUT), first, SiLU(), Dropout(_DROPOUT), second, SiLU(), third
        )

        def loss(some: "Tensor") -> "Tensor":
            added = network((given[some] - centre) / scale)[:, 0]
            return surprise(odds[some] + added, right[some])

        _learn(network, loss, len(given), _SIGHT)
    weight = (first.weight / scale).T  # (2D + M + 1, H), which standardises too
    begin, end, measures = torch.split(weight, [width, width, NUM_MEASURES + 1])
    edges, bias = torch.cat([begin, end], dim=1), first.bias - centre @ weight
    tables = edges, measures, bias, second.weight.T, second.bias, third.weight[0]
    return Sight(*(one.detach().numpy().copy() for one in tables))


def _learn(
    network: "Module", loss: Callable[["Tensor"], "Tensor"], rows: int, course: _Course
) -> None:
    """Train a network on so many rows, by its loss on some of them, a batch of their numbers."""
    import torch

    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=course.decay)
    batch = min(course.batch, rows)
    epochs = max(course.epochs, _LEAST_STEPS // (rows // batch))
    steps, step = epochs * (rows // batch), 0
    for _ in range(epochs):
        order = torch.randperm(rows, generator=generator)
        for at in range(0, rows - batch + 1, batch):
            step += 1
            left = 1 - (step - course.fall) / steps
            optimizer.param_groups[0]["lr"] = course.rate * min(step / _WARMUP, 1) * left
            optimizer.zero_grad()
            loss(order[at : at + batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _seen(
    chunk: Chunk, states: Float32s, selector: Selector
) -> tuple[Float32s, Float32s, Float32s]:
    """Of the n-grams of a document that are not unlikely: what is held of their first and last
    words, with their measures and log odds; the odds alone; whether they are keyphrases.
    (q, 2D + M + 1), (q,), (q,)"""
    grams = Grams(chunk.words, selector.lexicon)
    if not len(grams.hash):
        none = np.empty(0, np.float32)
        return none, none, none
    every = grams.measures()
    measures, odds = selector.layers.standardised(every), selector.layers(every)
    kept = odds >= UNLIKELY
    edges = states[grams.at[kept]], states[(grams.at + grams.length - 1)[kept]]
    given = np.column_stack([*edges, measures[kept], odds[kept]]).astype(np.float32)
    return given, odds[kept], are_keyphrases(chunk, grams)[kept].astype(np.float32)
