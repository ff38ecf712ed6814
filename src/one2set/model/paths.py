"""Locations of models: in the package, in a run folder, or in a folder of their own.

A *light* model has no network, only extraction components and a calibration. Its folder has a file
light.json, which may name another model's folder whose components it shares.
"""

import json
from pathlib import Path

from one2set.errors import ConfigError, DataError

MODEL = "model"  # the best model, in a run folder
DEFAULT = "default"
BUNDLED = (DEFAULT, "light")
LIGHT_FILE = "light.json"
DESCRIPTION = "runtime.json"  # of an exported network
VERSIONS = "versions.json"  # of the tokeniser, the stemmer and the features
_RUN = "run.json"  # of a run folder
_BUNDLED_MODELS = Path(__file__).parents[1] / "models"


def resolve_model_folder(folder: Path) -> Path:
    """The folder of the best model if `folder` is a run folder, otherwise `folder` itself."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder


def find_model_folder(name: str | Path) -> Path:
    """The folder of a bundled model, by its name, of a run, or any other model folder."""
    if name not in BUNDLED:
        return _expect_model(resolve_model_folder(Path(name)))
    bundled = _BUNDLED_MODELS / name
    if not bundled.is_dir():
        raise ConfigError(
            "this installation has no bundled model; pass --model with a model folder "
            "(make one with one2set train, then one2set export)"
        )
    return bundled


def is_bundled(folder: Path) -> bool:
    """Whether a folder is that of a model in the package."""
    return folder.resolve().parent == _BUNDLED_MODELS.resolve()


def _expect_model(folder: Path) -> Path:
    if (folder / _RUN).exists():
        raise ConfigError(
            f"{folder} is a run without a model: it was stopped before its first validation; "
            f"continue it: one2set train CORPUS --output {folder} --resume"
        )
    return folder


def is_model(name: str) -> bool:
    """Whether a name is that of a model folder or a run folder."""
    folder = resolve_model_folder(Path(name))
    return name in BUNDLED or (folder / "config.json").exists() or is_light(folder)


def is_light(folder: Path) -> bool:
    """Whether the model of a folder has no network."""
    return (folder / LIGHT_FILE).exists()


def expect_network(folder: Path) -> None:
    """Raise ConfigError if the model of a folder has no network."""
    if is_light(folder):
        raise ConfigError(f"{folder} is a light model, which has no network; name another model")


def is_exported(folder: Path) -> bool:
    """Whether a model runs without torch."""
    return (folder / DESCRIPTION).exists() or is_light(folder)


def find_knowledge_folder(folder: Path) -> Path:
    """The folder of a model's knowledge (`extraction.knowledge`): its own, or the one that a light
    model shares. A copy of a light model has it in its own folder."""
    if not is_light(folder) or (folder / VERSIONS).exists():
        return folder
    path = folder / LIGHT_FILE
    try:
        shared: Path = folder / json.loads(path.read_text(encoding="utf-8"))["knowledge"]
    except (OSError, ValueError, KeyError, TypeError):
        fix = 'expected {"knowledge": FOLDER}, where . is its own folder'
        raise DataError("is not the description of a light model", fix=fix, path=path) from None
    return shared
