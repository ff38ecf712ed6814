"""`one2set compare` as a user calls it."""

from pathlib import Path

import pytest

from one2set.errors import ConfigError, DataError
from one2set.reproduction import job
from tests.commands import invoke, read_jsonl
from tests.reproduction.conftest import train_instantly


@pytest.fixture(autouse=True)
def replace_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "launch", lambda processes: train_instantly)


def compare(corpus: Path, folder: Path, *options: str) -> str:
    """What the command prints on stdout; it must succeed, or raise the user's error."""
    quick = ["--scale", "tiny", "--documents", "8", "--set", "logging.curves=false"]
    return invoke("compare", corpus, "--output", folder, *quick, *options).stdout


def test_systems_are_compared_and_finished_jobs_are_not_repeated(
    corpus_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "compared"
    table = compare(corpus_folder, folder, "--systems", "settrans,transformer")
    lines = [line.split() for line in table.splitlines() if line.strip()]
    assert lines[0][:3] == ["system", "present_F1@5", "present_F1@M"]
    assert [line[0] for line in lines[1:]] == ["settrans", "transformer"]
    rows = read_jsonl(folder / "comparison.jsonl")
    assert [row["system"] for row in rows] == ["settrans", "transformer"]
    assert all(row["documents"] >= 8 and row["parameters"] > 0 for row in rows)
    assert (folder / "comparison.md").read_text().count("\n| ") == 3
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model/*")}
    assert compare(corpus_folder, folder, "--systems", "settrans,transformer") == table
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("model/*")}


def test_a_system_that_cannot_be_trained_is_named(corpus_folder: Path, tmp_path: Path) -> None:
    frozen = ["--systems", "catseq", "--set", "train.frozen_layers=1"]
    with pytest.raises(DataError, match=r"(?s)catseq could not be trained.*only Transformers have"):
        compare(corpus_folder, tmp_path / "c", *frozen)


def test_options_are_checked_before_training(corpus_folder: Path, tmp_path: Path) -> None:
    for options, message in (
        (["--set", "model.widht=3"], "did you mean model.width"),
        (["--systems", "settrans,never"], "system is 'never'"),
        (["--split", "test"], "split is 'test'"),
    ):
        with pytest.raises(ConfigError, match=message):
            compare(corpus_folder, tmp_path / "c", *options)
    assert not (tmp_path / "c").exists()
