"""Load a model's predictor: the runtime if it is exported, else the engine, which needs torch. A
light model has none."""

import json
from pathlib import Path

from one2set.data.vocabulary import Vocabulary, load_vocabulary
from one2set.errors import ConfigError, DataError, missing_extra
from one2set.extraction.knowledge import KNOWLEDGE_FILES
from one2set.model.manifest import check_manifest
from one2set.model.paths import is_bundled, is_exported, is_light, knowledge_folder
from one2set.prediction.stream import NoNetwork, Predictor

_FIX = "pass a complete model folder"


def load_model_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary of a model, without its network."""
    path = folder / "config.json"
    try:
        size = json.loads(path.read_text(encoding="utf-8"))["arguments"]["vocabulary_size"]
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, KeyError, TypeError):
        raise DataError("is not the configuration of a model", fix=_FIX, path=path) from None
    return load_vocabulary(folder, size=size)


def load_predictor(
    folder: Path,
    *,
    device: str = "auto",
    threads: int = 0,
    batch_tokens: int = 4096,
    verify: bool = True,
) -> Predictor:
    """The predictor of a model folder. `verify` checks the folder's manifest."""
    if not folder.is_dir():
        raise ConfigError(
            f"there is no model {folder}; pass default, light, or the folder of a model"
        )
    if verify:
        _check_manifests(folder)
    if is_light(folder):
        return NoNetwork()
    if is_exported(folder) and device in ("auto", "cpu"):
        from one2set.prediction.runtime import Runtime

        return Runtime(folder, threads=threads, batch_tokens=batch_tokens)
    try:
        from one2set.model.device import set_num_threads
        from one2set.prediction.engine import Engine
    except ImportError:
        raise missing_extra(
            "torch", extra="train", purpose=f"{folder} is not exported: generating with it"
        ) from None
    set_num_threads(threads)
    return Engine.load(folder, device=device, batch_tokens=batch_tokens, verify=False)


def _check_manifests(folder: Path) -> None:
    """Check the manifest of a folder, and of the folder that a light model shares. The files of the
    package were checked when it was installed, so that their sizes are enough: hashing them would
    be a tenth of the time to the first keyphrase."""
    check_manifest(folder, sizes_only=is_bundled(folder))
    if (shared := knowledge_folder(folder)) != folder and shared.is_dir():
        others = {path.name for path in shared.iterdir()} - KNOWLEDGE_FILES
        check_manifest(shared, ignore=others, sizes_only=is_bundled(shared))
