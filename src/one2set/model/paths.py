"""Where models are: in the package, in a run's folder, or in one of their own. Without torch."""

from importlib.resources import files
from pathlib import Path

from one2set.errors import ConfigError

MODEL = "model"  # the folder of the best model, in a run's
DEFAULT = "default"
_MODELS = "models"  # in the package, each in a folder of its name


def model_folder(folder: Path) -> Path:
    """The folder itself, or that of the best model where it is a run's."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder


def find_model_folder(name: str | Path) -> Path:
    """The folder of a model: one that the package carries, by its name, a run's, or any other."""
    carried = Path(str(files("one2set"))) / _MODELS / str(name)
    if name == DEFAULT and not carried.is_dir():
        raise ConfigError(
            "this installation carries no model; pass --model with the folder of one "
            "(make it with one2set train, then one2set export)"
        )
    return carried if name == DEFAULT else model_folder(Path(name))


def is_model(name: str) -> bool:
    """Whether a name is that of a model's folder, or of a run's."""
    return name == DEFAULT or (model_folder(Path(name)) / "config.json").exists()
