"""Scoring: a source, its gold phrases and a system's phrases become judged rankings.

The rules are those of the authors' evaluation (`ye2021`): words are stemmed, the first 200
predictions are read, later ones with the same stems are dropped, then those that hold `<unk>`, `,`
or `.`; a phrase is present where its stems stand next to each other in the stemmed source, and
correct where its stems are those of a gold phrase.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from one2set.arrays import Ints
from one2set.data.document import Document
from one2set.data.specials import EOS, SPECIALS, UNK
from one2set.evaluation.metrics import Figures, figures
from one2set.evaluation.protocols import YE2021, protocol_named
from one2set.evaluation.rankings import CUTOFFS, Cutoff, Ranking, Rankings
from one2set.text import StemmedSource, stem_all

MAX_PREDICTIONS = 200
_INVALID = frozenset({SPECIALS[UNK], ",", "."})
Words = Sequence[str]
Group = Literal["present", "absent", "all"]
GROUPS: tuple[Group, ...] = ("present", "absent", "all")


class Gold(NamedTuple):
    """What one document's predictions are judged by; made once for any number of systems."""

    id: str | None
    source: StemmedSource
    phrases: tuple[str, ...]  # stems joined by spaces
    present: tuple[bool, ...]
    phrase_words: Callable[[Sequence[str]], Sequence[Words]]  # how predictions are split

    def of(self, group: Group) -> list[str]:
        """The phrases of one group."""
        wanted = {"present": (True,), "absent": (False,), "all": (True, False)}[group]
        pairs = zip(self.phrases, self.present, strict=True)
        return [phrase for phrase, is_present in pairs if is_present in wanted]


class Judged(NamedTuple):
    """One document's predictions that count, in their order, and how many there were at first."""

    phrases: tuple[str, ...]  # stems joined by spaces
    present: tuple[bool, ...]
    hits: tuple[bool, ...]
    covers: tuple[tuple[int, ...], ...]  # the gold phrases of which each is a part
    num_read: int
    num_unique: int  # before the invalid ones are dropped


@dataclass(frozen=True, slots=True)
class Scores:
    """One system's judged predictions over D documents, and their columns for the metrics."""

    judged: list[Judged]
    groups: dict[Group, Rankings]
    num_read: Ints  # (D,)
    num_unique: Ints  # (D,)

    @property
    def duplication(self) -> float:
        """Dup: the part of all predictions whose stems repeat an earlier one of the document."""
        read = int(self.num_read.sum())
        return (read - int(self.num_unique.sum())) / read if read else 0.0


def gold_of_document(document: Document) -> Gold:
    """The gold of a document; its predictions are tokenised as its own phrases are."""
    return _gold(
        document.id, document.words(), document.phrase_words(), phrase_words=document.phrase_words
    )


def gold_of_lines(source: str, target: str) -> Gold:
    """The gold of a text pair's two lines, split as the authors split them: at each single space.

    So two spaces enclose an empty word, and an empty target line is one empty phrase, absent gold
    like any other. The source holds `<eos>` at most once.
    """
    source_words = list(chain.from_iterable(_split_words(source.split(SPECIALS[EOS]))))
    return _gold(None, source_words, _split_words(target.split(";")), phrase_words=_split_words)


def phrases_of_line(line: str) -> list[str]:
    """The phrases of a text line `a;b;c`. Only an empty line has none: `;` has two empty ones."""
    stripped = line.strip()
    return stripped.split(";") if stripped else []


def _split_words(phrases: Sequence[str]) -> list[Words]:
    return [phrase.strip().split(" ") for phrase in phrases]


def _gold(
    id: str | None,
    source: Words,
    phrases: Iterable[Words],
    *,
    phrase_words: Callable[[Sequence[str]], Sequence[Words]],
) -> Gold:
    stemmed = StemmedSource(source)
    unique = [stems for stems in _unique(phrases) if stems]
    present = tuple([stems in stemmed for stems in unique])
    return Gold(id, stemmed, tuple(map(" ".join, unique)), present, phrase_words)


def _unique(phrases: Iterable[Words]) -> list[tuple[str, ...]]:
    """The stems of phrases, the first of each. The authors compare them joined by `_`."""
    first: dict[str, tuple[str, ...]] = {}
    for stems in map(stem_all, phrases):
        first.setdefault("_".join(stems), stems)
    return list(first.values())


def judge(gold: Gold, predicted: Sequence[str]) -> Judged:
    """A document's predicted phrases, best first, by the rules above."""
    read = predicted[:MAX_PREDICTIONS]
    unique = _unique(gold.phrase_words(read))
    kept = [stems for stems in unique if stems and _INVALID.isdisjoint(stems)]
    phrases = tuple(map(" ".join, kept))
    correct = set(gold.phrases)
    anywhere = "\n".join(gold.phrases)
    return Judged(
        phrases=phrases,
        present=tuple([stems in gold.source for stems in kept]),
        hits=tuple([phrase in correct for phrase in phrases]),
        # By characters, not words: the authors' α-NDCG holds `v` relevant to `vertex`.
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
    """A system's predicted phrases, one sequence for each gold document in its order."""
    judged = [judge(gold, phrases) for gold, phrases in zip(golds, predictions, strict=True)]
    everything = Rankings.of(
        [
            Ranking(one.hits, one.covers, len(gold.phrases))
            for one, gold in zip(judged, golds, strict=True)
        ]
    )
    present = np.array(list(chain.from_iterable(one.present for one in judged)), dtype=np.bool_)
    gold_present = np.array(list(chain.from_iterable(one.present for one in golds)), dtype=np.bool_)
    return Scores(
        judged=judged,
        groups={
            "present": everything.only(present, gold_present),
            "absent": everything.only(~present, ~gold_present),
            "all": everything,
        },
        num_read=np.array([one.num_read for one in judged]),
        num_unique=np.array([one.num_unique for one in judged]),
    )


def evaluate(
    documents: Iterable[Document],
    predictions: Iterable[Sequence[str]],
    *,
    protocol: str = YE2021.name,
) -> dict[Group, dict[Cutoff, Figures]]:
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
        "M", "O"). F1@M of present keyphrases is `evaluate(…)["present"]["M"].f1`.

    Raises:
        ConfigError: If the protocol is not known.
        ValueError: If there are more documents than predictions, or fewer.

    Example:
        >>> documents = list(read("test.jsonl"))
        >>> found = (keyphrases for _, keyphrases in KeyphraseGenerator().stream(documents))
        >>> figures = evaluate(documents, [[one.text for one in some] for some in found])
        >>> print(figures["present"]["M"].f1)
    """
    scores = score([gold_of_document(document) for document in documents], predictions)
    chosen = protocol_named(protocol)
    return {
        group: {cutoff: figures(scores.groups[group], cutoff, chosen) for cutoff in CUTOFFS}
        for group in GROUPS
    }
