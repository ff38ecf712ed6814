"""The folder of a run: made once, continued only as what it is, by one process at a time."""

from pathlib import Path

import pytest

from one2set.config import Config
from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.errors import ConfigError, DataError
from one2set.training.run import Run
from tests.training.conftest import Miniature


def test_a_run_is_read_back(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run", seed=7)
    with run.claimed():
        pass
    again = Run.load(tmp_path / "run")
    assert (again.facts, again.config, again.owner) == (run.facts, run.config, run.owner)
    assert (again.facts.system, again.facts.seed) == ("settrans", 7)


def test_a_folder_that_is_no_run_is_left_alone(miniature: Miniature, tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="exists, and holds no run"),
        miniature.run(tmp_path).claimed(),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_told(miniature: Miniature, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        Run.load(tmp_path)
    run = miniature.run(tmp_path / "run")
    with run.claimed():
        pass
    (run.folder / "run.json").write_text("{}")
    with pytest.raises(DataError, match=r"run\.json: Field required; start a new run"):
        Run.load(run.folder)


def test_limits_and_rates_can_change_but_not_what_checkpoints_mean(
    miniature: Miniature, tmp_path: Path
) -> None:
    run = miniature.run(tmp_path / "run")
    owner = run.owner
    changes = run.change(run.config.override(["limits.steps=9", "train.learning_rate=1e-5"]))
    assert changes == [
        "train.learning_rate is now 1e-05 (was 0.005)",
        "limits.steps is now 9 (was 0)",
    ]
    with run.claimed():
        pass
    again = Run.load(run.folder)
    assert (again.config.limits.steps, again.owner) == (9, owner)
    with pytest.raises(ConfigError, match=r"model\.width is 32, but this run began with 16"):
        run.change(run.config.override(["model.width=32"]))


def test_a_run_is_continued_as_what_it_began_as(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run", seed=7)
    run.expect(system=None, seed=None, corpus=miniature.corpus)
    run.expect(system="settrans", seed=7, corpus=miniature.corpus)
    with pytest.raises(ConfigError, match=r"--system is transformer, but .* run with settrans"):
        run.expect(system="transformer", seed=None, corpus=miniature.corpus)
    with pytest.raises(ConfigError, match=r"--seed is 8, but .* run with 7"):
        run.expect(system=None, seed=8, corpus=miniature.corpus)
    documents = tmp_path / "other.jsonl"
    documents.write_text('{"title": "a b", "abstract": "c d", "keyphrases": ["a"]}\n')
    prepare(tmp_path / "other", Inputs(train=[str(documents)]))
    with pytest.raises(DataError, match=r"is not the corpus that .* was begun with"):
        run.expect(system=None, seed=None, corpus=Corpus(tmp_path / "other"))


def test_one_process_at_a_time(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run")
    busy = pytest.raises(ConfigError, match="another process is training")
    with run.claimed(), busy, run.claimed():
        pass
    with run.claimed():
        pass


def test_a_setting_that_a_later_version_brings_leaves_checkpoints_their_run(
    miniature: Miniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = miniature.run(tmp_path / "run")
    owner, known = run.owner, Config.fixed
    monkeypatch.setattr(Config, "fixed", lambda config: known(config) | {"model.later": 0})
    assert run.owner == owner
    assert miniature.run(tmp_path / "run", "model.width=32").owner != owner
