"""Saved models load unchanged, and errors are named."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from one2set.model.folder import (
    CONFIG,
    WEIGHTS,
    load_heads,
    load_model,
    load_span_layer,
    save_model,
)
from one2set.model.heads import FILE as HEADS
from one2set.model.heads import Heads
from one2set.model.manifest import MANIFEST
from one2set.model.transformer import Transformer
from tests.model import tiny


def vocabulary(size: int = tiny.V) -> WordVocabulary:
    words = [*SPECIALS, *(f"word{i}" for i in range(tiny.V))]
    return WordVocabulary(words, size=size)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One without a manifest, so that the loaders themselves must find what is wrong."""
    save_model(tmp_path / "model", tiny.settrans(), vocabulary(), {"system": "settrans"})
    (tmp_path / "model" / MANIFEST).unlink()
    return tmp_path / "model"


@pytest.mark.parametrize(
    "network",
    [
        tiny.settrans(dropout=0.1),
        tiny.settrans(control_codes=False),
        tiny.transformer(),
    ],
    ids=["settrans", "without codes", "transformer"],
)
def test_a_saved_model_loads_unchanged(network: Transformer, tmp_path: Path) -> None:
    save_model(tmp_path / "model", network, vocabulary(), {"seed": 27})
    loaded = load_model(tmp_path / "model")
    assert type(loaded.network) is type(network)
    assert loaded.network.arguments == network.arguments
    assert not loaded.network.training
    assert loaded.config == {"seed": 27}
    assert (loaded.vocabulary.size, loaded.vocabulary.text([9])) == (tiny.V, "word2")
    batch = tiny.batch()
    states = [net.encode(batch).states for net in (network.eval(), loaded.network)]
    assert torch.equal(*states)
    assert all(weight.requires_grad for weight in loaded.network.parameters())


def test_a_folder_is_complete_or_not_there(tmp_path: Path) -> None:
    class Broken(WordVocabulary):
        def save(self, folder: Path) -> Path:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        save_model(tmp_path / "m", tiny.settrans(), Broken(vocabulary().words, size=tiny.V))
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_is_detected_unless_verify_is_off(tmp_path: Path) -> None:
    save_model(tmp_path / "model", tiny.settrans(), vocabulary())
    with (tmp_path / "model" / CONFIG).open("a") as file:
        file.write(" ")
    with pytest.raises(DataError, match=r"config\.json: has .* bytes"):
        load_model(tmp_path / "model")
    load_model(tmp_path / "model", verify=False)


def test_a_folder_is_not_replaced_without_overwrite(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(folder, tiny.settrans(), vocabulary())
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        save_model(folder, tiny.transformer(), vocabulary())
    save_model(folder, tiny.transformer(), vocabulary(), overwrite=True)
    assert load_model(folder).network.rows == 1


def test_a_folder_without_a_manifest_is_not_replaced(folder: Path) -> None:
    with pytest.raises(ConfigError, match="has files that one2set did not write there"):
        save_model(folder, tiny.transformer(), vocabulary(), overwrite=True)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, "words.tsv"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises((ConfigError, DataError), match=name):
        load_model(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not of format 1"),
        ('{"format": 2}', "is not of format 1"),
        ('{"format": 1, "network": "settrans"}', "has no arguments, config"),
        (
            '{"format": 1, "network": "gpt", "arguments": {}, "config": {}}',
            "network is 'gpt'; expected one of transformer, settrans",
        ),
    ],
)
def test_a_bad_config_is_named(folder: Path, content: str, message: str) -> None:
    (folder / CONFIG).write_text(content)
    with pytest.raises((ConfigError, DataError), match=message):
        load_model(folder)


def test_bad_weights_are_named(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"not weights at all")
    with pytest.raises(DataError, match="is not a safetensors file"):
        load_model(folder)


@pytest.fixture
def heads() -> Heads:
    phrases = PhraseList({("graph",): KnownPhrase("graph", 20), ("set",): KnownPhrase("set", 9)})
    return Heads(phrases, documents=90, width=16, span_width=6, phrase_width=4, dropout=0.0)


def test_the_span_layer_is_the_first_of_the_heads(tmp_path: Path, heads: Heads) -> None:
    save_model(tmp_path / "model", tiny.settrans(), vocabulary(), heads=heads)
    layer = load_span_layer(tmp_path / "model")
    assert layer is not None
    expected = {name: x for name, x in heads.state_dict().items() if ".first." in name}
    expected["spans.last.weight"] = heads.spans.last.weight
    torch.testing.assert_close(layer, expected)


def test_a_model_without_heads_has_no_span_layer(folder: Path) -> None:
    assert load_span_layer(folder) is None


def test_invalid_heads_are_named(folder: Path) -> None:
    (folder / HEADS).write_bytes(b"not weights at all")
    for load in (load_heads, load_span_layer):
        with pytest.raises(DataError, match=f"{HEADS}: is not a safetensors file"):
            load(folder)


@pytest.mark.parametrize(
    ("name", "weight", "message"),
    [
        ("spans.first.weight", None, "does not fit the heads .*spans.first.weight"),
        ("spans.first.weight", torch.zeros(6), "does not fit the heads"),
        ("spans.out.bias", None, "does not fit the heads .*spans.out.bias"),
        ("phrases.out.bias", torch.zeros(3), "does not fit the heads .*size mismatch"),
        ("spans.first.bias", torch.full((6,), torch.nan), "spans.first.bias has NaN"),
    ],
)
def test_heads_that_do_not_fit_are_named(
    folder: Path, heads: Heads, name: str, weight: torch.Tensor | None, message: str
) -> None:
    weights = {**heads.state_dict(), name: weight}
    save_file({name: x for name, x in weights.items() if x is not None}, folder / HEADS)
    heads.phrase_list.save(folder)
    with pytest.raises(DataError, match=f"(?s){HEADS}: {message}"):
        load_heads(folder)


def test_a_span_layer_with_nan_is_refused(folder: Path, heads: Heads) -> None:
    save_file({"spans.first.bias": torch.full((6,), torch.inf)}, folder / HEADS)
    with pytest.raises(DataError, match="NaN or infinite"):
        load_span_layer(folder)


def test_weights_and_config_must_agree(folder: Path) -> None:
    config = json.loads((folder / CONFIG).read_text())
    config["arguments"]["feed_forward"] = 20
    (folder / CONFIG).write_text(json.dumps(config))
    with pytest.raises(DataError, match=r"feed_forward\.inner\.\w+ has shape"):
        load_model(folder)
    config["arguments"]["unheard"] = 1
    (folder / CONFIG).write_text(json.dumps(config))
    with pytest.raises(DataError, match="has arguments that settrans does not take"):
        load_model(folder)


def test_a_vocabulary_must_be_of_the_networks_size(tmp_path: Path) -> None:
    words = vocabulary().words[: tiny.V - 3]
    save_model(tmp_path / "m", tiny.settrans(), WordVocabulary(words, size=tiny.V))
    with pytest.raises(DataError, match="40 words and a vocabulary of 37"):
        load_model(tmp_path / "m")
