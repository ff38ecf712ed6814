"""A drop-in replacement for KeyBERT's `extract_keywords`: only the import changes.

    from one2set.adapters.keybert import KeyBERT
    KeyBERT().extract_keywords(docs, top_n=5)

Like KeyBERT, it returns phrases that occur in the text; `KeyBERT(only=None)` adds absent ones.
Phrases have any length unless `keyphrase_ngram_range` is given. The score is the probability that a
phrase is a keyphrase. Options of KeyBERT's own search (`stop_words`, `min_df`, `use_maxsum`,
`use_mmr`, `diversity`, `nr_candidates`) have no effect. Other options that one2set cannot support
raise an error.
"""

from collections.abc import Sequence
from pathlib import Path

from one2set.data.control_codes import Side
from one2set.data.text import stem_all, words_of
from one2set.errors import ConfigError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.selection import MAX_MORE
from one2set.model.paths import DEFAULT

Keywords = list[tuple[str, float]]
_ALL = 1000


class KeyBERT:
    """Replaces KeyBERT's class of this name.

    `model` is the name or the folder of one of our models. `only` is "present", "absent", or None
    for both.
    """

    def __init__(
        self, model: str | Path = DEFAULT, llm: None = None, *, only: Side | None = "present"
    ) -> None:
        _refuse(llm=llm)
        self._only = only
        self._generator = KeyphraseGenerator(model)

    def extract_keywords(
        self,
        docs: str | list[str],
        candidates: list[str] | None = None,
        keyphrase_ngram_range: tuple[int, int] | None = None,
        stop_words: str | list[str] | None = "english",
        top_n: int = 5,
        min_df: int = 1,
        use_maxsum: bool = False,
        use_mmr: bool = False,
        diversity: float = 0.5,
        nr_candidates: int = 20,
        vectorizer: object = None,
        highlight: bool = False,
        seed_keywords: object = None,
        doc_embeddings: object = None,
        word_embeddings: object = None,
        threshold: float | None = None,
    ) -> Keywords | list[Keywords]:
        """The `top_n` best keywords with their scores; for several documents, a list for each. With
        `candidates`, only keywords among them."""
        _refuse(
            vectorizer=vectorizer,
            highlight=highlight or None,
            seed_keywords=seed_keywords,
            doc_embeddings=doc_embeddings,
            word_embeddings=word_embeddings,
            threshold=threshold,
        )
        texts = [docs] if isinstance(docs, str) else docs
        # A filter needs all phrases, also parts of others, which the operating point `shown` drops.
        filtered = candidates is not None or keyphrase_ngram_range is not None
        allowed = None if candidates is None else {stem_all(words_of(text)) for text in candidates}
        results = []
        for keyphrases in self._generator.generate(
            texts,
            top=_ALL if filtered else top_n,
            only=self._only,
            more=MAX_MORE,  # KeyBERT returns `top_n` phrases, however unlikely they are
            diversity=0.0 if filtered else None,
        ):
            keywords = [
                (keyphrase.text, round(keyphrase.score, 4))
                for keyphrase in keyphrases
                if _fits(words_of(keyphrase.text), keyphrase_ngram_range, allowed)
            ]
            results.append(keywords[:top_n])
        return results[0] if len(results) == 1 else results  # KeyBERT's rule


def extract_keywords(
    docs: str | list[str],
    top_n: int = 5,
    *,
    model: str | Path = DEFAULT,
    only: Side | None = "present",
) -> Keywords | list[Keywords]:
    """Extract keywords in one call. It loads the model each time; keep a `KeyBERT` for more."""
    return KeyBERT(model, only=only).extract_keywords(docs, top_n=top_n)


def _fits(
    words: Sequence[str], lengths: tuple[int, int] | None, allowed: set[tuple[str, ...]] | None
) -> bool:
    least, most = lengths or (1, len(words))
    return least <= len(words) <= most and (allowed is None or stem_all(words) in allowed)


def _refuse(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"one2set does not support {name} of KeyBERT; leave it out")
