"""Scoring: match predicted phrases with the gold phrases of each document.

The rules are those of the authors' evaluation (`ye2021`). Words are stemmed. The first 200
predictions are used; duplicates (same stems) are dropped, then phrases with `<unk>`, `,` or `.`. A
phrase is present if its stems are a contiguous part of the stemmed source, and correct if its stems
are those of a gold phrase.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from one2set.arrays import Ints
from one2set.data.document import Document
from one2set.data.specials import EOS, SPECIALS, UNK
from one2set.data.text import StemmedSource, stem_all
from one2set.evaluation.metrics import MetricValues, compute_metrics
from one2set.evaluation.protocols import YE2021, get_protocol
from one2set.evaluation.rankings import CUTOFFS, Cutoff, Ranking, Rankings

MAX_PREDICTIONS = 200
_INVALID = frozenset({SPECIALS[UNK], ",", "."})
Words = Sequence[str]
Group = Literal["present", "absent", "all"]
GROUPS: tuple[Group, ...] = ("present", "absent", "all")


class Gold(NamedTuple):
    """The gold phrases of a document, prepared once for any number of systems."""

    id: str | None
    source: StemmedSource
    phrases: tuple[str, ...]  # stems joined by spaces
    present: tuple[bool, ...]
    phrase_words: Callable[[Sequence[str]], Sequence[Words]]  # how predictions are split

    def of(self, group: Group) -> list[str]:
        """The phrases of one group."""
        sides = {"present": (True,), "absent": (False,), "all": (True, False)}[group]
        pairs = zip(self.phrases, self.present, strict=True)
        return [phrase for phrase, is_present in pairs if is_present in sides]


class MatchedPredictions(NamedTuple):
    """The unique valid predictions of a document, in order, and how many there were before."""

    phrases: tuple[str, ...]  # stems joined by spaces
    present: tuple[bool, ...]
    hits: tuple[bool, ...]
    covers: tuple[tuple[int, ...], ...]  # indices of the gold phrases that contain each
    num_read: int
    num_unique: int  # before invalid ones are dropped


@dataclass(frozen=True, slots=True)
class Scores:
    """The matched predictions of a system for D documents, and their rankings by group."""

    matched: list[MatchedPredictions]
    groups: dict[Group, Rankings]
    num_read: Ints  # (D,)
    num_unique: Ints  # (D,)

    @property
    def duplication(self) -> float:
        """Dup: the fraction of predictions that repeat the stems of an earlier one."""
        read = int(self.num_read.sum())
        return (read - int(self.num_unique.sum())) / read if read else 0.0


def gold_from_document(document: Document) -> Gold:
    """The gold of a document. Predictions are tokenised like its own phrases."""
    source, phrases = StemmedSource(document.words()), document.phrase_words()
    return _make_gold(document.id, source, phrases, phrase_words=document.phrase_words)


def gold_from_lines(source: str, target: str) -> Gold:
    """The gold of a pair of text lines, split as the authors do: at each single space.

    So there is an empty word between two spaces, and an empty target line is one empty phrase,
    which counts as absent gold. The source contains `<eos>` at most once.
    """
    source_words = list(chain.from_iterable(_split_words(source.split(SPECIALS[EOS]))))
    phrases = _split_words(target.split(";"))
    return _make_gold(None, StemmedSource(source_words), phrases, phrase_words=_split_words)


def split_phrases(line: str) -> list[str]:
    """Split a line `a;b;c` into phrases. An empty line has none; `;` has two empty ones."""
    stripped = line.strip()
    return stripped.split(";") if stripped else []


def _split_words(phrases: Sequence[str]) -> list[Words]:
    return [phrase.strip().split(" ") for phrase in phrases]


def _make_gold(
    id: str | None,
    source: StemmedSource,
    phrases: Iterable[Words],
    *,
    phrase_words: Callable[[Sequence[str]], Sequence[Words]],
) -> Gold:
    unique = [stems for stems in _deduplicate(phrases) if stems]
    present = tuple([stems in source for stems in unique])
    return Gold(id, source, tuple(map(" ".join, unique)), present, phrase_words)


def _deduplicate(phrases: Iterable[Words]) -> list[tuple[str, ...]]:
    """The unique stemmed phrases, in order. The authors compare them joined by `_`."""
    first: dict[str, tuple[str, ...]] = {}
    for stems in map(stem_all, phrases):
        first.setdefault("_".join(stems), stems)
    return list(first.values())


def match_predictions(gold: Gold, predicted: Sequence[str]) -> MatchedPredictions:
    """Match the predicted phrases of a document, best first, by the rules above."""
    read = predicted[:MAX_PREDICTIONS]
    unique = _deduplicate(gold.phrase_words(read))
    valid = [stems for stems in unique if stems and _INVALID.isdisjoint(stems)]
    phrases = tuple(map(" ".join, valid))
    correct = set(gold.phrases)
    anywhere = "\n".join(gold.phrases)
    return MatchedPredictions(
        phrases=phrases,
        present=tuple([stems in gold.source for stems in valid]),
        hits=tuple([phrase in correct for phrase in phrases]),
        # By characters, not words: in the authors' α-NDCG, `v` is relevant to `vertex`.
        covers=tuple(
            [
                tuple([at for at, target in enumerate(gold.phrases) if phrase in target])
                if phrase in anywhere
                else ()
                for phrase in phrases
            ]
        ),
        num_read=len(read),
        num_unique=len(unique),
    )


def score(golds: Sequence[Gold], predictions: Iterable[Sequence[str]]) -> Scores:
    """Score the predicted phrases of a system: one sequence per gold document, in order."""
    matched = [
        match_predictions(gold, phrases) for gold, phrases in zip(golds, predictions, strict=True)
    ]
    everything = Rankings.of(
        [
            Ranking(match.hits, match.covers, len(gold.phrases))
            for match, gold in zip(matched, golds, strict=True)
        ]
    )
    present = np.array(
        list(chain.from_iterable(match.present for match in matched)), dtype=np.bool_
    )
    gold_present = np.array(
        list(chain.from_iterable(gold.present for gold in golds)), dtype=np.bool_
    )
    return Scores(
        matched=matched,
        groups={
            "present": everything.only(present, gold_present),
            "absent": everything.only(~present, ~gold_present),
            "all": everything,
        },
        num_read=np.array([match.num_read for match in matched]),
        num_unique=np.array([match.num_unique for match in matched]),
    )


def evaluate(
    documents: Iterable[Document],
    predictions: Iterable[Sequence[str]],
    *,
    protocol: str = YE2021.name,
) -> dict[Group, dict[Cutoff, MetricValues]]:
    """Score predicted keyphrases against the keyphrases of documents.

    Phrases are compared by their stems, and split into present and absent ones by the document's
    text.

    Args:
        documents: Documents with their gold keyphrases.
        predictions: For each document, in the same order, its predicted phrases, best first.
        protocol: "ye2021", the authors' (default), "mean-f1", "with-gold", "unpadded", "micro", or
            several joined by "+".

    Returns:
        Precision, recall, F1 and more by group ("present", "absent", "all") and cutoff ("5", "10",
        "M", "O"). F1@M of present keyphrases is the `f1` of group "present" and cutoff "M".

    Raises:
        ConfigError: If the protocol is not known.
        DataError: If the keyphrases of a document are not known.
        ValueError: If the numbers of documents and predictions differ.

    Examples:
        >>> documents = list(read("test.jsonl"))
        >>> results = (keyphrases for _, keyphrases in KeyphraseGenerator().stream(documents))
        >>> figures = evaluate(documents, [[k.text for k in result] for result in results])
        >>> present = figures["present"]
        >>> print(present["M"].f1)
    """
    chosen = get_protocol(protocol)
    golds = []
    for document in documents:
        document.expect_keyphrases()
        golds.append(gold_from_document(document))
    scores = score(golds, predictions)
    return {
        group: {cutoff: compute_metrics(scores.groups[group], cutoff, chosen) for cutoff in CUTOFFS}
        for group in GROUPS
    }
