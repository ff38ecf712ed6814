"""Presentation: what a reader is shown of a prediction.

`keyphrases` says of every generated phrase where it stands and how likely it is right; `select`
chooses among them. The raw prediction stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.inference.calibration import Calibration
from one2set.inference.prediction import Prediction
from one2set.text import Span, occurrences, stem_all, words_of


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A generated phrase."""

    text: str
    score: float  # by which the authors order phrases: the mean probability of its words
    probability: float  # calibrated where the model is, else the product over its tokens
    spans: tuple[Span, ...]  # where it stands in `document.text`, in any inflection

    @property
    def present(self) -> bool:
        """Whether the document holds it."""
        return bool(self.spans)


def keyphrases(
    prediction: Prediction, document: Document, *, calibration: Calibration | None = None
) -> list[Keyphrase]:
    """Every phrase of a prediction, duplicates too, in its order and as it was written."""
    source = document.tokens()
    found = []
    for slot in prediction.phrases:
        spans = tuple(occurrences(document.phrase_words([slot.text])[0], source))
        likely = calibration(slot, present=bool(spans)) if calibration else slot.probability
        found.append(Keyphrase(slot.text, slot.score, likely, spans))
    return found


def select(
    found: Sequence[Keyphrase],
    document: Document,
    *,
    by: Literal["score", "probability"] = "probability",
    least: float = 0.0,
    top: int | None = None,
) -> list[Keyphrase]:
    """The best keyphrases, each once, spelt as in the document where it holds them.

    Of phrases with equal stems the best is kept; `least` and `top` limit what is left.
    """
    if top is not None and top < 0:
        raise ConfigError(f"top is {top}; expected 0 or more")
    best: dict[tuple[str, ...], Keyphrase] = {}
    for keyphrase in sorted(found, key=lambda one: -_value(one, by)):
        words = document.phrase_words([keyphrase.text])[0]
        if _value(keyphrase, by) >= least:
            best.setdefault(stem_all(words), replace(keyphrase, text=_spelt(keyphrase, document)))
    return list(best.values())[:top]


def _value(keyphrase: Keyphrase, by: Literal["score", "probability"]) -> float:
    return keyphrase.score if by == "score" else keyphrase.probability


def _spelt(keyphrase: Keyphrase, document: Document) -> str:
    """The text of the first occurrence in the same inflection, else of the first."""
    words = document.phrase_words([keyphrase.text])[0]
    surfaces = [" ".join(document.text[start:end].split()) for start, end in keyphrase.spans]
    same = (s for s in surfaces if words_of(s, tokenised=document.tokenised) == words)
    return next(same, surfaces[0] if surfaces else keyphrase.text)
