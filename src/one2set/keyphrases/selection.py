"""Select the keyphrases of a document from its candidates.

Each is shown once, if it is likely enough, and spelt as the document spells it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from one2set.data.control_codes import Side
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import Candidate, CandidateBuilder
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
    passages: Iterable[Sequence[Candidate]],
    builder: CandidateBuilder,
    calibration: Calibration,
    selection: Selection = Selection(),  # noqa: B008  (frozen)
) -> KeyphraseList:
    """The keyphrases of a document, best first, from the candidates of each of its passages.

    A phrase found in several passages gets the noisy-or of its probabilities, 1 − Π (1 − p).
    """
    doubt: dict[tuple[str, ...], float] = {}
    best: dict[tuple[str, ...], tuple[float, Candidate]] = {}
    for candidates in passages:
        for one in candidates:
            side_calibration = calibration.side_of(one)
            p = side_calibration.probability(one)
            threshold = side_calibration.threshold_at(selection.more)
            if not one.readable or p < threshold or p == 0:
                continue
            doubt[one.stems] = doubt.get(one.stems, 1.0) * (1 - p)
            if one.stems not in best or p > best[one.stems][0]:
                best[one.stems] = p, one
    ranked = sorted(best, key=lambda stems: doubt[stems])
    for side, each in (("present", calibration.present), ("absent", calibration.absent)):
        own = [stems for stems in ranked if best[stems][1].side == side]
        count = each.cutoff_by_expected_f1([1 - doubt[stems] for stems in own], selection.more)
        left_out = {*own[count:]}
        ranked = [stems for stems in ranked if stems not in left_out]
    if calibration.drop_subphrases:
        ranked = without_subphrases(ranked)
    chosen = [
        best[stems][1]
        for stems in ranked
        if 1 - doubt[stems] >= selection.min_score and selection.only in (None, best[stems][1].side)
    ]
    found = KeyphraseList()
    for one in chosen[: selection.top]:
        spans = builder.spans(one)
        text = _spell(one, spans, builder.document)
        found.append(Keyphrase(text, 1 - doubt[one.stems], one.present, spans))
    return found


def without_subphrases(ranked: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Phrases, best first, without those that are part of a better one."""
    kept: list[tuple[str, ...]] = []
    covered: set[tuple[str, ...]] = set()
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
