"""Comparing systems: which runs that takes, in which order, and what is measured of each."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from one2set.atomic import complete_file
from one2set.config import fingerprint
from one2set.data.corpus import TRAIN, Corpus, file_hash
from one2set.data.document import Document
from one2set.data.vocabulary import document_of, load_vocabulary
from one2set.errors import ConfigError, DataError
from one2set.evaluation.metrics import counts, figures
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import gold_of_document, score
from one2set.inference.engine import Engine
from one2set.model.folder import WEIGHTS
from one2set.systems import system_named
from one2set.training.checkpoint import Checkpoints
from one2set.training.run import Run
from one2set.training.schedule import Progress

_MEASURED = "measured.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """A trained system on one set of documents, by the authors' protocol."""

    system: str
    present_f1_5: float
    present_f1_m: float
    absent_f1_5: float
    absent_f1_m: float
    num_present: float  # #PK
    num_absent: float  # #AK
    duplication: float  # Dup
    documents: int  # visits, those of the system that it started from included
    training_speed: float  # documents per second, validation included
    generation_speed: float  # documents per second
    parameters: int


def plan(names: Sequence[str]) -> list[str]:
    """The systems to train, each once, and each after the one that it starts from."""
    ordered: list[str] = []
    for name in names:
        before = system_named(name).starts_from
        ordered += [*(plan([before]) if before is not None else []), name]
    return list(dict.fromkeys(ordered))


def has_ended(folder: Path, corpus: Corpus) -> bool:
    """Whether there is a run that has come to its end."""
    if not Run.exists(folder):
        return False
    run = Run.load(folder)
    checkpoints = Checkpoints(run.checkpoints, owner=run.owner)
    last = checkpoints.last()
    if last is None:
        return False
    progress = checkpoints.progress(last)
    done = progress.done(run.config.limits, epoch_documents=len(corpus.split(TRAIN)))
    return progress.ending(done, run.config.validation) is not None


def documents_of(corpus: Corpus, split: str) -> list[Document]:
    """The documents of a split, in words."""
    if split not in corpus.manifest.splits:
        known = ", ".join(corpus.manifest.splits)
        raise ConfigError(f"split is {split!r}; {corpus.folder} has {known}")
    vocabulary = load_vocabulary(corpus.folder, size=corpus.manifest.vocabulary_size)
    return [document_of(example, vocabulary) for example in corpus.split(split)]


def measure(folder: Path, documents: Sequence[Document]) -> Measured:
    """Let the model of a run speak, and judge what it says; what was measured before is kept."""
    run = Run.load(folder)
    ids = fingerprint({"documents": [document.id for document in documents]})
    key = f"{file_hash(run.model / WEIGHTS)} {ids}"
    path = folder / _MEASURED
    if path.exists():
        saved = json.loads(path.read_bytes())
        if saved.pop("of") == key:
            return Measured(**saved)

    engine = Engine.load(run.model)
    start = time.perf_counter()
    predictions = [[slot.text for slot in one.phrases] for one in engine.predict(documents)]
    seconds = time.perf_counter() - start

    scores = score([gold_of_document(document) for document in documents], predictions)
    present, absent = scores.groups["present"], scores.groups["absent"]
    progress = _progress(run)
    before = _progress(Run.load(Path(run.facts.init))).documents if run.facts.init else 0
    measured = Measured(
        system=run.facts.system,
        present_f1_5=figures(present, "5", YE2021).f1,
        present_f1_m=figures(present, "M", YE2021).f1,
        absent_f1_5=figures(absent, "5", YE2021).f1,
        absent_f1_m=figures(absent, "M", YE2021).f1,
        num_present=counts(present).predicted,
        num_absent=counts(absent).predicted,
        duplication=scores.duplication,
        documents=progress.documents + before,
        training_speed=progress.documents / progress.seconds,
        generation_speed=len(documents) / seconds,
        parameters=sum(weight.numel() for weight in engine.network.parameters()),
    )
    with complete_file(path) as file:
        file.write(orjson.dumps({"of": key, **asdict(measured)}, option=orjson.OPT_INDENT_2))
    return measured


def _progress(run: Run) -> Progress:
    """How far a run has come."""
    checkpoints = Checkpoints(run.checkpoints, owner=run.owner)
    last = checkpoints.last()
    if last is None:
        raise DataError("has no checkpoint", fix="train it to its end", path=run.folder)
    return checkpoints.progress(last)
