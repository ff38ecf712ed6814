"""Import of the authors' checkpoints: names, sizes, and files that are something else.

The checkpoints are made here, from networks of ours under the release's names. That the numbers are
those of the release is in test_reference.py.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import load_vocabulary
from one2set.errors import ConfigError, DataError
from one2set.model.import_release import (
    import_checkpoint,
    import_network,
    import_vocabulary,
    rename_weight,
)
from one2set.model.layers import sinusoids
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from tests.model import tiny

# Our names and the release's, the other way round than in `authors`.
THEIRS = (
    ("pointer.features", "decoder.output_fc"),
    ("pointer.vocabulary", "decoder.output_layer"),
    ("pointer.gate", "decoder.p_gen_linear"),
    ("codes", "decoder.control_code"),
    ("coder.input", "coder.input_fc"),
    ("coder.norm", "coder.layer_norm"),
    (".layers.", ".layer_stacks."),
    (".attention_norm", ".attn_layer_norm"),
    (".self_norm", ".self_attn_layer_norm"),
    (".source_norm", ".encoder_attn_layer_norm"),
    (".self_attention", ".self_attn"),
    (".source_attention", ".encoder_attn"),
    (".attention", ".self_attn"),
    (".query", ".q_proj"),
    (".key", ".k_proj"),
    (".value", ".v_proj"),
    (".out.", ".out_proj."),
    (".feed_forward.inner", ".ffn.0"),
    (".feed_forward.outer", ".ffn.3"),
)


def checkpoint(network: Transformer) -> dict[str, Tensor]:
    """The state dict that the release would save for a network."""
    weights: dict[str, Tensor] = {}
    for ours, weight in network.state_dict().items():
        name = ours
        for mine, theirs in THEIRS:
            name = name.replace(mine, theirs)
        norm = "ffn_layer_norm" if name.startswith("encoder") else "final_layer_norm"
        weights[name.replace("feed_forward_norm", norm)] = weight
    table = weights.pop("embedding.weight")
    for stack in ("encoder", "decoder"):
        weights[f"{stack}.embed.weight"] = table
        weights[f"{stack}.pos_embed.weight"] = sinusoids(3000, table.shape[1])
    return weights


def saved(content: Any, folder: Path, name: str = "best_model.pt") -> Path:
    torch.save(content, folder / name)
    return folder / name


def words(count: int) -> dict[str, Any]:
    listed = [*SPECIALS, *(f"word{i}" for i in range(count - len(SPECIALS)))]
    return {
        "word2idx": {word: id for id, word in enumerate(listed)},
        "idx2word": dict(enumerate(listed)),
        "counter": Counter({word: 100 - id for id, word in enumerate(listed[7:])}),
    }


@pytest.mark.parametrize("network", [tiny.settrans(), tiny.transformer()], ids=["set", "seq"])
def test_sizes_and_paradigm_are_read_off_the_weights(network: Transformer, tmp_path: Path) -> None:
    imported, vocabulary = import_checkpoint(
        saved(checkpoint(network), tmp_path),
        saved(words(tiny.V + 20), tmp_path, "vocab.pt"),
        heads=2,
        dropout=0.0,
    )
    assert type(imported) is type(network)
    assert imported.arguments == network.arguments
    for name, weight in network.state_dict().items():
        assert torch.equal(imported.state_dict()[name], weight), name
    assert vocabulary.size == tiny.V
    assert len(vocabulary.words) == tiny.V + 20
    assert vocabulary.text([7, 8]) == "word0 word1"
    assert vocabulary.counts[7] == 100


def test_every_name_of_the_release_is_one_of_ours() -> None:
    network = tiny.settrans()
    ours = {rename_weight(name) for name in checkpoint(network) if "pos_embed" not in name}
    assert ours == set(network.state_dict())


def test_weights_of_other_precision_become_float32(tmp_path: Path) -> None:
    halves = {name: weight.half() for name, weight in checkpoint(tiny.transformer()).items()}
    imported = import_network(saved(halves, tmp_path), heads=2)
    assert {weight.dtype for weight in imported.parameters()} == {torch.float32}


def test_heads_must_divide_the_width(tmp_path: Path) -> None:
    path = saved(checkpoint(tiny.settrans()), tmp_path)
    for heads in (3, 0):
        with pytest.raises(ConfigError, match=f"width is 16 and heads is {heads}"):
            import_network(path, heads=heads)


def edited(**changes: Tensor | None) -> dict[str, Tensor]:
    weights = checkpoint(tiny.settrans())
    for name, weight in changes.items():
        if weight is None:
            del weights[name]
        else:
            weights[name] = weight
    return weights


GATE = "decoder.p_gen_linear.weight"
INNER = "encoder.layer_stacks.0.ffn.0.weight"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (edited(**{GATE: None}), r"lacks the weights pointer\.gate\.weight \(1 in all\)"),
        (edited(**{"coverage.weight": torch.ones(1)}), r"unknown weights: coverage\.weight"),
        (edited(**{INNER: None}), "has no weight 'encoder.layers.0.feed_forward.inner.weight'"),
        (edited(**{GATE: torch.ones(1, 9)}), r"pointer\.gate\.weight has shape \(1, 9\)"),
        (edited(**{"encoder.embed.weight": torch.ones(40, 16)}), "differs from the encoder's"),
        (edited(**{"encoder.pos_embed.weight": torch.ones(9, 16)}), "not the table of sinusoids"),
        (words(9), "contains more than weights"),
        ({}, "has no weight"),
        ([1, 2], "contains a list, not a dict"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_files_are_refused_as_checkpoints(content: Any, message: str, tmp_path: Path) -> None:
    path = saved(content, tmp_path)
    with pytest.raises(DataError, match=message) as error:
        import_network(path, heads=2)
    assert str(path) in str(error.value)


class Payload:
    """What a pickle could run."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return print, ("run",)


