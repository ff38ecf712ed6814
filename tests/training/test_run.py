"""Run folders: created once, resumed with the same arguments, by one process at a time."""

from pathlib import Path

import pytest

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.errors import ConfigError, DataError
from one2set.training.config import Config
from one2set.training.run import Run
from tests.training.conftest import Miniature


def test_a_saved_run_loads_unchanged(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run", seed=7)
    with run.locked():
        pass
    again = Run.load(tmp_path / "run")
    assert (again.metadata, again.config, again.fingerprint) == (
        run.metadata,
        run.config,
        run.fingerprint,
    )
    assert (again.metadata.system, again.metadata.seed) == ("settrans", 7)


def test_a_folder_that_is_no_run_is_left_alone(miniature: Miniature, tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="exists but contains no run"),
        miniature.run(tmp_path).locked(),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_run_is_an_error(miniature: Miniature, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contains no run"):
        Run.load(tmp_path)
    run = miniature.run(tmp_path / "run")
    with run.locked():
        pass
    (run.folder / "run.json").write_text("{}")
    with pytest.raises(DataError, match=r"run\.json: system: Field required; start a new run"):
        Run.load(run.folder)


def test_limits_and_rates_can_change_but_not_fixed_settings(
    miniature: Miniature, tmp_path: Path
) -> None:
    run = miniature.run(tmp_path / "run")
    before = run.fingerprint
    changes = run.change(run.config.override(["limits.steps=9", "train.learning_rate=1e-5"]))
    assert changes == [
        "train.learning_rate is now 1e-05 (was 0.005)",
        "limits.steps is now 9 (was 0)",
    ]
    with run.locked():
        pass
    again = Run.load(run.folder)
    assert (again.config.limits.steps, again.fingerprint) == (9, before)
    with pytest.raises(ConfigError, match=r"model\.width is 32, but this run was started with 16"):
        run.change(run.config.override(["model.width=32"]))


@pytest.mark.parametrize("setting", ["beta1", "beta2", "epsilon", "encoder_lr_factor"])
def test_what_the_optimizers_state_contains_is_fixed(
    setting: str, miniature: Miniature, tmp_path: Path
) -> None:
    run = miniature.run(tmp_path / "run")
    with pytest.raises(ConfigError, match=rf"train\.{setting} is 0\.5, but this run"):
        run.change(run.config.override([f"train.{setting}=0.5"]))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("train.frozen_layers", "1"),  # the optimizer has no moments of frozen weights
        ("train.drop_oov_phrases", "true"),  # the loss is of other targets
        ("validation.documents", "3"),
        ("beam.width", "3"),  # validations search with it
    ],
)
def test_what_validations_depend_on_is_fixed(
    setting: str, value: str, miniature: Miniature, tmp_path: Path
) -> None:
    run = miniature.run(tmp_path / "run")
    with pytest.raises(ConfigError, match=rf"{setting} is {value.capitalize()}, but this run"):
        run.change(run.config.override([f"{setting}={value}"]))


def test_a_run_resumes_with_its_own_arguments(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run", seed=7)
    run.check_arguments(system=None, seed=None, corpus=miniature.corpus)
    run.check_arguments(system="settrans", seed=7, corpus=miniature.corpus)
    with pytest.raises(
        ConfigError, match=r"--system is transformer, but .* was started with settrans"
    ):
        run.check_arguments(system="transformer", seed=None, corpus=miniature.corpus)
    with pytest.raises(ConfigError, match=r"--seed is 8, but .* was started with 7"):
        run.check_arguments(system=None, seed=8, corpus=miniature.corpus)
    documents = tmp_path / "other.jsonl"
    documents.write_text('{"title": "a b", "abstract": "c d", "keyphrases": ["a"]}\n')
    prepare(tmp_path / "other", Inputs(train=[str(documents)]))
    with pytest.raises(DataError, match=r"is not the corpus that .* was started with"):
        run.check_arguments(system=None, seed=None, corpus=Corpus(tmp_path / "other"))


def test_a_run_resumes_with_its_own_initial_weights(
    miniature: Miniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("before", "other"):
        (tmp_path / name / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    def resume(init: Path | None, *, started_from: Path | None) -> None:
        run = miniature.run(tmp_path / "run", init=started_from)
        run.check_arguments(system=None, seed=None, corpus=miniature.corpus, init=init)

    before = tmp_path / "before"
    for init in (None, Path("before"), Path("run/../before/model")):
        resume(init, started_from=before)
    with pytest.raises(
        ConfigError, match=r"--from is other, but .*run was started from .*before; omit"
    ):
        resume(Path("other"), started_from=before)
    with pytest.raises(ConfigError, match="was started from random weights; omit the option"):
        resume(before, started_from=None)


def test_a_locked_run_refuses_other_processes(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run")
    busy = pytest.raises(ConfigError, match="another process is training")
    with run.locked(), busy, run.locked():
        pass
    with run.locked():
        pass


def test_new_settings_do_not_change_the_fingerprint(
    miniature: Miniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = miniature.run(tmp_path / "run")
    before, known = run.fingerprint, Config.fixed
    monkeypatch.setattr(Config, "fixed", lambda config: known(config) | {"model.later": 0})
    assert run.fingerprint == before
    assert miniature.run(tmp_path / "run", "model.width=32").fingerprint != before
