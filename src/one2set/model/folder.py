"""A model folder: everything that generation needs, without pickles.

config.json              the name and arguments of the network, and the caller's own values
weights.safetensors      the state dict, or the weights of the exported graphs
words.tsv                the vocabulary (or tokenizer.json, for word pieces)
heads.safetensors        the weights of extra heads (`model/heads`), if the model has any
manifest.json            sizes and hashes of the files (`model/manifest`)
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from one2set.data.phrase_list import PhraseList
from one2set.data.vocabulary import Vocabulary, load_vocabulary
from one2set.errors import ConfigError, DataError, One2SetError, missing_extra
from one2set.model.exhird import ExHiRD
from one2set.model.heads import FILE as HEADS
from one2set.model.heads import Heads
from one2set.model.manifest import check_manifest, write_model_folder
from one2set.model.network import Network
from one2set.model.paths import expect_network
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer

CONFIG, WEIGHTS = "config.json", "weights.safetensors"
FORMAT = 1
# Exported graphs store some weights under other names: transposed ones and quantization scales get
# a suffix, and the table of sinusoidal positions is stored too.
TRANSPOSED, SCALE, POSITIONS = " transposed", " scale", "places"
SPANS_PREFIX = "spans."  # of the span scorer's weights, which are not the network's
NETWORKS: dict[str, Callable[..., Network]] = {
    "transformer": Transformer,
    "settrans": SetTrans,
    "recurrent": Recurrent,
    "exhird": ExHiRD,
}
_FIX = "pass a complete folder that one2set wrote"


class Model(NamedTuple):
    """The contents of a folder."""

    network: Network
    vocabulary: Vocabulary
    config: dict[str, Any]


def save_model(
    folder: Path,
    network: Network,
    vocabulary: Vocabulary,
    config: Mapping[str, Any] | None = None,
    *,
    heads: Heads | None = None,
    overwrite: bool = False,
) -> None:
    """Write a folder atomically. `config` is any JSON that the caller wants back on loading."""
    try:
        from safetensors.torch import save_file
    except ImportError:
        raise missing_extra("safetensors", extra="train", purpose="Saving a model") from None

    weights = {name: weight.contiguous() for name, weight in network.state_dict().items()}
    with write_model_folder(folder, overwrite=overwrite) as partial:
        save_config(partial, network, config)
        save_file(weights, partial / WEIGHTS)
        vocabulary.save(partial)
        if heads is not None:
            heads.save(partial)


def get_network_name(network: Network) -> str:
    """The name under which config.json stores the class of a network."""
    for name, kind in NETWORKS.items():
        if kind is type(network):
            return name
    raise TypeError(
        f"{type(network).__name__} is not in model.folder.NETWORKS, so it cannot be saved; add it"
    )


def save_config(folder: Path, network: Network, config: Mapping[str, Any] | None) -> None:
    """Write a folder's config.json."""
    description = {
        "format": FORMAT,
        "network": get_network_name(network),
        "arguments": network.arguments,
        "config": dict(config or {}),
    }
    (folder / CONFIG).write_text(f"{json.dumps(description, indent=2)}\n", encoding="utf-8")


def load_model(folder: Path, *, verify: bool = True) -> Model:
    """Read a folder. The network is in eval mode, on the CPU. `verify` checks its manifest."""
    expect_network(folder)
    if verify:
        check_manifest(folder)
    description = _read_config(folder / CONFIG)
    path = folder / WEIGHTS
    weights = _load_weights(path, lambda name: not name.startswith(SPANS_PREFIX))
    network = build_network(
        description["network"], description["arguments"], weights, path=path, fix=_FIX
    )
    vocabulary = load_vocabulary(folder, size=network.vocabulary_size)
    if vocabulary.size != network.vocabulary_size:
        raise DataError(
            f"has a network for {network.vocabulary_size} words and a vocabulary of "
            f"{vocabulary.size}",
            fix=_FIX,
            path=folder,
        )
    return Model(network, vocabulary, description["config"])


def load_span_layer(folder: Path) -> dict[str, Tensor] | None:
    """The first layer of a model's span scorer (`model.heads`), by the names of its weights; None
    if the model has none. An exported folder has no other part of the heads."""
    path = folder / HEADS if (folder / HEADS).exists() else folder / WEIGHTS
    layer = (f"{SPANS_PREFIX}first.", f"{SPANS_PREFIX}last.")
    weights = _load_weights(path, lambda name: name.startswith(layer))
    _expect_finite(weights, path=path, fix=_FIX)
    return {name: x.float() for name, x in weights.items()} or None


