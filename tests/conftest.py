"""Shared by all tests: reproducible random cases, and the data beside the repository."""

import os
import signal
import sys
from collections.abc import Generator, Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before torch is imported: two pytest processes, and those that they start, share two cores, and
# threads that wait for one another by spinning would stop them all.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell's background jobs ignore Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"

# The same cases in every run, and no limit on their time: the machine may be busy.
settings.register_profile(
    "reproducible",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("reproducible")


# Kinds of tests that must not be skipped, by their marks: ONE2SET_REQUIRE=browser,ray.
_REQUIRED = frozenset(filter(None, os.environ.get("ONE2SET_REQUIRE", "").split(",")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest first. If a page of documentation comes last, one process runs it alone while the
    other one has nothing left to do."""
    items.sort(key=lambda item: "/system/" not in item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails tests that are required and were skipped."""
    report = yield
    marks = _REQUIRED.intersection(mark.name for mark in item.iter_markers())
    if report.skipped and marks:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"ONE2SET_REQUIRE is {', '.join(marks)}, but this was skipped: {reason}"
    return report


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """A test that asks for more threads does not leave them to the next one."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and references that is never committed; skips where it is absent."""
    if not _SHARED.is_dir():
        pytest.skip(f"{_SHARED} is not there")
    return _SHARED


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample as a corpus, a fifth of it for validation."""
    from one2set.data.corpus.prepare import Inputs, prepare
    from one2set.data.corpus.selection import Filters

    folder = tmp_path_factory.mktemp("sample") / "corpus"
    with as_file(files("one2set.data").joinpath("sample", "documents.jsonl")) as documents:
        prepare(folder, Inputs(train=[str(documents)]), filters=Filters(hold_out=0.2))
    return folder
