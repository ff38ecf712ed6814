"""Presentation: what a reader is shown of what a model says.

Here candidates become keyphrases: each once, likely enough, and spelt as the document spells it.
The raw prediction stays as it is.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import Candidate, Reading
from one2set.keyphrases.results import Keyphrase, KeyphraseList
from one2set.prediction.prediction import Side
from one2set.text import Span, words_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which keyphrases are wanted."""

    top: int | None = None  # so many at most
    min_score: float = 0.0
    only: Side | None = None
    more: float = 0.0  # than the model's operating point, in log odds; below 0 fewer

    def __post_init__(self) -> None:
        if self.top is not None and self.top < 0:
            raise ConfigError(f"top is {self.top}; expected 0 or more")
        if self.only not in (None, "present", "absent"):
            raise ConfigError(f"only is {self.only!r}; expected 'present', 'absent' or None")
        if not 0 <= self.min_score <= 1:
            raise ConfigError(f"min score is {self.min_score}; expected a probability, 0 to 1")
        if not abs(self.more) <= 100:
            raise ConfigError(f"more is {self.more}; expected −100 to 100, such as 1 or −1")


def keyphrases(
    passages: Iterable[Sequence[Candidate]],
    reading: Reading,
    calibration: Calibration,
    wanted: Wanted = Wanted(),  # noqa: B008  (frozen)
) -> KeyphraseList:
    """The keyphrases of a document, best first, of which passages were read one by one.

    A phrase of several passages is as likely as that one of them is right: 1 − Π (1 − p).
    """
    doubt: dict[tuple[str, ...], float] = {}
    best: dict[tuple[str, ...], tuple[float, Candidate]] = {}
    for candidates in passages:
        for one in candidates:
            half = calibration.half(one)
            likely = half.probability(one)
            if not one.readable or likely < half.least_for(wanted.more) or likely == 0:
                continue
            doubt[one.stems] = doubt.get(one.stems, 1.0) * (1 - likely)
            if one.stems not in best or likely > best[one.stems][0]:
                best[one.stems] = likely, one
    ranked = sorted(best, key=lambda stems: doubt[stems])
    for side, half in (("present", calibration.present), ("absent", calibration.absent)):
        own = [stems for stems in ranked if best[stems][1].side == side]
        count = half.enough([1 - doubt[stems] for stems in own], wanted.more)
        left_out = {*own[count:]}
        ranked = [stems for stems in ranked if stems not in left_out]
    if calibration.drop_parts:
        ranked = without_parts(ranked)
    chosen = [
        best[stems][1]
        for stems in ranked
        if 1 - doubt[stems] >= wanted.min_score and wanted.only in (None, best[stems][1].side)
    ]
    found = KeyphraseList()
    for one in chosen[: wanted.top]:
        spans = reading.spans(one)
        text = _spelt(one, spans, reading.document)
        found.append(Keyphrase(text, 1 - doubt[one.stems], one.present, spans))
    return found


def without_parts(ranked: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Phrases, best first, but for those that are part of a better one."""
    kept: list[tuple[str, ...]] = []
    covered: set[tuple[str, ...]] = set()
    for stems in ranked:
        if stems not in covered:
            kept.append(stems)
            ends = range(1, len(stems) + 1)
            covered.update(stems[start:end] for end in ends for start in range(end))
    return kept


def _spelt(candidate: Candidate, spans: Sequence[Span], document: Document) -> str:
    """As the document spells it most often, in the inflection that was said if there is such."""
    surfaces = [" ".join(document.text[start:end].split()) for start, end in spans]
    if not surfaces:
        return candidate.text
    said = document.phrase_words([candidate.text])[0]
    same = [s for s in surfaces if words_of(s, tokenised=document.tokenised) == said]
    # Of equals the first counts.
    return Counter(same or surfaces).most_common(1)[0][0]
