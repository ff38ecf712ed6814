"""Select the keyphrases to show from the scored phrases of a document.

Each keyphrase is shown once, and spelt as in the document. The options decide which phrases are
shown; they never change a score.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Literal
from unicodedata import normalize

from one2set.data.control_codes import Side
from one2set.data.document import Document
from one2set.data.text import DIGIT, Span, Stems, stem_all, words_with_numbers
from one2set.errors import ConfigError
from one2set.keyphrases.calibration import MIN_THRESHOLD, TOP_K, Calibration, SideCalibration
from one2set.keyphrases.overlap import drop_needless_parts, marginal_probabilities
from one2set.keyphrases.phrase_speller import NO_SPELLER, PhraseSpeller
from one2set.keyphrases.results import Keyphrase, KeyphraseList
from one2set.keyphrases.scoring import ScoredPhrase
from one2set.keyphrases.surface import Surface
from one2set.keyphrases.thesaurus import load_stop_list, load_thesaurus, without_marks

MAX_MORE = 100.0
# Control characters and lone surrogates, which strings can contain and UTF-8 or JSON cannot.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# A phrase below the first value is probably a fragment, below the second a generic word. Chosen on
# validation documents, where they cost 1 % of the F1 at the operating point `shown`.
_SHARE_AT_END, _KEYPHRASENESS = 0.5, 0.02
_SHOWN_DIVERSITY = 0.5  # overlaps count as they were fitted
DEFAULT_TOP = 20  # keyphrases per document: as many as networks have codes
# The stems of irregular plurals, with those of their singulars, and the end of stems such as
# *labour*. (Those of *organisation* and *organization* differ too, but one is that of *organ*.)
_SINGULAR = {
    "analys": "analysi",
    "appendic": "appendix",
    "criteria": "criterion",
    "hypothes": "hypothesi",
    "indic": "index",
    "matric": "matrix",
    "phenomena": "phenomenon",
    "vertic": "vertex",
}
_BRITISH = re.compile(r"(?<=\w\w)our$")
_ACCENT = re.compile("[\u0300-\u036f]")
# Operating points: `shown` is for readers, `f1` has the best F1@5 and F1@M.
Point = Literal["shown", "f1"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which keyphrases to show."""

    top: int | None = None  # at most this many
    min_score: float = 0.0
    only: Side | None = None
    more: float = 0.0  # shifts the operating point, in log odds: above 0 shows more, below 0 fewer
    diversity: float | None = None  # 0 chooses each on its own, 1 none that overlaps another
    point: Point = "shown"
    vocabulary: str | Path | None = None  # a file of the only terms that are shown
    stop_list: str | Path | None = None  # a file with phrases that are never shown

    def diversity_by(self, calibration: Calibration) -> float:
        """The diversity that is asked for, or else that of the operating point."""
        if self.diversity is not None:
            return self.diversity
        return calibration.diversity if self.point == "f1" else _SHOWN_DIVERSITY

    @property
    def for_readers(self) -> bool:
        """Whether needless parts of phrases, fragments and generic words are left out."""
        return self.point == "shown" and self.diversity is None and self.vocabulary is None

    def floor(self, side: SideCalibration) -> float:
        """The least score that is shown of a side, unless more or only that side is asked for."""
        asked = self.point == "f1" or self.more > 0 or self.only is not None or self.vocabulary
        return 0.0 if asked else side.floor

    def min_scores(self, calibration: Calibration, num_passages: int) -> dict[Side, float]:
        """The least score that a phrase of each side needs, in a text of this many passages.

        In a long text, scores are means over its passages and lower than those of an abstract, on
        which the thresholds were fitted. So that readers see five present phrases all the same,
        the first five need no more than `MIN_THRESHOLD`."""
        scores = {name: side.threshold_at(self.more) for name, side in calibration.sides.items()}
        if num_passages > 1 and self.for_readers and self.more >= 0:
            scores["present"] = min(scores["present"], MIN_THRESHOLD)
        return scores

    def __post_init__(self) -> None:
        if self.only not in (None, "present", "absent"):
            raise ConfigError(f"only is {self.only!r}; expected 'present', 'absent' or None")
        if self.top is not None and not (isinstance(self.top, Integral) and self.top >= 0):
            raise ConfigError(f"top is {self.top!r}; expected a whole number, 0 or more")
        if not _is_between(0, self.min_score, 1):
            raise ConfigError(f"min score is {self.min_score!r}; expected a probability, 0 to 1")
        if not _is_between(-MAX_MORE, self.more, MAX_MORE):
            raise ConfigError(f"more is {self.more!r}; expected −100 to 100, such as 1 or −1")
        if self.diversity is not None and not _is_between(0, self.diversity, 1):
            raise ConfigError(f"diversity is {self.diversity!r}; expected 0 to 1")
        for name in ("vocabulary", "stop_list"):
            file = getattr(self, name)
            if not isinstance(file, (str, PathLike, NoneType)):
                raise ConfigError(f"{name} is {file!r:.40}; expected the name of a file")
        if self.point not in ("shown", "f1"):
            raise ConfigError(f"point is {self.point!r}; expected 'shown' or 'f1'")


