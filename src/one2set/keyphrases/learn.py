"""Learn from documents what a keyphrase model has beside its network: lexicon, scorers, phrases."""

import shutil
from collections.abc import Iterable
from itertools import tee
from pathlib import Path

from one2set.data.document import Document
from one2set.export.export import export_model
from one2set.export.runtime import Runtime
from one2set.extraction.build_lexicon import learnt_from
from one2set.extraction.candidate_scorer import Selector
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.train_scorers import fit_sight
from one2set.keyphrases.calibration import FILE as CALIBRATION
from one2set.model.paths import model_folder


def export_with_knowledge(
    model: Path,
    output: Path,
    knowledge: Knowledge,
    *,
    int8: bool = True,
    origin: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Export a model with this knowledge in place of its own. A model that has no calibration yet
    gets that of its `origin`, a model's folder."""

    def add_files(folder: Path) -> None:
        knowledge.save(folder)
        for source in filter(None, (origin, model_folder(model))):
            if (source / CALIBRATION).exists():
                shutil.copy(source / CALIBRATION, folder)

    export_model(model, output, int8=int8, overwrite=overwrite, add_files=add_files)


def teach_to_see(folder: Path, selector: Selector, documents: Iterable[Document]) -> None:
    """Fit a sight to the network of an exported folder, by those of the training documents that its
    selector did not count, and store it there."""
    learnt, read = tee(learnt_from(documents))
    pairs = zip(learnt, Runtime(folder).encode_words(read), strict=True)
    states = ((one, found.word_states) for one, found in pairs if found.word_states is not None)
    if (found := fit_sight(selector, states)) is not None:
        found.save(folder)
