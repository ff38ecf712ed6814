"""`one2set reproduce` as a user calls it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from one2set.errors import ConfigError
from one2set.reproduction import job
from tests.commands import invoke
from tests.reproduction.conftest import QUICK, tested_corpus, train_instantly

__all__ = ["tested_corpus"]  # a fixture

Reproduce = Callable[..., tuple[str, str]]


@pytest.fixture
def reproduce(tested_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reproduce:
    """What the command prints on stdout and stderr; it must succeed, or raise the user's error."""
    monkeypatch.setattr(job, "launch", lambda processes: train_instantly)
    quick = ["--scale", "tiny", "--documents", "8", "--seeds", "1"]
    quick += [f"--set={change}" for change in QUICK]

    def run(*options: str, corpus: Path = tested_corpus) -> tuple[str, str]:
        output = str(tmp_path / "reproduced")
        result = invoke("reproduce", corpus, "--output", output, *quick, *options)
        return result.stdout, result.stderr

    return run


def test_a_part_is_done_reported_and_not_repeated(reproduce: Reproduce, tmp_path: Path) -> None:
    listed, _ = reproduce("--only", "codes", "--list")
    assert "3 jobs, 0 of them done; 24 examples; left: unknown until a job is done" in listed
    assert [line.split() for line in listed.splitlines()[1:3]] == [
        ["row", "seed", "after", "examples", "time"],
        ["settrans", "0", "-", "8", "unknown"],
    ]
    with pytest.raises(ConfigError, match="has no finished job of this plan"):
        reproduce("--report-only")
    _, errors = reproduce("--only", "codes")
    assert "settrans-single (seed 0) done: 3 of 3 jobs, 24 of 24 examples, 0:00:00 left" in errors
    assert "the report is" in errors
    page = tmp_path / "reproduced" / "report.html"
    assert "Not measured yet: transformer" in page.read_text()
    listed, _ = reproduce("--only", "codes", "--seeds", "2", "--list")
    assert "6 jobs, 3 of them done; 48 examples; left: 0:00:" in listed
    _, errors = reproduce("--only", "codes")
    assert "seed 0" not in errors
    _, errors = reproduce("--report-only")
    assert "the report is" in errors


def test_missing_inputs_are_reported_at_once(reproduce: Reproduce, corpus_folder: Path) -> None:
    with pytest.raises(ConfigError, match="expected validation and test documents: make it with"):
        reproduce(corpus=corpus_folder)
    with pytest.raises(ConfigError, match="--only is figures"):
        reproduce("--only", "figures")
