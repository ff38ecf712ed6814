"""Locations of models: in the package, in a run folder, or in a folder of their own."""

from importlib.resources import files
from pathlib import Path

from one2set.errors import ConfigError

MODEL = "model"  # the best model, in a run folder
DEFAULT = "default"
_RUN = "run.json"  # of a run folder
_MODELS = "models"  # bundled models, in the package


def model_folder(folder: Path) -> Path:
    """The folder of the best model if `folder` is a run folder, otherwise `folder` itself."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder


def find_model_folder(name: str | Path) -> Path:
    """The folder of a bundled model, by its name, of a run, or any other model folder."""
    bundled = Path(str(files("one2set"))) / _MODELS / str(name)
    if name == DEFAULT and not bundled.is_dir():
        raise ConfigError(
            "this installation has no bundled model; pass --model with a model folder "
            "(make one with one2set train, then one2set export)"
        )
    folder = bundled if name == DEFAULT else model_folder(Path(name))
    if (folder / _RUN).exists():
        raise ConfigError(
            f"{folder} is a run without a model: it was stopped before its first validation; "
            f"continue it: one2set train CORPUS --output {folder} --resume"
        )
    return folder


def is_model(name: str) -> bool:
    """Whether a name is that of a model folder or a run folder."""
    return name == DEFAULT or (model_folder(Path(name)) / "config.json").exists()
