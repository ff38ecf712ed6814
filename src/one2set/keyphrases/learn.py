"""Learn the knowledge of a keyphrase model from documents: lexicon, scorers, phrase list."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.extraction.candidate_scorer import CandidateScorer
from one2set.extraction.fit_knowledge import (
    MAX_RESCORER_DOCUMENTS,
    extend_knowledge,
    fit_knowledge,
    fit_span_rescorer,
)
from one2set.extraction.knowledge import KNOWLEDGE_FILES, NO_KNOWLEDGE, Knowledge, check_model
from one2set.extraction.span_rescorer import pool_states
from one2set.keyphrases.calibration import FILE as CALIBRATION
from one2set.model.manifest import MANIFEST, write_model_folder
from one2set.model.paths import is_exported, is_light, resolve_model_folder
from one2set.prediction.runtime import Runtime


def learn_from_documents(
    model: Path,
    output: Path,
    documents: Callable[[], Iterable[Document]],
    *,
    sample: Callable[[], Iterable[Document]] | None = None,
    origin: Path | None = None,
    counted: bool = False,
    overwrite: bool = False,
    verify: bool = True,
) -> None:
    """Copy an exported or light model, with knowledge learnt from documents in place of its own.

    The scorers are fitted to a `sample` of the documents, by default to all. With `origin`, a model
    folder, the documents are added to that model's knowledge, unless they were already `counted`
    for it; then only a span rescorer is fitted, to the network. A model without a calibration gets
    the origin's. `documents` and `sample` are called more than once.
    """
    folder = resolve_model_folder(model)
    if not is_exported(folder):
        raise ConfigError(
            f"{model} is not exported; first run one2set export {model} --output FOLDER"
        )
    for verified in filter(None, (folder, origin)) if verify else ():
        check_model(verified)
    knowledge = NO_KNOWLEDGE if origin is None else Knowledge.load(origin).without_span_rescorer()
    fits_all = knowledge.candidate_scorer is None
    if counted and fits_all:
        raise ConfigError(
            f"--counted needs the counts of another model, and --from is {origin or 'missing'}; "
            "pass --from MODEL, a model that one2set learn made from these documents"
        )
    with write_model_folder(output, overwrite=overwrite) as partial:
        if fits_all:
            knowledge = fit_knowledge(documents, sample)
        elif not counted:
            knowledge = extend_knowledge(knowledge, documents)
        for file in folder.iterdir():
            if file.is_file() and file.name not in {*KNOWLEDGE_FILES, MANIFEST}:
                shutil.copy(file, partial)
        inherited = origin and origin / CALIBRATION
        if inherited and inherited.exists() and not (partial / CALIBRATION).exists():
            shutil.copy(inherited, partial)
        knowledge.save(partial)
        # Leave-one-out counts, which it is fitted with, need documents that were all counted.
        counts_all = fits_all or counted
        if counts_all and not is_light(folder) and knowledge.candidate_scorer is not None:
            add_span_rescorer(partial, knowledge.candidate_scorer, (sample or documents)())


def add_span_rescorer(folder: Path, scorer: CandidateScorer, sample: Iterable[Document]) -> None:
    """Fit a span rescorer to the network of an exported folder, on a sample of the documents that
    the candidate scorer counted, and save it there."""
    labelled = (document for document in sample if document.keyphrases is not None)
    chosen = take_evenly(labelled, MAX_RESCORER_DOCUMENTS)
    states = (
        (document, pool_states(encoded, document.tokens().spans))
        for document, encoded in Runtime(folder).encode_words(chosen)
    )
    if (rescorer := fit_span_rescorer(scorer, states)) is not None:
        rescorer.save(folder)


def take_evenly(documents: Iterable[Document], most: int) -> list[Document]:
    """Evenly spaced documents: at most `most`, and more than half of that if there are enough. The
    documents are read once, and only the chosen ones are kept in memory."""
    taken: list[Document] = []
    distance = 1
    for index, document in enumerate(documents):
        if index % distance == 0:
            taken.append(document)
        if len(taken) > most:
            taken, distance = taken[::2], 2 * distance
    return taken
