"""Which model generates, and with what: without torch where it is exported, else with it."""

import json
from importlib.resources import files
from pathlib import Path

from one2set.data.vocabulary import Vocabulary, load_vocabulary
from one2set.errors import ConfigError, DataError, missing_extra
from one2set.inference.runtime import DESCRIPTION, Runtime
from one2set.inference.stream import Predictor
from one2set.training.layout import model_folder

DEFAULT = "default"
_FIX = "pass the folder of a model, whole"
_MODELS = "models"  # in the package, each in a folder of its name


def named_model(name: str | Path) -> Path:
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


def exported(folder: Path) -> bool:
    """Whether a model runs without torch."""
    return (folder / DESCRIPTION).exists()


def model_vocabulary(folder: Path) -> Vocabulary:
    """What a model's network can read, without the network."""
    path = folder / "config.json"
    try:
        size = json.loads(path.read_text(encoding="utf-8"))["arguments"]["vocabulary_size"]
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, KeyError, TypeError):
        raise DataError("is no description of a model", fix=_FIX, path=path) from None
    return load_vocabulary(folder, size=size)


def load_predictor(
    folder: Path,
    *,
    device: str = "auto",
    threads: int = 0,
    batch_tokens: int = 4096,
) -> Predictor:
    """What generates with a model's folder, or a run's."""
    if not folder.is_dir():
        raise ConfigError(f"there is no model {folder}; pass the folder of a model")
    if exported(folder) and device in ("auto", "cpu"):
        return Runtime(folder, threads=threads, batch_tokens=batch_tokens)
    try:
        from one2set.distributed import use_threads
        from one2set.inference.engine import Engine
    except ImportError:
        raise missing_extra(
            "torch", extra="train", purpose=f"{folder} is not exported: generating with it"
        ) from None
    use_threads(threads)
    return Engine.load(folder, device=device, batch_tokens=batch_tokens)
