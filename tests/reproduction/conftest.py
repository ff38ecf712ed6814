"""A corpus with test sets, instant trainings, and a finished plan."""

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

from one2set.cli import app
from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.corpus.selection import Filters
from one2set.reproduction.execution import Plan
from one2set.reproduction.plan import PARTS, Setup, select_rows
from one2set.reproduction.results import Results

QUICK = ("logging.curves=false", "model.width=16", "model.feed_forward=16")


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few resamples: they take most of the time of a report."""
    monkeypatch.setattr("one2set.reproduction.results.RESAMPLES", 500)


class Ended:
    """A training that has run to its end in this very process."""

    def __init__(self, code: int) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code

    wait = poll

    def terminate(self) -> None:
        raise AssertionError("it has ended")


def train_instantly(arguments: Sequence[str], log: IO[bytes], lock: IO[bytes]) -> Ended:
    """Train here and now, without a new process that would have to import torch."""
    result = CliRunner().invoke(app, arguments)
    log.write(result.stderr.encode())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        log.write(str(result.exception).encode())
        return Ended(2)
    return Ended(result.exit_code)


@pytest.fixture(scope="session")
def tested_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Most of the bundled sample for training, the rest as two of the paper's test sets."""
    folder = tmp_path_factory.mktemp("tested")
    lines = (files("one2set.data") / "sample" / "documents.jsonl").read_text().splitlines(True)
    parts = {"train": lines[16:], "kp20k": lines[:10], "inspec": lines[10:16]}
    for name, part in parts.items():
        (folder / f"{name}.jsonl").write_text("".join(part))
    tests = {f"{name}-part": str(folder / f"{name}.jsonl") for name in ("inspec", "kp20k")}
    inputs = Inputs(train=[str(folder / "train.jsonl")], tests=tests)
    prepare(folder / "corpus", inputs, filters=Filters(hold_out=0.2))
    return folder / "corpus"


@pytest.fixture
def quick_setup(tested_corpus: Path) -> Callable[..., Setup]:
    """A setup of a few documents."""

    def setup(*changes: str, documents: int = 8) -> Setup:
        return Setup(Corpus(tested_corpus), "tiny", documents, None, (*QUICK, *changes))

    return setup


@pytest.fixture(scope="session")
def whole(tested_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Every row of the plan, done with one seed, and some with a second one."""
    root = tmp_path_factory.mktemp("whole")
    setup = Setup(Corpus(tested_corpus), "tiny", 8, None, QUICK)
    jobs = setup.jobs(select_rows(PARTS), [0]) + setup.jobs(select_rows(["codes"]), [1])
    for _ in Plan(jobs, setup, root, splits=setup.splits).run(train_instantly, tidy=True):
        pass
    return Results(setup, root)