def _is_between(low: float, value: object, high: float) -> bool:
    return isinstance(value, Real) and low <= float(value) <= high


def select_keyphrases(
    document: Document,
    phrases: Iterable[ScoredPhrase],
    calibration: Calibration,
    selection: Selection = Selection(),  # noqa: B008  (frozen)
    speller: PhraseSpeller = NO_SPELLER,
    *,
    num_passages: int = 1,
) -> KeyphraseList:
    """The keyphrases of a document that are shown, best first."""
    surface = Surface(document, speller)
    return select_from_surface(surface, phrases, calibration, selection, num_passages=num_passages)


def select_from_surface(
    surface: Surface,
    phrases: Iterable[ScoredPhrase],
    calibration: Calibration,
    selection: Selection,
    *,
    num_passages: int = 1,
) -> KeyphraseList:
    """`select_keyphrases`, for several selections of one document: its surface is computed once."""
    sides, diversity = calibration.sides, selection.diversity_by(calibration)
    min_scores = selection.min_scores(calibration, num_passages)
    likely = (phrase for phrase in phrases if phrase.score >= min_scores[phrase.side])
    numbered = (part for phrase in likely for part in _split_by_number(phrase, surface))
    terms = _extend_and_merge(surface.extend_to_terms, numbered, surface)
    if selection.for_readers:
        terms = _extend_and_merge(surface.extend_names, terms, surface)
    whole = sorted(_allow(terms, selection, surface), key=lambda phrase: -phrase.score)
    marginal = marginal_probabilities(
        [phrase.stems for phrase in whole],
        [phrase.score for phrase in whole],
        [sides[phrase.side].overlap for phrase in whole],
        diversity,
    )
    if selection.for_readers:
        marginal = [
            _multiply_odds(p, _readability(phrase, surface))
            for p, phrase in zip(marginal, whole, strict=True)
        ]
    wanted = [
        at
        for at, phrase in enumerate(whole)
        if marginal[at] >= min_scores[phrase.side]
        and phrase.score >= max(selection.min_score, selection.floor(sides[phrase.side]))
        and selection.only in (None, phrase.side)
    ]
    wanted.sort(key=lambda at: -marginal[at])
    if selection.for_readers:
        remaining = drop_needless_parts(
            [whole[at].stems for at in wanted],
            [whole[at].spans for at in wanted],
            [marginal[at] for at in wanted],
        )
        wanted = [wanted[number] for number in remaining]
    chosen: list[int] = []
    for name, side in sides.items():
        # The cutoff ignores overlaps, so the next best phrase replaces one that was dropped.
        threshold = side.threshold_at(selection.more)
        scores = [
            phrase.score for phrase in whole if phrase.side == name and phrase.score >= threshold
        ]
        count = side.cutoff_by_expected_f1(scores, selection.more)
        if name == "present" and selection.for_readers and selection.more >= 0:
            count = max(count, TOP_K)  # on validation this costs 0.5 % of the F1
        chosen += [at for at in wanted if whole[at].side == name][:count]
    shown = [whole[at] for at in sorted(chosen)]
    return KeyphraseList(
        Keyphrase(
            _spell(phrase, surface),
            phrase.score,
            bool(phrase.spans),
            phrase.spans,
            None if phrase.term is None else phrase.term.id,
        )
        for phrase in shown[: selection.top]
    )


