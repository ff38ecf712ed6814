"""Fitting: a selector and a sight, from training documents.

Most of them are only counted (the lexicon). What stands in the others is judged by those counts,
which do not know these documents, and a network learns from it which n-grams are keyphrases. It
needs some minutes for 300,000 documents.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np

from one2set.data.document import Document
from one2set.errors import DataError, missing_extra
from one2set.evaluation.rankings import Flags, Ints
from one2set.inference.lexicon import Keys, Lexicon, Logs, key_of
from one2set.inference.measures import NUM_MEASURES, Grams
from one2set.inference.ngrams import LONGEST, Hashes, Words, hash_of
from one2set.inference.products import Table
from one2set.inference.selector import UNLIKELY, Layers, Selector
from one2set.inference.sight import Sight
from one2set.text import stem_all

_LEARNT = 15  # one of so many documents is learnt from, the others are counted
_CHUNK = 2000  # documents
_LEAST_WORD = 3  # texts
_LEAST_KEYPHRASE, _LEAST_TEXTS = 2, 20  # documents: phrases with fewer of both are not kept
_HIDDEN = (64, 32)
_EPOCHS, _BATCH, _RATE, _WARMUP = 3, 4096, 3e-3, 50
_LEAST_STEPS = 300
_LEAST_SPREAD = 1e-3
_SIGHT_EPOCHS, _SIGHT_BATCH, _SIGHT_RATE, _DROPOUT = 6, 1024, 2e-3, 0.2
_MOST_LEARNT, _MOST_SEEN = 20_000, 6000  # documents

Phrases = list[tuple[str, ...]]  # stems


class Chunk:
    """Some documents: their words and their keyphrases."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.words = Words.of(
            [stem_all(one.words()) for one in documents],
            (len(one.title_words()) for one in documents),
        )
        self.keyphrases: list[Phrases] = [
            list({stem_all(words) for words in one.phrase_words()} - {()}) for one in documents
        ]


def every_chunk(documents: Iterable[Document]) -> list[Chunk]:
    """All documents whose keyphrases are known."""
    chunks, remaining = [], (one for one in documents if one.keyphrases is not None)
    while part := list(islice(remaining, _CHUNK)):
        chunks.append(Chunk(part))
    return chunks


def chunks_of(documents: Iterable[Document]) -> tuple[list[Chunk], list[Chunk]]:
    """Documents to be counted and documents to be learnt from, whose keyphrases are known."""
    counted: list[Chunk] = []
    learnt: list[Chunk] = []
    number, remaining = 0, (one for one in documents if one.keyphrases is not None)
    while part := list(islice(remaining, _CHUNK)):
        chosen = [_is_learnt(number + at) for at in range(len(part))]
        number += len(part)
        pairs = list(zip(part, chosen, strict=True))
        counted.append(Chunk([one for one, learn in pairs if not learn]))
        if sum(len(chunk.keyphrases) for chunk in learnt) < _MOST_LEARNT:
            learnt.append(Chunk([one for one, learn in pairs if learn]))
    if not any(chunk.keyphrases for chunk in learnt):
        raise DataError(
            f"{number:,} documents are too few to learn from", fix=f"pass {_LEARNT} or more"
        )
    return counted, learnt


