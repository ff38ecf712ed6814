"""The generator: texts in, keyphrases out. What Python programs and `one2set generate` use.

    KeyphraseGenerator().generate("Some text")

Texts of any length; nothing of them is left unread. Without torch, where the model is exported.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import overload

from one2set.data.document import Document
from one2set.data.reading.records import make_document
from one2set.extraction.knowledge import Knowledge
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.candidates import Reading
from one2set.keyphrases.exploration import DIAL, Exploration, explore
from one2set.keyphrases.loading import load_predictor
from one2set.keyphrases.passages import passages
from one2set.keyphrases.selection import Keyphrase, Wanted, keyphrases
from one2set.model.paths import DEFAULT, named_model
from one2set.prediction.prediction import NO_NULL, NullBias, Prediction, Side

_MOST = 20  # keyphrases of a document, where nobody says how many: as many as networks have codes
_LONGEST_TITLE = 40  # words
_BATCH_TOKENS = 2048  # what is fastest on a processor


class KeyphraseGenerator:
    """Finds the keyphrases of texts: those that stand in them, and those that do not.

    `model` is the folder of a model; without it, the one that this package carries.
    """

    def __init__(self, model: str | Path = DEFAULT, *, threads: int = 0) -> None:
        """`threads` compute at once, 0 for one on every core."""
        folder = named_model(model)
        self._predictor = load_predictor(folder, threads=threads, batch_tokens=_BATCH_TOKENS)
        self._calibration, self._knowledge = Calibration.load(folder), Knowledge.load(folder)

    @overload
    def generate(  # type: ignore[overload-overlap]  # a string is an iterable of strings too
        self,
        text: str,
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
    ) -> list[Keyphrase]: ...

    @overload
    def generate(
        self,
        text: Iterable[str],
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
    ) -> list[list[Keyphrase]]: ...

    def generate(
        self,
        text: str | Iterable[str],
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
    ) -> list[Keyphrase] | list[list[Keyphrase]]:
        """The keyphrases of a text, best first; of several texts, a list for each.

        `top` limits their number (else 20), `min_score` what is shown, `only` its kind. `more` asks
        for more of them than the model holds best, below 0 for fewer: 1 is a step.
        """
        wanted = Wanted(top, min_score, only, more)
        if isinstance(text, str):
            return next(self.stream([document_from_text(text)], wanted))[1]
        return [found for _, found in self.stream(map(document_from_text, text), wanted)]

    def stream(
        self,
        documents: Iterable[Document],
        wanted: Wanted = Wanted(),  # noqa: B008  (frozen)
    ) -> Iterator[tuple[Document, list[Keyphrase]]]:
        """Each document with its keyphrases, in order and in bounded memory."""
        if wanted.top is None:
            wanted = replace(wanted, top=_MOST)
        for reading, said in self._read(documents, self._calibration.null_bias(wanted.more)):
            pool = (reading.candidates(*pair) for pair in said)
            yield reading.document, keyphrases(pool, reading, self._calibration, wanted)

    def explore(
        self, documents: Iterable[Document], dial: Sequence[float] = DIAL
    ) -> Iterator[Exploration]:
        """Each document at several positions of the dial, and what every code says of it."""
        positions = [Wanted(_MOST, more=more) for more in dial]
        for reading, said in self._read(documents, NO_NULL):
            yield explore(reading, said, self._calibration, positions)

    def _read(
        self, documents: Iterable[Document], null_bias: NullBias
    ) -> Iterator[tuple[Reading, list[tuple[Prediction, Document]]]]:
        """Each document, with what the network says of its passages."""
        waiting: deque[tuple[Document, list[Document]]] = deque()

        def pieces() -> Iterator[Document]:
            for document in documents:
                parts = passages(document)
                waiting.append((document, parts))
                yield from parts

        predictions = self._predictor.predict(
            pieces(), null_bias=null_bias, project=self._knowledge.project
        )
        for prediction in predictions:
            document, parts = waiting.popleft()
            said = [prediction, *islice(predictions, len(parts) - 1)]
            yield Reading(document, self._knowledge), list(zip(said, parts, strict=True))


def document_from_text(text: str, id: str = "text") -> Document:
    """A text as a document; a short first line, if there are more, is its title. Spans in the
    document are spans in the text."""
    first, newline, rest = text.partition("\n")
    words = len(first.split())
    has_title = newline and rest.strip() and 0 < words <= _LONGEST_TITLE and first[-1] not in ".,;:"
    title, abstract = (first, rest) if has_title else ("", text)
    return make_document(id, title=title, abstract=abstract, keyphrases=None)


def with_title(document: Document) -> Document:
    """A document read from plain text, with its title found; any other as it is."""
    if document.title or document.tokenised:
        return document
    return document_from_text(document.abstract, document.id)