def load_heads(folder: Path) -> Heads | None:
    """The heads of a model, in eval mode; None if it has none."""
    path = folder / HEADS
    if not path.exists():
        return None
    weights = _load_weights(path)
    _expect_finite(weights, path=path, fix=_FIX)
    phrases = PhraseList.load(folder)
    try:
        span_width, width = weights["spans.first.weight"].shape
        heads = Heads(
            phrases,
            documents=1,
            width=width,
            span_width=span_width,
            phrase_width=len(weights["phrases.hidden.weight"]),
            dropout=0.0,
        )
        heads.load_state_dict(weights)
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"does not fit the heads ({error})", fix=_FIX, path=path) from error
    return heads.eval()


def _load_weights(
    path: Path, wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, Tensor]:
    """The weights of a file whose stored names are `wanted`, dequantized."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise missing_extra("safetensors", extra="train", purpose="Loading a model") from None

    try:
        with safe_open(path, "pt") as file:
            names = [name for name in file.keys() if wanted(name)]  # noqa: SIM118, it is no dict
            return _dequantize({name: file.get_tensor(name) for name in names})
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except SafetensorError as error:
        raise DataError(f"is not a safetensors file ({error})", fix=_FIX, path=path) from None


def build_network(
    name: str,
    arguments: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    *,
    path: Path,
    fix: str,
) -> Network:
    """A network with the given weights, in eval mode. Errors name `path`, their origin."""
    # Each layer has weights, so more layers than weights are an error. Building them may not end.
    for argument, value in arguments.items():
        if argument.endswith("layers") and isinstance(value, int) and value > len(weights):
            what = f"has {argument} = {value:,}, but only {len(weights):,} weights"
            raise DataError(what, fix=fix, path=path)
    # The meta device allocates nothing: the given weights are assigned below.
    try:
        with torch.device("meta"):
            network = NETWORKS[name](**arguments)
    except One2SetError:
        raise
    except Exception as error:  # wrong values fail where they are first used
        raise DataError(
            f"has arguments that {name} does not take ({error})", fix=fix, path=path
        ) from error
    expected = network.state_dict()
    for what, names in (
        ("lacks the weights", expected.keys() - weights.keys()),
        ("has unknown weights:", weights.keys() - expected.keys()),
    ):
        if names:
            shown = ", ".join(sorted(names)[:3])
            raise DataError(f"{what} {shown} ({len(names)} in all)", fix=fix, path=path)
    for key, weight in weights.items():
        if weight.shape != expected[key].shape:
            raise DataError(
                f"{key} has shape {tuple(weight.shape)}; expected {tuple(expected[key].shape)}",
                fix=fix,
                path=path,
            )
    _expect_finite(weights, path=path, fix=fix)
    floats = {key: weight.float() for key, weight in weights.items()}
    network.load_state_dict(floats, assign=True)
    return network.eval()


def _expect_finite(weights: Mapping[str, Tensor], *, path: Path, fix: str) -> None:
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise DataError(f"{name} has NaN or infinite values", fix=fix, path=path)


def _dequantize(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict of a network. Weights of exported graphs may be int8 with scales and
    transposed, and include constants (see `export.onnx_builder`)."""
    restored = {}
    for stored, weight in weights.items():
        name = stored.removesuffix(TRANSPOSED)
        if stored.endswith(SCALE) or stored == POSITIONS:
            continue
        scale = weights.get(name + SCALE)
        full = weight if scale is None else weight * scale
        restored[name] = full.T.contiguous() if stored.endswith(TRANSPOSED) else full
    return restored


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON ({error})", fix=_FIX, path=path) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise DataError(f"is not of format {FORMAT}", fix=_FIX, path=path)
    if missing := {"network", "arguments", "config"} - config.keys():
        raise DataError(f"has no {', '.join(sorted(missing))}", fix=_FIX, path=path)
    for name in ("arguments", "config"):
        if not isinstance(config[name], dict):
            raise DataError(f"{name} is {config[name]!r:.40}, not an object", fix=_FIX, path=path)
    if not isinstance(config["network"], str) or config["network"] not in NETWORKS:
        raise ConfigError(
            f"{path}: network is {config['network']!r}; expected one of {', '.join(NETWORKS)}"
        )
    return config
