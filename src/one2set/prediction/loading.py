"""Load a model's predictor: the runtime if it is exported, else the engine, which needs torch. A
light model has none."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from one2set.data.vocabulary import Vocabulary, load_vocabulary
from one2set.errors import ConfigError, DataError, missing_extra
from one2set.model.paths import DESCRIPTION, expect_network, is_light
from one2set.prediction.predictor import NoNetwork, Predictor

_FIX = "pass a complete model folder"


def load_model_vocabulary(folder: Path) -> Vocabulary:
    """The vocabulary of a model, without its network."""
    expect_network(folder)
    path = folder / "config.json"
    try:
        size = json.loads(path.read_text(encoding="utf-8"))["arguments"]["vocabulary_size"]
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, KeyError, TypeError):
        raise DataError("is not the configuration of a model", fix=_FIX, path=path) from None
    return load_vocabulary(folder, size=size)


def expect_model_folder(folder: Path) -> None:
    """Raise ConfigError if there is no such folder."""
    if not folder.is_dir():
        raise ConfigError(
            f"there is no model {folder}; pass default, light, or the folder of a model"
        )


def load_predictor(
    folder: Path,
    *,
    device: str = "auto",
    threads: int = 0,
    batch_tokens: int = 4096,
    max_source_length: int = 4096,
    search: Mapping[str, Any] | None = None,
) -> Predictor | NoNetwork:
    """The predictor of a model folder, whose manifest the caller has checked. `search` changes
    settings of the model's `Search`, for which torch is needed."""
    expect_model_folder(folder)
    if is_light(folder):
        return NoNetwork()
    is_exported = (folder / DESCRIPTION).exists()
    if is_exported and device in ("auto", "cpu") and not search:
        from one2set.prediction.runtime import Runtime

        return Runtime(
            folder, threads=threads, batch_tokens=batch_tokens, max_source_length=max_source_length
        )
    try:
        from one2set.model.device import set_num_threads
        from one2set.prediction.engine import Engine
    except ImportError:
        why = "" if is_exported else f"{folder} is not exported: "
        raise missing_extra("torch", extra="train", purpose=f"{why}generation") from None
    set_num_threads(threads)
    engine = Engine.load(
        folder,
        batch_tokens=batch_tokens,
        max_source_length=max_source_length,
        device=device,
        verify=False,
    )
    engine.change_search(search or {})
    return engine
