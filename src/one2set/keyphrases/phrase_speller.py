"""Spell phrases as the phrases of a list are spelt: their capitals, hyphens and slashes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

from one2set.data.phrase_list import close_up

WORD = re.compile(r"[^\W_]+")
_JOINS = (" ", "-", "/")  # between the words of a phrase
_SUFFIX = 3  # letters
_USUAL_SHARE, _SMOOTHING = 0.6, 5  # the prior share at ends, and its weight in words
_CACHED = 4096  # suffixes, and pairs of words


class PhraseSpeller:
    """Spells phrases like the phrases of a list. `spellings` returns the list; it is called once,
    when the first phrase is spelt."""

    def __init__(self, spellings: Callable[[], Iterable[str]]) -> None:
        self._spellings = spellings
        self._usual_share = lru_cache(_CACHED)(self._compute_usual_share)
        self._join = lru_cache(_CACHED)(self._find_join)

    def spell(self, words: Sequence[str]) -> str:
        """The words of a phrase, as `text.tokenise` has them, joined as authors do."""
        text = "".join(map(self.case, words[:1]))
        for left, right in pairwise(words):
            text += self._join(left, right) + self.case(right)
        return close_up(text)

    def case(self, word: str) -> str:
        """The usual capitals of a word; as it is given if they are unknown."""
        return max(self._forms.get(word.lower(), [word]), key=self._counts.__getitem__)

    def has(self, word: str) -> bool:
        """Whether a phrase has a word, in any capitals."""
        return word.lower() in self._forms

    def share_at_end(self, word: str) -> float:
        """The share of the phrases with a word that end with it: near 0 for adjectives. If that of
        its plural is higher, the share of the plural. For words of few phrases, the share is
        smoothed towards that of all words with the same last letters."""
        singular = word.lower()
        plural = "" if singular.endswith("ic") else f"{singular}s"  # of graphic, not graphics
        known = [plural] if plural in self._lower_counts else []
        return max(map(self._share_at_end, [singular, *known]))

    def _share_at_end(self, word: str) -> float:
        usual = self._usual_share(word[-_SUFFIX:])
        return (self._ends[word] + usual) / (self._lower_counts[word] + 1)

    def _compute_usual_share(self, suffix: str) -> float:
        """The share at ends of the words with a suffix."""
        words = self._suffixes.get(suffix, ())
        shares = sum(self._ends[word] / self._lower_counts[word] for word in words)
        return (shares + _SMOOTHING * _USUAL_SHARE) / (len(words) + _SMOOTHING)

    @cached_property
    def _text(self) -> str:
        """All phrases, each between line ends."""
        return "\n".join(["", *self._spellings()])

    @cached_property
    def _lower(self) -> str:
        return self._text.lower()

    @cached_property
    def _counts(self) -> Counter[str]:
        """How often phrases have each word, as it is written."""
        return _count_words(self._text)

    @cached_property
    def _lower_counts(self) -> Counter[str]:
        """How often phrases have each word, in any form."""
        return _count_words(self._lower)

    @cached_property
    def _forms(self) -> dict[str, list[str]]:
        """How each word is written, by the word in lower case."""
        forms: dict[str, list[str]] = {}
        for word in self._counts:
            forms.setdefault(word.lower(), []).append(word)
        return forms

    @cached_property
    def _ends(self) -> Counter[str]:
        """How many phrases end with each word, in lower case."""
        phrases = self._lower.split("\n")
        ends = Counter([phrase.rpartition(" ")[2] for phrase in phrases])
        for token in [token for token in ends if not token.isalnum()]:
            ends.update(WORD.findall(token)[-1:] * ends[token])
        return ends

    @cached_property
    def _suffixes(self) -> dict[str, list[str]]:
        """The words with each suffix."""
        words: dict[str, list[str]] = {}
        for word in self._lower_counts:
            words.setdefault(word[-_SUFFIX:], []).append(word)
        return words

    def _find_join(self, left: str, right: str) -> str:
        """The text between two words, in lower case."""
        if (left, right) not in self._joined:
            return " "
        # The lookahead lets occurrences overlap.
        pair = re.compile(rf"{left}(?=({'|'.join(_JOINS)}){right}(?![^\W_]))")
        text = self._lower
        matches = (match for match in pair.finditer(text) if not text[match.start() - 1].isalnum())
        return Counter(match[1] for match in matches).most_common(1)[0][0]

    @cached_property
    def _joined(self) -> set[tuple[str, str]]:
        """The pairs of words that a phrase joins by another mark than a space."""
        return {
            (left[0], right[0])
            for text in self._lower.split("\n")
            if "-" in text or "/" in text
            for left, right in pairwise(WORD.finditer(text))
            if text[left.end() : right.start()] in _JOINS[1:]
        }


def _count_words(text: str) -> Counter[str]:
    """Count the words that `WORD` finds in a text. Most words are whole tokens, for which
    `isalnum` is faster than the pattern."""
    counts: Counter[str] = Counter()
    for token, count in Counter(text.split()).items():
        for word in (token,) if token.isalnum() else WORD.findall(token):
            counts[word] = counts.get(word, 0) + count
    return counts


NO_SPELLER = PhraseSpeller(tuple)
