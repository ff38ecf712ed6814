"""Topics of BERTopic, represented by keyphrases.

    BERTopic(representation_model=KeyphraseRepresentation())

Each topic gets the keyphrases of its documents, weighted by c-TF-IDF as BERTopic weights words. An
occurrence counts by its score, the probability that the phrase is a keyphrase.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from one2set.data.control_codes import Side
from one2set.data.text import Stems, stem_all, words_of
from one2set.errors import missing_extra
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.paths import DEFAULT

try:
    from bertopic.representation import BaseRepresentation
except ImportError:
    raise missing_extra("bertopic", extra="bertopic", purpose="KeyphraseRepresentation") from None

Weighted = list[tuple[str, float]]  # phrases or words of a topic, best first
Counts = defaultdict[Stems, float]  # expected numbers of documents


class KeyphraseRepresentation(BaseRepresentation):  # type: ignore[misc]
    """Replaces the words of topics by the keyphrases of their documents."""

    def __init__(
        self,
        model: str = DEFAULT,
        *,
        top: int = 10,
        documents: int = 50,
        only: Side | None = None,
        more: float = 0.0,
        random_state: int = 0,
        threads: int = 0,
    ) -> None:
        """`top` phrases of a topic, from a random sample of `documents` of its texts; the rest as
        in `KeyphraseGenerator`."""
        self.model = model
        self.top = top
        self.documents = documents
        self.only: Side | None = only
        self.more = more
        self.random_state = random_state
        self.threads = threads

    def extract_topics(
        self, topic_model: Any, documents: Any, c_tf_idf: Any, topics: Mapping[int, Weighted]
    ) -> dict[int, Weighted]:
        """Called by BERTopic. `documents` is a table with the columns Document and Topic. A topic
        without keyphrases keeps its words."""
        texts = {topic: self._sample(documents, topic) for topic in topics}
        keyphrases = self._find_keyphrases({text for sample in texts.values() for text in sample})
        # By topic and phrase, in any inflection.
        expected: dict[int, Counts] = {topic: defaultdict(float) for topic in topics}
        spelling: dict[Stems, tuple[float, str]] = {}  # where the score is highest
        for topic, sample in texts.items():
            for text in sample:
                for phrase, score in keyphrases[text]:
                    stems = stem_all(words_of(phrase))
                    expected[topic][stems] += score
                    spelling[stems] = max(spelling.get(stems, (0.0, "")), (score, phrase))
        return {
            topic: [(spelling[stems][1], weight) for stems, weight in weighted[: self.top]]
            or list(topics[topic])
            for topic, weighted in _compute_c_tf_idf(expected).items()
        }

    def _sample(self, documents: Any, topic: int) -> list[str]:
        texts = documents.loc[documents.Topic == topic, "Document"].dropna()  # images have none
        if len(texts) > self.documents:
            texts = texts.sample(self.documents, random_state=self.random_state)
        return [str(text) for text in texts]

    def _find_keyphrases(self, texts: Iterable[str]) -> dict[str, Weighted]:
        """The keyphrases of each text. They are cached: BERTopic asks again for each point in time
        and each level of a hierarchy."""
        # For the first time, or after `set_params`.
        if getattr(self, "_loaded", None) != (self.model, self.threads):
            self._generator = KeyphraseGenerator(self.model, threads=self.threads)
            self._cache: dict[tuple[str, Side | None, float], Weighted] = {}
            self._loaded = self.model, self.threads
        keys = [(text, self.only, self.more) for text in texts]
        new = [key for key in keys if key not in self._cache]
        results = self._generator.generate((key[0] for key in new), only=self.only, more=self.more)
        for key, keyphrases in zip(new, results, strict=True):
            self._cache[key] = [
                (keyphrase.text.lower(), keyphrase.score) for keyphrase in keyphrases
            ]
        return {key[0]: self._cache[key] for key in keys}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the model and the cache, which each process creates for itself."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name in self.get_params()}


def _compute_c_tf_idf(expected: Mapping[int, Counts]) -> dict[int, list[tuple[Stems, float]]]:
    """c-TF-IDF: share(phrase, topic) · log(1 + A / f(phrase)), where f is the expected count of a
    phrase over all topics, and A the mean number of phrases of a topic. Best first."""
    everywhere: Counts = defaultdict(float)
    for counts in expected.values():
        for stems, count in counts.items():
            everywhere[stems] += count
    average = sum(everywhere.values()) / max(1, len(expected))
    weighted = {}
    for topic, counts in expected.items():
        total = sum(counts.values())
        weights = [
            (stems, count / total * math.log1p(average / everywhere[stems]))
            for stems, count in counts.items()
        ]
        weighted[topic] = sorted(weights, key=lambda pair: -pair[1])
    return weighted
