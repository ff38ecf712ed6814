"""Models are found by their names."""

from pathlib import Path

import pytest

from one2set.errors import ConfigError
from one2set.model.paths import (
    BUNDLED,
    DEFAULT,
    MODEL,
    find_model_folder,
    is_bundled,
    is_model,
    resolve_model_folder,
)


def test_a_name_may_be_a_folder_a_run_or_a_bundled_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_model_folder("some/folder") == Path("some/folder")
    assert find_model_folder(tmp_path) == resolve_model_folder(tmp_path) == tmp_path
    (tmp_path / MODEL).mkdir()
    assert find_model_folder(tmp_path) == resolve_model_folder(tmp_path) == tmp_path / MODEL
    monkeypatch.setattr("one2set.model.paths._BUNDLED_MODELS", tmp_path / "none")
    with pytest.raises(ConfigError, match="no bundled model; pass --model"):
        find_model_folder(DEFAULT)


def test_a_folder_without_a_configuration_is_no_model(tmp_path: Path) -> None:
    (tmp_path / MODEL).mkdir()
    assert is_model(DEFAULT)
    assert not is_model(str(tmp_path))
    (tmp_path / MODEL / "config.json").write_text("{}")
    assert is_model(str(tmp_path))
    assert is_model(str(tmp_path / MODEL))


def test_a_run_without_a_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.json").touch()
    with pytest.raises(
        ConfigError, match=r"without a model.*continue it: one2set train .*--resume"
    ):
        find_model_folder(tmp_path)
    (tmp_path / MODEL).mkdir()
    assert find_model_folder(tmp_path) == tmp_path / MODEL


def test_only_the_models_of_the_package_are_bundled(tmp_path: Path) -> None:
    assert all(is_bundled(find_model_folder(name)) for name in BUNDLED)
    assert not is_bundled(tmp_path / "default")
