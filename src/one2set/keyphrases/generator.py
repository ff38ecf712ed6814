"""The generator: texts in, keyphrases out. Used by Python programs and by `one2set generate`.

    KeyphraseGenerator().generate("Some text")

Texts may have any length and are read to their end. An exported model runs without torch.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from one2set.data.control_codes import Side
from one2set.data.document import Document, StemmedDocument
from one2set.errors import ConfigError
from one2set.extraction.knowledge import Knowledge, check_model
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.exploration import DIAL, Exploration, explore
from one2set.keyphrases.inputs import AnyDocument, iterate_documents
from one2set.keyphrases.passages import split_into_passages
from one2set.keyphrases.phrase_speller import PhraseSpeller
from one2set.keyphrases.results import KeyphraseList
from one2set.keyphrases.scoring import Passages, score_phrases
from one2set.keyphrases.selection import DEFAULT_TOP, Point, Selection, select_keyphrases
from one2set.model.paths import BUNDLED, DEFAULT, find_model_folder
from one2set.prediction.loading import load_predictor
from one2set.prediction.prediction import NO_NULL, NullBias
from one2set.prediction.predictor import Check, never_stop

_BATCH_TOKENS = 2048  # the fastest on a CPU


class Options(TypedDict, total=False):
    """The options of `KeyphraseGenerator.generate`, for type checkers."""

    top: int | None
    min_score: float
    only: Side | None
    more: float
    diversity: float | None
    point: Point
    vocabulary: str | Path | None
    stop_list: str | Path | None


class KeyphraseGenerator:
    """Finds the keyphrases of English texts: phrases that occur in a text, and phrases that do not.

    A network generates candidates, and components learnt from training documents propose more. A
    calibrated model estimates the probability that each candidate is a keyphrase. Long texts are
    split into passages. The results for a text do not depend on the other texts of a batch.

    A generator can be pickled, for example for `multiprocessing`. Only the model's name and
    `threads` are stored; the model is loaded again where the pickle is loaded.

    Args:
        model: The folder of a model or of a training run, or the name of a model of this package:
            "default", or "light", which has no network, is about six times as fast and finds fewer
            correct keyphrases. "./light" is your own folder of that name.
        threads: Number of CPU threads; 0 for one per core.
        verify: Check the files against the model's manifest. Of models in the package, only the
            sizes are checked.

    Raises:
        ConfigError: If there is no such model, or if it needs torch, which is not installed.
        DataError: If a file of the model is damaged or missing.

    Examples:
        >>> from one2set import KeyphraseGenerator
        >>> generator = KeyphraseGenerator()
        >>> generator.generate("We forecast traffic with graph neural networks.", top=1)
        [Keyphrase('graph neural networks', 0.58, present)]
    """

    def __init__(
        self, model: str | Path = DEFAULT, *, threads: int = 0, verify: bool = True
    ) -> None:
        if not isinstance(threads, int) or threads < 0:
            raise ConfigError(f"threads is {threads!r}; expected a number, 0 for one per core")
        folder = find_model_folder(model)
        # A bundled model may be in another place where a pickle arrives; others are not.
        self._model = model if model in BUNDLED else folder.absolute()
        self._threads, self._verify = threads, verify
        if verify:
            check_model(folder)
        self._predictor = load_predictor(folder, threads=threads, batch_tokens=_BATCH_TOKENS)
        self._calibration, self._knowledge = Calibration.load(folder), Knowledge.load(folder)
        self._speller = PhraseSpeller(self._knowledge.phrase_list.spellings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._model)!r}, threads={self._threads})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), threads=self._threads, verify=self._verify), (self._model,)

    @overload
    def generate(  # type: ignore[overload-overlap]  # a string is an iterable of strings too
        self, text: str | Document, **options: Unpack[Options]
    ) -> KeyphraseList: ...
    @overload
    def generate(
        self, text: Iterable[str | Document], **options: Unpack[Options]
    ) -> list[KeyphraseList]: ...

    def generate(
        self,
        text: str | Document | Iterable[str | Document],
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
        diversity: float | None = None,
        point: Point = "shown",
        vocabulary: str | Path | None = None,
        stop_list: str | Path | None = None,
    ) -> KeyphraseList | list[KeyphraseList]:
        """Find the keyphrases of a text, or of several texts in batches.

        Args:
            text: A text of any length, or several: a list, a column of a pandas table, or any
                other iterable. A short first line without a full stop is taken as the title. A
                text may also be a `Document`.
            top: Maximum number of keyphrases per text; None for 20.
            min_score: Leave out keyphrases with a lower score, from 0 to 1.
            only: "present" or "absent" for keyphrases of that kind; None for both.
            more: Above 0 for more keyphrases, below 0 for fewer: a shift of the threshold, in
                log odds. 1 is one `--more` of the command line. It never changes a score.
            diversity: From 0 (rank by score alone) to 1 (drop phrases that overlap a better
                one); None for the default of the operating point.
            point: The operating point: "shown" selects phrases for readers, "f1" for the best
                F1@5 and F1@M, with more absent keyphrases.
            vocabulary: A file with the only terms that may be found: a list (.txt), a table
                (.csv) or SKOS (.ttl, .rdf, .nt, .json; needs the extra `[skos]`).
            stop_list: A file with phrases that are never shown, one per line.

        Returns:
            For one text, a `KeyphraseList`: its keyphrases, best first. It can be empty. For
            several texts, a list with a `KeyphraseList` for each, in their order.

        Raises:
            ConfigError: If an option is out of its range.
            DataError: If a text is neither a string nor a `Document`, for example None or a path.

        Examples:
            >>> text = "We forecast traffic on road networks with graph neural networks."
            >>> for keyphrase in generator.generate(text, top=3):
            ...     print(f"{keyphrase.score:.2f} {keyphrase.text}")
        """
        selection = Selection(top, min_score, only, more, diversity, point, vocabulary, stop_list)
        if isinstance(text, str | Document):
            return next(self.stream_selected(iterate_documents([text]), selection))[1]
        documents = list(iterate_documents(text))  # all are checked before the first is read
        return [keyphrases for _, keyphrases in self.stream_selected(documents, selection)]

    def stream(
        self,
        documents: Iterable[Document],
        *,
        top: int | None = None,
        min_score: float = 0.0,
        only: Side | None = None,
        more: float = 0.0,
        diversity: float | None = None,
        point: Point = "shown",
        vocabulary: str | Path | None = None,
        stop_list: str | Path | None = None,
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        """Find the keyphrases of documents one after the other, in bounded memory.

        Args:
            documents: Documents, for example from `one2set.read`. Any number: they are taken from
                the iterable in batches, as results are asked for.
            top: Maximum number of keyphrases per document; None for 20.
            min_score: Leave out keyphrases with a lower score, from 0 to 1.
            only: "present" or "absent" for keyphrases of that kind; None for both.
            more: Above 0 for more keyphrases, below 0 for fewer, as in `generate`.
            diversity: From 0 to 1, as in `generate`.
            point: "shown" or "f1", as in `generate`.
            vocabulary: A file with the only terms that may be found.
            stop_list: A file with phrases that are never shown.

        Returns:
            An iterator over pairs of a document and its keyphrases, best first, in the order of
            the documents. Spans refer to `document.text`.

        Raises:
            ConfigError: If an option is out of its range.
            DataError: If a document is neither a `Document` nor a string, such as None or a path.

        Examples:
            >>> from one2set import read
            >>> for document, keyphrases in generator.stream(read("papers.jsonl"), top=5):
            ...     print(document.id, [keyphrase.text for keyphrase in keyphrases])
        """
        selection = Selection(top, min_score, only, more, diversity, point, vocabulary, stop_list)
        return self.stream_selected(iterate_documents(documents), selection)

    def stream_selected(
        self,
        documents: Iterable[AnyDocument],
        selection: Selection,
        *,
        check: Check = never_stop,
    ) -> Iterator[tuple[Document, KeyphraseList]]:
        """`stream`, for other modules. `check` is called before each piece of work; if it raises,
        the work ends."""
        if selection.top is None:
            selection = replace(selection, top=DEFAULT_TOP)
        calibration, speller = self._calibration, self._speller
        for stemmed, passages in self._predict_passages(documents, calibration.null_bias(), check):
            num_passages = len(passages)
            min_score = min(selection.min_scores(calibration, num_passages).values())
            scored = score_phrases(
                stemmed, passages, self._knowledge, calibration, min_score=min_score, check=check
            )
            document = stemmed.document
            yield (
                document,
                select_keyphrases(
                    document, scored, calibration, selection, speller, num_passages=num_passages
                ),
            )

    def explore(
        self,
        documents: Iterable[AnyDocument],
        dial: Sequence[float] = DIAL,
        *,
        check: Check = never_stop,
    ) -> Iterator[Exploration]:
        """Yield, for each document, the keyphrases for several values of `more`, and the output of
        every control code. `check` is as in `stream_selected`."""
        selections = [Selection(DEFAULT_TOP, more=more) for more in dial]
        model = self._calibration, self._knowledge, self._speller
        for document, passages in self._predict_passages(documents, NO_NULL, check):
            yield explore(document, passages, model, selections, check)

    def _predict_passages(
        self, documents: Iterable[AnyDocument], null_bias: NullBias, check: Check
    ) -> Iterator[tuple[StemmedDocument, Passages]]:
        """Each document, with its passages and their predictions."""
        waiting: deque[tuple[StemmedDocument, list[StemmedDocument]]] = deque()

        def iterate_passages() -> Iterator[Document]:
            for document in map(StemmedDocument.of, documents):
                parts = split_into_passages(document)
                waiting.append((document, parts))
                yield from (part.document for part in parts)

        predictions = self._predictor.predict(
            iterate_passages(), null_bias=null_bias, project=self._knowledge.project, check=check
        )
        for prediction in predictions:
            document, parts = waiting.popleft()
            passage_predictions = [prediction, *islice(predictions, len(parts) - 1)]
            yield document, list(zip(passage_predictions, parts, strict=True))
