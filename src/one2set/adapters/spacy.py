"""A spaCy component: `nlp.add_pipe("one2set")` adds `doc._.keyphrases`.

spaCy finds it by its entry point; no import is needed. Keyphrases are stored as plain values, so
that documents can be written to disk and read again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import tee
from typing import Any

from one2set.data.control_codes import Side
from one2set.data.reading.records import document_from_text
from one2set.errors import missing_extra
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.selection import Selection
from one2set.model.paths import DEFAULT

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span
except ImportError:
    raise missing_extra("spacy", extra="spacy", purpose="the spaCy component") from None

_KEY = "one2set"  # in a document's `user_data`


@dataclass(frozen=True, slots=True)
class DocKeyphrase:
    """A keyphrase of a spaCy document."""

    text: str
    score: float  # probability that it is a keyphrase, 0 to 1
    present: bool
    spans: list[Span]  # its occurrences, as whole tokens


def _get_keyphrases(doc: Doc) -> list[DocKeyphrase]:
    return [
        DocKeyphrase(
            text,
            score,
            present,
            [doc.char_span(start, end, alignment_mode="expand") for start, end in spans],
        )
        for text, score, present, spans in doc.user_data.get(_KEY, [])
    ]


Doc.set_extension("keyphrases", getter=_get_keyphrases, force=True)


class KeyphraseComponent:
    """Finds the keyphrases of documents; with `nlp.pipe`, of many in batches."""

    def __init__(self, model: str, selection: Selection, threads: int) -> None:
        self._model, self._selection, self._threads = model, selection, threads
        self._generator: KeyphraseGenerator | None = None

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1) -> Iterator[Doc]:
        """Process documents in order. `batch_size` is ignored: our batches are by length."""
        if self._generator is None:
            self._generator = KeyphraseGenerator(self._model, threads=self._threads)
        docs, copies = tee(stream)
        documents = (document_from_text(doc.text) for doc in copies)
        results = self._generator.stream_selected(documents, self._selection)
        for doc, (_, keyphrases) in zip(docs, results, strict=True):
            doc.user_data[_KEY] = [
                [
                    keyphrase.text,
                    keyphrase.score,
                    keyphrase.present,
                    [list(span) for span in keyphrase.spans],
                ]
                for keyphrase in keyphrases
            ]
            yield doc

    def __getstate__(self) -> dict[str, Any]:
        """The state without the model, which each process loads again."""
        return self.__dict__ | {"_generator": None}


@Language.factory(  # type: ignore[untyped-decorator]
    "one2set",
    assigns=["doc._.keyphrases"],
    default_config={
        "model": DEFAULT,
        "top": None,
        "min_score": 0.0,
        "only": None,
        "more": 0.0,
        "threads": 0,
    },
)
def make_component(
    nlp: Language,
    name: str,
    model: str,
    top: int | None,
    min_score: float,
    only: Side | None,
    more: float,
    threads: int,
) -> KeyphraseComponent:
    """Make the component for `nlp.add_pipe("one2set", config={"top": 5})`; the options are those of
    `KeyphraseGenerator`."""
    return KeyphraseComponent(model, Selection(top, min_score, only, more), threads)
