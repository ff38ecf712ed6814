"""Learn from documents what a keyphrase model has beside its network: lexicon, scorers, phrases."""

import shutil
from collections.abc import Callable, Iterable
from itertools import tee
from pathlib import Path

from one2set.atomic import atomic_folder
from one2set.data import phrase_list
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.export.runtime import Runtime
from one2set.extraction import candidate_scorer, lexicon, phrase_classifier, span_scorer
from one2set.extraction.build_lexicon import learnt_from
from one2set.extraction.candidate_scorer import Selector
from one2set.extraction.knowledge import NOTHING, Knowledge
from one2set.extraction.train_scorers import extend_knowledge, fit_sight
from one2set.keyphrases.calibration import FILE as CALIBRATION
from one2set.keyphrases.loading import exported
from one2set.model.paths import model_folder

_FILES = {part.FILE for part in (phrase_list, lexicon, candidate_scorer, span_scorer)}
_FILES |= {phrase_classifier.FILE}


def learn_from_documents(
    model: Path,
    output: Path,
    documents: Callable[[], Iterable[Document]],
    *,
    origin: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Copy an exported model, with knowledge learnt from documents in place of its own.

    With `origin`, a model folder, the documents are added to that model's knowledge, and a model
    without a calibration gets the origin's. `documents` is called more than once.
    """
    folder = model_folder(model)
    if not exported(folder):
        raise ConfigError(
            f"{model} is not exported; first run one2set export {model} --output FOLDER"
        )
    knowledge = NOTHING if origin is None else Knowledge.load(origin).of_any_network()
    fits_all = knowledge.selector is None
    with atomic_folder(output, overwrite=overwrite) as partial:
        knowledge = extend_knowledge(knowledge, documents)
        for file in folder.iterdir():
            if file.is_file() and file.name not in _FILES:
                shutil.copy(file, partial)
        inherited = origin and origin / CALIBRATION
        if inherited and inherited.exists() and not (partial / CALIBRATION).exists():
            shutil.copy(inherited, partial)
        knowledge.save(partial)
        if fits_all and knowledge.selector is not None:
            teach_to_see(partial, knowledge.selector, documents())


def teach_to_see(folder: Path, selector: Selector, documents: Iterable[Document]) -> None:
    """Fit a sight to the network of an exported folder, by those of the training documents that its
    selector did not count, and store it there."""
    learnt, read = tee(learnt_from(documents))
    pairs = zip(learnt, Runtime(folder).encode_words(read), strict=True)
    states = ((one, found.word_states) for one, found in pairs if found.word_states is not None)
    if (found := fit_sight(selector, states)) is not None:
        found.save(folder)
