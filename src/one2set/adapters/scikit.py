"""Keyphrases as features for scikit-learn.

    make_pipeline(KeyphraseTransformer(top=10), TfidfVectorizer(analyzer=list), LinearSVC())
    CountVectorizer(analyzer=KeyphraseTransformer())

In a pipeline, it finds the keyphrases of all texts in batches, as lists of strings. As an
`analyzer`, it is called for one text at a time.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Self, cast

from one2set.data.control_codes import Side
from one2set.data.document import Document
from one2set.errors import missing_extra
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.inputs import iterate_documents
from one2set.model.paths import DEFAULT

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise missing_extra("scikit-learn", extra="sklearn", purpose="KeyphraseTransformer") from None


_OF_PROCESS = ("_generator", "_loaded")  # attributes that are not copied


class KeyphraseTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Converts texts to lists of their keyphrases, in lower case so that spellings agree."""

    def __init__(
        self,
        model: str = DEFAULT,
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
        threads: int = 0,
    ) -> None:
        """See `KeyphraseGenerator`."""
        self.model = model
        self.top = top
        self.min_score = min_score
        self.only: Side | None = only
        self.more = more
        self.threads = threads

    def fit(self, X: Iterable[str], y: Any = None) -> Self:  # noqa: N803  (scikit-learn's names)
        """Load the model. There is nothing to learn from X."""
        self._generator = KeyphraseGenerator(self.model, threads=self.threads)
        self._loaded = self.model, self.threads
        return self

    def transform(self, X: Iterable[str]) -> list[list[str]]:  # noqa: N803
        """The keyphrases of each text, best first."""
        if getattr(self, "_loaded", None) != (self.model, self.threads):
            self.fit(X)  # for the first time, or after `set_params`
        documents = cast("Iterator[Document]", iterate_documents(X))  # it refuses a single text
        results = self._generator.generate(
            documents, top=self.top, min_score=self.min_score, only=self.only, more=self.more
        )
        return [[keyphrase.text.lower() for keyphrase in keyphrases] for keyphrases in results]

    def __call__(self, text: str) -> list[str]:
        """The keyphrases of one text: the interface of a vectoriser's analyzer."""
        return self.transform([text])[0]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __getstate__(self) -> dict[str, Any]:
        """The state without the model, which each process loads again."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _OF_PROCESS}
