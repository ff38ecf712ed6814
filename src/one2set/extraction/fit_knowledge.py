"""Fit the knowledge of a model to documents: candidate scorer, span rescorer, phrase classifier,
neighbours.

All documents are counted (`build_lexicon`). The n-grams of many of them get features from the
counts of all other documents, and an MLP learns which n-grams are keyphrases. Another MLP learns it
from the encoder's states too. Fitting takes some minutes for 300,000 documents.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from one2set.arrays import Flags, Float32s
from one2set.data.document import Document
from one2set.data.phrase_list import PhraseList
from one2set.errors import DataError, missing_extra
from one2set.extraction.build_lexicon import (
    Contributions,
    LabelledTexts,
    build_lexicon,
    chunk_documents,
    count_documents,
)
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS, CandidateScorer, FeatureMLP
from one2set.extraction.features import NUM_FEATURES, CandidateNgrams
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.neighbors import build_neighbor_index
from one2set.extraction.ngrams import HashedPhrases, NgramIndex
from one2set.extraction.phrase_classifier import fit_phrase_classifier
from one2set.extraction.span_rescorer import SpanRescorer

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_HIDDEN = (64, 32)
_MIN_STEPS, _WARMUP = 300, 50
_MIN_DEVIATION = 1e-3
_DROPOUT = 0.2  # of the span rescorer
_MIN_DOCUMENTS = 15  # to fit a scorer
# Documents that the MLPs are fitted on: of more, every second chunk, every third, … 80,000 take
# 8 GB of memory.
_MAX_SCORER_DOCUMENTS, MAX_RESCORER_DOCUMENTS = 80_000, 16_000
_MIN_CLASSIFIED = 20  # documents that have a phrase: fewer are too few to learn from


class _TrainingSchedule(NamedTuple):
    """How an MLP is trained."""

    epochs: int
    batch: int  # rows
    lr: float
    weight_decay: float
    first_step: int  # the decay of the learning rate counts steps from here


# The included model was fitted with exactly these.
_CANDIDATE_SCORER = _TrainingSchedule(
    epochs=3, batch=4096, lr=3e-3, weight_decay=1e-4, first_step=0
)
_SPAN_RESCORER = _TrainingSchedule(epochs=6, batch=1024, lr=2e-3, weight_decay=1e-2, first_step=1)


def fit_knowledge(
    documents: Callable[[], Iterable[Document]],
    sample: Callable[[], Iterable[Document]] | None = None,
) -> Knowledge:
    """Fit knowledge to documents with known keyphrases, which are read twice. The candidate scorer
    is fitted to a sample of them, which should be like the texts of users; to all by default."""
    try:
        import torch  # noqa: F401  (else its lack is noticed after minutes of counting)
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Learning from documents") from None
    phrase_list = PhraseList.from_documents(documents())
    counted = chunk_documents(documents())
    candidate_scorer = fit_candidate_scorer(
        counted, counted if sample is None else chunk_documents(sample())
    )
    counts = [phrase.documents for phrase in phrase_list.phrases.values()]
    counts = [count for count in counts if count >= _MIN_CLASSIFIED]  # those of the first phrases
    if not counts:
        return Knowledge(phrase_list, candidate_scorer)
    index = phrase_list.index
    listed = [
        [index[stems] for stems in keyphrases if stems in index]
        for chunk in counted
        for keyphrases in chunk.keyphrases
    ]
    targets = [[phrase for phrase in own if phrase < len(counts)] for own in listed]
    texts = (chunk.words for chunk in counted)
    classifier = fit_phrase_classifier(texts, targets, counts, candidate_scorer.lexicon)
    vectors = np.concatenate([classifier.embed_all(chunk.words) for chunk in counted])
    shares = _compute_absent_shares(counted, listed, phrase_list)
    neighbor_index = build_neighbor_index(vectors, listed, shares)
    return Knowledge(phrase_list, candidate_scorer, classifier, neighbor_index)


def _compute_absent_shares(
    counted: Sequence[LabelledTexts], listed: Sequence[Sequence[int]], phrase_list: PhraseList
) -> Float32s:
    """(P,) log of the share of the documents with each phrase in which it is absent. `listed` are
    the keyphrases of each document as indices into the list."""
    phrases = HashedPhrases.of(list(phrase_list.phrases))
    documents, absences = np.zeros((2, len(phrase_list)))
    texts = chain.from_iterable(
        np.split(chunk.words.hash, chunk.words.start[1:]) for chunk in counted
    )
    for text, own in zip(texts, listed, strict=True):
        keyphrases = phrases.take(np.array(own, np.int64))
        occurrences, _ = NgramIndex(text).find(keyphrases.hash, keyphrases.length)
        documents[own] += 1
        absences[own] += occurrences == 0
    shares: Float32s = np.log((absences + 0.5) / (documents + 1)).astype(np.float32)
    return shares


def extend_knowledge(
    knowledge: Knowledge, documents: Callable[[], Iterable[Document]]
) -> Knowledge:
    """Add the counts of further documents, which are read twice, to knowledge with a candidate
    scorer. The fitted scorer, classifier and neighbours stay as they are."""
    assert knowledge.candidate_scorer is not None
    phrase_list = knowledge.phrase_list.merge(PhraseList.from_documents(documents()))
    further = build_lexicon(chunk_documents(documents()))
    lexicon = knowledge.candidate_scorer.lexicon.merge(further)
    candidate_scorer = CandidateScorer(lexicon, knowledge.candidate_scorer.mlp)
    return replace(
        knowledge,
        phrase_list=phrase_list,
        candidate_scorer=candidate_scorer,
        stored_phrase_index=None,
    )


def fit_candidate_scorer(
    counted: Sequence[LabelledTexts], sample: Sequence[LabelledTexts]
) -> CandidateScorer:
    """Count documents, and fit an MLP to the n-grams of a sample of them."""
    if (documents := count_documents(sample)) < _MIN_DOCUMENTS:
        raise DataError(
            f"{documents:,} documents with keyphrases are too few to fit a scorer",
            fix=f"pass {_MIN_DOCUMENTS} or more; if they have keyphrases, name their field, "
            "for example --field keyphrases=tags",
        )
    lexicon = build_lexicon(counted)
    every = math.ceil(documents / _MAX_SCORER_DOCUMENTS)
    rows = [_examples(chunk, lexicon) for chunk in sample[::every]]
    features, correct = (np.concatenate(column) for column in zip(*rows, strict=True))
    del rows  # half of the memory
    if not len(features):
        raise DataError(
            "no document has a word that may begin a keyphrase", fix="pass documents in English"
        )
    return CandidateScorer(lexicon, fit_mlp(features, correct))


def _examples(chunk: LabelledTexts, lexicon: Lexicon) -> tuple[Float32s, Flags]:
    """The features of all n-grams of counted documents, and whether each is a keyphrase.
    (Q, F), (Q,)"""
    grams = CandidateNgrams(chunk.words, lexicon, Contributions.of(chunk))
    return grams.features(), are_keyphrases(grams)


def are_keyphrases(grams: CandidateNgrams) -> Flags:
    """(Q,) whether each n-gram of counted documents is a keyphrase."""
    assert grams.counted is not None
    return np.isin(grams.text.hash_in_document(grams.at, grams.hash), grams.counted.keyphrases)


def _standard_deviations(values: Float32s) -> Float32s:
    """(F,) the standard deviations of columns (Q, F); infinite for a constant column, so that a
    value that training never saw has no effect."""
    deviations: Float32s = values.std(axis=0)
    return np.where(deviations < _MIN_DEVIATION, np.float32(np.inf), deviations)


def fit_mlp(features: Float32s, correct: Flags) -> FeatureMLP:
    """Fit an MLP that predicts from features (Q, F) whether n-grams are `correct` (Q,)."""
    import torch
    from torch.nn import Linear, Sequential, SiLU
    from torch.nn.functional import binary_cross_entropy_with_logits

    none = np.zeros(0, np.float32)
    mlp = FeatureMLP(
        features.mean(axis=0), _standard_deviations(features), (none,) * 3, (none,) * 3
    )
    inputs = torch.from_numpy(mlp.standardize(features))
    target = torch.from_numpy(correct.astype(np.float32))
    sizes = features.shape[1], *_HIDDEN, 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear = [Linear(*pair) for pair in pairwise(sizes)]
        network = Sequential(linear[0], SiLU(), linear[1], SiLU(), linear[2])

        def loss(rows: "Tensor") -> "Tensor":
            return binary_cross_entropy_with_logits(network(inputs[rows])[:, 0], target[rows])

        _train(network, loss, len(inputs), _CANDIDATE_SCORER)
    first, second, third = (
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy()) for layer in linear
    )
    weights, biases = (first[0], second[0], third[0]), (first[1], second[1], third[1])
    return replace(mlp, weights=weights, biases=biases)


def fit_span_rescorer(
    candidate_scorer: CandidateScorer, examples: Iterable[tuple[Document, Float32s]]
) -> SpanRescorer | None:
    """Fit a span rescorer to counted documents and the encoder states (S, D) of their words. None
    if they have no candidates."""
    try:
        import torch
        from torch.nn import Linear, Sequential, SiLU
        from torch.nn.functional import binary_cross_entropy_with_logits

        from one2set.model.dropout import Dropout
    except ImportError:
        raise missing_extra("torch", extra="train", purpose="Fitting a span rescorer") from None

    rows = [
        _rescorer_examples(LabelledTexts([document]), states, candidate_scorer)
        for document, states in examples
    ]
    rows = [columns for columns in rows if len(columns[0])]
    if not rows:
        return None
    columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    given, log_odds, correct = map(torch.from_numpy, columns)
    mean, scale = given.mean(dim=0), torch.from_numpy(_standard_deviations(given.numpy()))
    width = (given.shape[1] - NUM_FEATURES - 1) // 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, second = (Linear(*pair) for pair in pairwise((given.shape[1], *_HIDDEN)))
        third = Linear(_HIDDEN[1], 1, bias=False)
        network = Sequential(
            Dropout(_DROPOUT), first, SiLU(), Dropout(_DROPOUT), second, SiLU(), third
        )

        def loss(some: "Tensor") -> "Tensor":
            added = network((given[some] - mean) / scale)[:, 0]
            return binary_cross_entropy_with_logits(log_odds[some] + added, correct[some])

        _train(network, loss, len(given), _SPAN_RESCORER)
    weight = (first.weight / scale).T  # (2D + F + 1, H), standardisation included
    begin, end, features = torch.split(weight, [width, width, NUM_FEATURES + 1])
    edges, bias = torch.cat([begin, end], dim=1), first.bias - mean @ weight
    tables = edges, features, bias, second.weight.T, second.bias, third.weight[0]
    return SpanRescorer(*(table.detach().numpy().copy() for table in tables))


def _train(
    network: "Module", loss: Callable[["Tensor"], "Tensor"], rows: int, schedule: _TrainingSchedule
) -> None:
    """Train a network in place. `loss` takes the indices of a batch of the rows."""
    import torch

    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=schedule.weight_decay)
    batch = min(schedule.batch, rows)
    epochs = max(schedule.epochs, _MIN_STEPS // (rows // batch))
    steps, step = epochs * (rows // batch), 0
    for _ in range(epochs):
        order = torch.randperm(rows, generator=generator)
        for at in range(0, rows - batch + 1, batch):
            step += 1
            left = 1 - (step - schedule.first_step) / steps
            optimizer.param_groups[0]["lr"] = schedule.lr * min(step / _WARMUP, 1) * left
            optimizer.zero_grad()
            loss(order[at : at + batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _rescorer_examples(
    chunk: LabelledTexts, states: Float32s, candidate_scorer: CandidateScorer
) -> tuple[Float32s, Float32s, Float32s]:
    """For the candidates of a document: the inputs (the states of their first and last words, their
    features and log odds), the log odds alone, and whether they are keyphrases.
    (q, 2D + F + 1), (q,), (q,)"""
    grams = CandidateNgrams(chunk.words, candidate_scorer.lexicon, Contributions.of(chunk))
    if not len(grams.hash):
        none = np.empty(0, np.float32)
        return none, none, none
    every = grams.features()
    features, log_odds = candidate_scorer.mlp.standardize(every), candidate_scorer.mlp(every)
    is_candidate = log_odds >= MIN_LOG_ODDS
    edges = states[grams.at[is_candidate]], states[(grams.at + grams.length - 1)[is_candidate]]
    log_odds = log_odds[is_candidate]
    inputs = np.column_stack([*edges, features[is_candidate], log_odds]).astype(np.float32)
    return inputs, log_odds, are_keyphrases(grams)[is_candidate].astype(np.float32)
