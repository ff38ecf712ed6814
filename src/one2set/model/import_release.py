"""Import of checkpoints of the authors' release (kg_one2set), of One2Set and of One2Seq.

Its files are pickles, which are only read with `weights_only=True`. The shapes of the weights
determine the arguments of the network, except the number of heads.
"""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from one2set.data.vocabulary import WordVocabulary
from one2set.errors import DataError
from one2set.model.folder import build_network
from one2set.model.layers import sinusoids
from one2set.model.transformer import Transformer

_MODEL = "pass a best_model.pt of kg_one2set"
_VOCABULARY = "pass the vocab.pt that its checkpoint was trained with"

# Patterns of their names, and our replacements, applied in this order.
_NAME_PATTERNS = (
    (r"^(encoder|decoder)\.embed\.", "embedding."),
    (r"^decoder\.control_code\.", "codes."),
    (r"^decoder\.output_fc\.", "pointer.features."),
    (r"^decoder\.output_layer\.", "pointer.vocabulary."),
    (r"^decoder\.p_gen_linear\.", "pointer.gate."),
    (r"\.input_fc\.", ".input."),
    (r"coder\.layer_norm\.", "coder.norm."),
    (r"\.layer_stacks\.", ".layers."),
    (r"\.(attn_layer_norm)\.", ".attention_norm."),
    (r"\.self_attn_layer_norm\.", ".self_norm."),
    (r"\.encoder_attn_layer_norm\.", ".source_norm."),
    (r"\.(ffn|final)_layer_norm\.", ".feed_forward_norm."),
    (r"^(encoder\..*)\.self_attn\.", r"\1.attention."),
    (r"\.self_attn\.", ".self_attention."),
    (r"\.encoder_attn\.", ".source_attention."),
    (r"\.q_proj\.", ".query."),
    (r"\.k_proj\.", ".key."),
    (r"\.v_proj\.", ".value."),
    (r"\.out_proj\.", ".out."),
    (r"\.ffn\.0\.", ".feed_forward.inner."),
    (r"\.ffn\.3\.", ".feed_forward.outer."),
)


def import_checkpoint(
    model: Path, vocabulary: Path, *, heads: int, dropout: float = 0.1
) -> tuple[Transformer, WordVocabulary]:
    """A checkpoint as our network (`SetTrans` if it has control codes) and its vocabulary."""
    network = import_network(model, heads=heads, dropout=dropout)
    return network, import_vocabulary(vocabulary, size=network.vocabulary_size)


def import_network(path: Path, *, heads: int, dropout: float = 0.1) -> Transformer:
    """The network of a checkpoint."""
    theirs = _load(path, fix=_MODEL)
    if not all(isinstance(value, Tensor) for value in theirs.values()):
        raise DataError("contains more than weights", fix=_MODEL, path=path)
    weights = _rename_weights(theirs, path)
    try:
        vocabulary_size, width = weights["embedding.weight"].shape
        feed_forward, _ = weights["encoder.layers.0.feed_forward.inner.weight"].shape
    except KeyError as error:
        raise DataError(f"has no weight {error}", fix=_MODEL, path=path) from None
    arguments = {
        "vocabulary_size": vocabulary_size,
        "width": width,
        "heads": heads,
        "feed_forward": feed_forward,
        "encoder_layers": _count_layers(weights, "encoder"),
        "decoder_layers": _count_layers(weights, "decoder"),
        "dropout": dropout,
    }
    if "codes.weight" in weights:
        arguments["num_codes"] = len(weights["codes.weight"])
    name = "settrans" if "codes.weight" in weights else "transformer"
    network = build_network(name, arguments, weights, path=path, fix=_MODEL)
    assert isinstance(network, Transformer)
    return network


def import_vocabulary(path: Path, *, size: int) -> WordVocabulary:
    """The vocabulary of a checkpoint whose network knows `size` words.

    Placeholders replace words beyond the end of the dictionary, and words with white space, which
    the release allows and our tokeniser never produces.
    """
    saved = _load(path, fix=_VOCABULARY)
    ids, counts = saved.get("word2idx"), saved.get("counter", {})
    if not isinstance(ids, dict) or sorted(ids.values()) != list(range(len(ids))):
        raise DataError("has no word2idx with ids from 0", fix=_VOCABULARY, path=path)
    words = sorted(ids, key=ids.__getitem__) + [""] * (size - len(ids))
    words = [word if word.split() == [word] else f"<unused-{id}>" for id, word in enumerate(words)]
    return WordVocabulary(words, size=size, counts=[counts.get(word, 0) for word in words])


def _load(path: Path, *, fix: str) -> dict[str, Any]:
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=fix, path=path) from None
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        # Not torch's own words: they advise to read it without protection.
        reason = type(error).__name__
        raise DataError(f"is not a file that torch saved ({reason})", fix=fix, path=path) from None
    if not isinstance(saved, dict):
        raise DataError(f"contains a {type(saved).__name__}, not a dict", fix=fix, path=path)
    return saved


def _rename_weights(theirs: Mapping[str, Tensor], path: Path) -> dict[str, Tensor]:
    """The weights under our names, in float32. Copies of a weight must be equal."""
    weights: dict[str, Tensor] = {}
    for name, weight in theirs.items():
        if name.endswith(".pos_embed.weight"):
            if not torch.allclose(weight.float(), sinusoids(*weight.shape), atol=1e-3):
                raise DataError(f"{name} is not the table of sinusoids", fix=_MODEL, path=path)
            continue
        ours = rename_weight(name)
        if ours in weights and not torch.equal(weights[ours], weight.float()):
            raise DataError(f"{name} differs from the encoder's", fix=_MODEL, path=path)
        weights[ours] = weight.float()
    return weights


def _count_layers(weights: Mapping[str, Tensor], stack: str) -> int:
    numbers = (re.match(rf"{stack}\.layers\.(\d+)\.", name) for name in weights)
    return 1 + max((int(number[1]) for number in numbers if number), default=-1)


def rename_weight(theirs: str) -> str:
    """The name of a weight in our networks."""
    for pattern, ours in _NAME_PATTERNS:
        theirs = re.sub(pattern, ours, theirs)
    return theirs