def test_pickles_are_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="is not a file that torch saved"):
        import_network(saved(Payload(), tmp_path), heads=2)
    assert capsys.readouterr().out == ""


def test_files_that_torch_did_not_save_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "model.pt"
    text.write_text("hello")
    with pytest.raises(DataError, match="is not a file that torch saved"):
        import_network(text, heads=2)
    with pytest.raises(DataError, match="No such file"):
        import_network(tmp_path / "none.pt", heads=2)
    whole = saved(checkpoint(tiny.transformer()), tmp_path)
    whole.write_bytes(whole.read_bytes()[:2000])
    with pytest.raises(DataError, match="is not a file that torch saved"):
        import_network(whole, heads=2)


def test_words_with_white_space_become_placeholders(tmp_path: Path) -> None:
    listed = [*SPECIALS, "a", "b\tc", "", "d"]
    content = {"word2idx": {word: id for id, word in enumerate(listed)}}
    vocabulary = import_vocabulary(saved(content, tmp_path), size=11)
    assert vocabulary.words[7:] == ["a", "<unused-8>", "<unused-9>", "d"]
    vocabulary.save(tmp_path)
    assert load_vocabulary(tmp_path, size=11).text([7, 10]) == "a d"


def test_a_dictionary_smaller_than_the_network_is_filled_up(tmp_path: Path) -> None:
    vocabulary = import_vocabulary(saved(words(12), tmp_path), size=15)
    assert (vocabulary.size, len(vocabulary.words)) == (15, 15)
    assert vocabulary.words[11:] == ["word4", "<unused-12>", "<unused-13>", "<unused-14>"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"idx2word": {}}, "has no word2idx"),
        ({"word2idx": {"a": 0, "b": 5}}, "has no word2idx with ids from 0"),
        ({"word2idx": {"a": 0, "b": 1}}, "begins with"),
    ],
)
def test_other_files_are_refused_as_vocabularies(
    content: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        import_vocabulary(saved(content, tmp_path), size=9)


def test_a_set_network_is_recognised_by_its_codes(tmp_path: Path) -> None:
    imported = import_network(saved(checkpoint(tiny.settrans(num_codes=10)), tmp_path), heads=4)
    assert isinstance(imported, SetTrans)
    assert imported.rows == 10
    assert imported.arguments["heads"] == 4