def learnt_from(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents that `chunks_of` does not count."""
    known = (one for one in documents if one.keyphrases is not None)
    return (one for number, one in enumerate(known) if _is_learnt(number))


def _is_learnt(number: int) -> bool:
    return number % _LEARNT == _LEARNT // 2


def fit_selector(counted: Sequence[Chunk], learnt: Sequence[Chunk]) -> Selector:
    """What documents teach by their counts, and others by what stands in them."""
    lexicon = count(counted)
    rows = [_examples(chunk, lexicon) for chunk in learnt if chunk.keyphrases]
    correct = np.concatenate([right for _, right in rows])
    return Selector(lexicon, fit(np.concatenate([given for given, _ in rows]), correct))


def count(chunks: Sequence[Chunk]) -> Lexicon:
    """The lexicon of documents."""
    begin, end, inside, phrases = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for keyphrases in (one for chunk in chunks for one in chunk.keyphrases):
        begin.update({hash_of(stems[:1]) for stems in keyphrases})
        end.update({hash_of(stems[-1:]) for stems in keyphrases})
        inside.update({hash_of((word,)) for stems in keyphrases for word in stems})
        phrases.update({hash_of(stems) for stems in keyphrases if len(stems) <= LONGEST})
    documents = sum(len(chunk.keyphrases) for chunk in chunks)
    every = [np.ones(len(chunk.words.hash), np.bool_) for chunk in chunks]
    names, texts = _texts(chunks, 1, every, every)
    kept = texts >= _LEAST_WORD
    counts = (texts[kept], *(_counted(one, names[kept]) for one in (begin, end, inside)))
    words = _table(names[kept], *counts)
    lexicon = Lexicon(documents, *words, *_table(names[:0], texts[:0], texts[:0]))
    edges = [lexicon.words(chunk.words.hash) for chunk in chunks]
    begins, ends = [one.may_begin for one in edges], [one.may_end for one in edges]
    chosen = np.array([one for one, n in phrases.items() if n >= _LEAST_KEYPHRASE], np.uint64)
    names, texts = chosen, np.zeros(len(chosen), np.int64)
    for length in range(1, LONGEST + 1):
        found, number = _texts(chunks, length, begins, ends)
        kept = (number >= _LEAST_TEXTS) | np.isin(found, chosen)
        names, texts = np.concatenate([found[kept], names]), np.concatenate([number[kept], texts])
    names, first = np.unique(names, return_index=True)  # the first, which may have been found
    phrase_table = _table(names, _counted(phrases, names), texts[first])
    return Lexicon(documents, *words, *phrase_table)


def _texts(
    chunks: Sequence[Chunk], length: int, begins: Sequence[Flags], ends: Sequence[Flags]
) -> tuple[Hashes, Ints]:
    """All n-grams of a length, and how many documents hold each."""
    once = [np.empty(0, np.uint64)]
    for chunk, begin, end in zip(chunks, begins, ends, strict=True):
        at, hashes = chunk.words.grams(length, begin, end)
        _, first = np.unique(chunk.words.apart(at, hashes), return_index=True)
        once.append(hashes[first])
    return np.unique(np.concatenate(once), return_counts=True)


def _counted(counter: Counter[int], names: Hashes) -> Ints:
    return np.array([counter[name] for name in names.tolist()], np.int64)


def _table(names: Hashes, *counts: Ints) -> tuple[Keys, Logs]:
    """The rows of a lexicon. Of names with the same key, one is kept."""
    keys, first = np.unique(key_of(names), return_index=True)
    return keys, np.log1p(np.stack(counts, axis=1)[first]).astype(np.float16)


def _examples(chunk: Chunk, lexicon: Lexicon) -> tuple[Table, Flags]:
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


def _spread(given: Table) -> Table:
    """(M,) the standard deviations of columns (Q, M). That of a column with one value only is taken
    to be infinite: another value, of which nothing was learnt, then changes nothing."""
    spread: Table = given.std(axis=0)
    return np.where(spread < _LEAST_SPREAD, np.float32(np.inf), spread)


def fit(measures: Table, correct: Flags) -> Layers:
    """The network that tells the correct (Q,) by their measures (Q, M)."""
    try:
        import torch
        from torch.nn import Linear, Sequential, SiLU
        from torch.nn.functional import binary_cross_entropy_with_logits
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a selector") from None

    none = np.zeros(0, np.float32)
    layers = Layers(measures.mean(axis=0), _spread(measures), (none,) * 3, (none,) * 3)
    inputs = torch.from_numpy(layers.standardised(measures))
    target = torch.from_numpy(correct.astype(np.float32))
    generator = torch.Generator().manual_seed(0)
    sizes = measures.shape[1], *_HIDDEN, 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear = [Linear(*pair) for pair in pairwise(sizes)]
    network = Sequential(linear[0], SiLU(), linear[1], SiLU(), linear[2])
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=1e-4)
    batch = min(_BATCH, len(inputs))
    epochs = max(_EPOCHS, _LEAST_STEPS // (len(inputs) // batch))
    steps, step = epochs * (len(inputs) // batch), 0
    for _ in range(epochs):
        order = torch.randperm(len(inputs), generator=generator)
        for at in range(0, len(inputs) - batch + 1, batch):
            step, rows = step + 1, order[at : at + batch]
            optimizer.param_groups[0]["lr"] = _RATE * min(step / _WARMUP, 1) * (1 - step / steps)
            loss = binary_cross_entropy_with_logits(network(inputs[rows])[:, 0], target[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    first, second, third = (
        (one.weight.detach().numpy().T.copy(), one.bias.detach().numpy()) for one in linear
    )
    weights, biases = (first[0], second[0], third[0]), (first[1], second[1], third[1])
    return replace(layers, weights=weights, biases=biases)


def fit_sight(selector: Selector, seen: Iterable[tuple[Document, Table]]) -> Sight | None:
    """What the network holds of the words (S, D) of documents that were not counted teaches beside
    the selector. None if that is nothing."""
    try:
        import torch
        from torch.nn import Dropout, Linear, Sequential, SiLU
        from torch.nn.functional import binary_cross_entropy_with_logits
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
    generator = torch.Generator().manual_seed(0)
    batch = min(_SIGHT_BATCH, len(given))
    epochs = max(_SIGHT_EPOCHS, _LEAST_STEPS // (len(given) // batch))
    steps, step = epochs * (len(given) // batch), 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = (Linear(*pair) for pair in pairwise((given.shape[1], *_HIDDEN)))
        third = Linear(_HIDDEN[1], 1, bias=False)
        network = Sequential(
            Dropout(_DROPOUT), first, SiLU(), Dropout(_DROPOUT), second, SiLU(), third
        )
        optimizer = torch.optim.AdamW(network.parameters(), weight_decay=1e-2)
        for _ in range(epochs):
            order = torch.randperm(len(given), generator=generator)
            for at in range(0, len(given) - batch + 1, batch):
                step, chosen = step + 1, order[at : at + batch]
                optimizer.param_groups[0]["lr"] = (
                    _SIGHT_RATE * min(step / _WARMUP, 1) * (1 - (step - 1) / steps)
                )
                added = network((given[chosen] - centre) / scale)[:, 0]
                loss = binary_cross_entropy_with_logits(odds[chosen] + added, right[chosen])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    weight = (first.weight / scale).T  # (2D + M + 1, H), which standardises too
    begin, end, measures = torch.split(weight, [width, width, NUM_MEASURES + 1])
    edges, bias = torch.cat([begin, end], dim=1), first.bias - centre @ weight
    tables = edges, measures, bias, second.weight.T, second.bias, third.weight[0]
    return Sight(*(one.detach().numpy().copy() for one in tables))


def _seen(chunk: Chunk, states: Table, selector: Selector) -> tuple[Table, Table, Table]:
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