def _readability(phrase: ScoredPhrase, surface: Surface) -> float:
    """The factor of a phrase's odds at the operating point `shown`, at most 1. It is lower for
    fragments, whose last word rarely ends a phrase, and for generic words, which are rarely
    keyphrases of the texts that contain them: readers mind these more than metrics do."""
    if not phrase.spans:
        return 1.0
    end = min(surface.share_at_end(phrase.spans) / _SHARE_AT_END, 1.0)
    return end * min(phrase.keyphraseness / _KEYPHRASENESS, 1.0)


def _multiply_odds(probability: float, factor: float) -> float:
    return probability * factor / (1 - probability + probability * factor)


def _split_by_number(phrase: ScoredPhrase, surface: Surface) -> Iterator[ScoredPhrase]:
    """A phrase for each number that a phrase has in the text: scoring takes *type 1 diabetes* and
    *type 2 diabetes* for the same."""
    if DIGIT not in phrase.stems:
        yield phrase
    elif not phrase.spans:
        yield phrase._replace(stems=stem_all(words_with_numbers(phrase.text)))
    else:
        by_stems: dict[Stems, list[Span]] = {}
        for span in phrase.spans:
            by_stems.setdefault(surface.stems(span), []).append(span)
        for stems, spans in by_stems.items():
            yield phrase._replace(stems=stems, spans=tuple(spans))


def _allow(
    phrases: list[ScoredPhrase], selection: Selection, surface: Surface
) -> list[ScoredPhrase]:
    """The phrases that the user's lists allow, as terms of the vocabulary if there is one."""
    stopped = frozenset() if selection.stop_list is None else load_stop_list(selection.stop_list)
    phrases = [phrase for phrase in phrases if without_marks(phrase.stems) not in stopped]
    if selection.vocabulary is None:
        return phrases
    terms = load_thesaurus(selection.vocabulary).choose(phrases, surface.find)
    return [term for term in terms if without_marks(term.stems) not in stopped]


def _extend_and_merge(
    extend: Callable[[tuple[Span, ...]], tuple[Span, ...]],
    phrases: Iterable[ScoredPhrase],
    surface: Surface,
) -> list[ScoredPhrase]:
    """Replace the occurrences of each phrase by `extend(occurrences)`. A phrase without any left is
    dropped. Phrases that become equal are merged, with the highest of their scores. Spelling
    variants with different Porter stems are merged too, with the occurrences of both."""
    by_stems: dict[Stems, ScoredPhrase] = {}
    for phrase in phrases:
        if phrase.spans:
            spans = extend(phrase.spans)
            if not spans:
                continue
            stems = phrase.stems if spans[0] in phrase.spans else surface.stems(spans[0])
            if stems != phrase.stems:
                phrase = phrase._replace(stems=stems, keyphraseness=1.0)
            phrase = phrase._replace(spans=spans)
        key = tuple(map(_unify, phrase.stems))
        same = by_stems.setdefault(key, phrase)
        if same is not phrase:
            better = phrase if phrase.score > same.score else same
            spans = better.spans
            if phrase.stems != same.stems:
                spans = tuple(sorted({*phrase.spans, *same.spans}))
            by_stems[key] = better._replace(spans=spans)
    return list(by_stems.values())


def _unify(stem: str) -> str:
    """The stem that an irregular plural shares with its singular, British with American spelling,
    and *Poincaré* with *Poincare*."""
    if not stem.isascii():
        (stem,) = stem_all([_ACCENT.sub("", normalize("NFD", stem))])
    return _BRITISH.sub("or", _SINGULAR.get(stem, stem))


def _spell(phrase: ScoredPhrase, surface: Surface) -> str:
    if phrase.term is not None:
        return phrase.term.label
    if phrase.spans:
        spelt = surface.spell(phrase.spans, surface.document.phrase_words([phrase.text])[0])
    else:
        spelt = surface.spell_absent(phrase.text)
    return " ".join(_UNPRINTABLE.sub(" ", spelt).split())
