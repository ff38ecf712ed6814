"""Select the keyphrases of a document from its candidates.

Each is shown once, if it is likely enough, and spelt as the document spells it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from one2set.data.control_codes import SIDES, Side
from one2set.data.document import Document
from one2set.data.phrase_list import Stems
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import (
    Candidate,
    CandidateBuilder,
    Candidates,
    is_readable,
)
from one2set.keyphrases.results import Keyphrase, KeyphraseList
from one2set.text import Span, words_of


@dataclass(frozen=True, slots=True)
class Selection:
    """Which keyphrases to show."""

    top: int | None = None  # at most this many
    min_score: float = 0.0
    only: Side | None = None
    more: float = 0.0  # shifts the operating point, in log odds: above 0 shows more, below 0 fewer

    def __post_init__(self) -> None:
        if self.only not in (None, "present", "absent"):
            raise ConfigError(f"only is {self.only!r}; expected 'present', 'absent' or None")
        if self.top is not None and self.top < 0:
            raise ConfigError(f"top is {self.top}; expected 0 or more")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min score is {self.min_score}; expected a probability, 0 to 1")
        if not abs(self.more) <= 100:
            raise ConfigError(f"more is {self.more}; expected −100 to 100, such as 1 or −1")


def select_keyphrases(
    passages: Iterable[Candidates],
    builder: CandidateBuilder,
    calibration: Calibration,
    selection: Selection = Selection(),  # noqa: B008  (frozen)
) -> KeyphraseList:
    """The keyphrases of a document, best first, from the candidates of each of its passages.

    A phrase found in several passages gets the noisy-or of its probabilities, 1 − Π (1 − p).
    """
    doubt: dict[Stems, float] = {}
    best: dict[Stems, tuple[float, Candidates, int]] = {}
    sides = calibration.absent, calibration.present
    thresholds = np.array([side.threshold_at(selection.more) for side in sides])
    for candidates in passages:
        probabilities = calibration.probabilities(candidates)
        likely = probabilities >= thresholds[candidates.present.astype(np.int64)]
        for at in np.flatnonzero(likely & (probabilities > 0)).tolist():
            stems, p = candidates.stems(at), float(probabilities[at])
            if not is_readable(stems, present=bool(candidates.present[at])):
                continue
            doubt[stems] = doubt.get(stems, 1.0) * (1 - p)
            if stems not in best or p > best[stems][0]:
                best[stems] = p, candidates, at
    ranked = sorted(best, key=lambda stems: doubt[stems])
    present = {stems: bool(found.present[at]) for stems, (_, found, at) in best.items()}
    for side, each in zip((False, True), sides, strict=True):
        own = [stems for stems in ranked if present[stems] == side]
        count = each.cutoff_by_expected_f1([1 - doubt[stems] for stems in own], selection.more)
        left_out = {*own[count:]}
        ranked = [stems for stems in ranked if stems not in left_out]
    if calibration.drop_subphrases:
        ranked = without_subphrases(ranked)
    chosen = [
        stems
        for stems in ranked
        if 1 - doubt[stems] >= selection.min_score
        and selection.only in (None, SIDES[0] if present[stems] else SIDES[1])
    ]
    shown = KeyphraseList()
    for stems in chosen[: selection.top]:
        _, candidates, at = best[stems]
        spans = builder.spans(one := candidates[at])
        text = _spell(one, spans, builder.document)
        shown.append(Keyphrase(text, 1 - doubt[stems], one.present, spans))
    return shown


def without_subphrases(ranked: Sequence[Stems]) -> list[Stems]:
    """Phrases, best first, without those that are part of a better one."""
    kept: list[Stems] = []
    covered: set[Stems] = set()
    for stems in ranked:
        if stems not in covered:
            kept.append(stems)
            ends = range(1, len(stems) + 1)
            covered.update(stems[start:end] for end in ends for start in range(end))
    return kept


def _spell(candidate: Candidate, spans: Sequence[Span], document: Document) -> str:
    """The document's most frequent spelling, in the generated inflection if it occurs."""
    surfaces = [" ".join(document.text[start:end].split()) for start, end in spans]
    if not surfaces:
        return candidate.text
    generated = document.phrase_words([candidate.text])[0]
    same = [s for s in surfaces if words_of(s, tokenised=document.tokenised) == generated]
    # The first of equally frequent ones.
    return Counter(same or surfaces).most_common(1)[0][0]
