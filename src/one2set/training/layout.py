"""Where a run keeps its best model. Apart from `run`, so that who only generates needs no more."""

from pathlib import Path

MODEL = "model"


def model_folder(folder: Path) -> Path:
    """The folder itself, or that of the best model where it is a run's."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder
