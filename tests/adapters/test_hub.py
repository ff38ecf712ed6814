"""Models are saved and loaded in the Hugging Face layout, without downloads."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.errors import LocalEntryNotFoundError

from one2set.adapters.hub import HubKeyphraseGenerator
from one2set.errors import ConfigError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.paths import BUNDLED


def test_a_saved_and_loaded_model_gives_the_same_keyphrases(
    model: Path, generator: KeyphraseGenerator, texts: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    HubKeyphraseGenerator.from_pretrained(model, threads=1).save_pretrained(folder)
    again = HubKeyphraseGenerator.from_pretrained(str(folder), threads=1)
    assert again.generate(texts) == generator.generate(texts)
    for path in model.iterdir():
        assert (folder / path.name).read_bytes() == path.read_bytes()


def test_saving_writes_a_model_card(model: Path, tmp_path: Path) -> None:
    hub = HubKeyphraseGenerator(model, threads=1)
    hub.save_pretrained(tmp_path, model_card_kwargs={"description": "Trained on invented papers."})
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "one2set"
    assert "keyphrase-generation" in card.data.tags
    assert "Trained on invented papers." in card.text
    (tmp_path / "README.md").write_text("mine")
    hub.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_model_is_not_saved_over_itself(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By any name of its folder: the mixin deletes config.json there first."""
    own = tmp_path / "own"
    shutil.copytree(model, own)
    (tmp_path / "link").symlink_to(own)
    monkeypatch.chdir(own)
    hub = HubKeyphraseGenerator(own, threads=1)
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    for name in (own, str(own), tmp_path / "link", ".", own / ".." / "own"):
        with pytest.raises(ConfigError, match="own folder of the model; pass another"):
            hub.save_pretrained(name)
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before


def make_light(model: Path, folder: Path) -> tuple[Path, Path]:
    """The folder of a light model, and that of the model whose components it shares."""
    own, shared = folder / "light", folder / "shared"
    shutil.copytree(model, shared)
    own.mkdir()
    (own / "light.json").write_text('{"knowledge": "../shared"}')
    shutil.copyfile(model / "calibration.json", own / "calibration.json")
    return own, shared


def test_a_light_model_is_saved_and_loaded(model: Path, texts: list[str], tmp_path: Path) -> None:
    own, _ = make_light(model, tmp_path)
    expected = KeyphraseGenerator(own, threads=1).generate(texts)
    hub = HubKeyphraseGenerator(str(own), threads=1)
    for number in range(2):  # the second time, of a copy
        hub.save_pretrained(tmp_path / str(number))
        assert not (tmp_path / str(number) / "config.json").exists()
        hub = HubKeyphraseGenerator.from_pretrained(tmp_path / str(number), threads=1)
        assert hub.generate(texts) == expected


def test_a_folder_with_the_name_of_a_bundled_model_is_loaded(
    model: Path,
    generator: KeyphraseGenerator,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BUNDLED:
        shutil.copytree(model, tmp_path / name)
        hub = HubKeyphraseGenerator.from_pretrained(name, threads=1)
        assert hub.generate(texts[0]) == generator.generate(texts[0])


def test_a_light_model_is_not_saved_over_what_it_shares(model: Path, tmp_path: Path) -> None:
    own, shared = make_light(model, tmp_path)
    hub = HubKeyphraseGenerator(own, threads=1)
    with pytest.raises(ConfigError, match="own folder of the model"):
        hub.save_pretrained(shared)
    assert (shared / "config.json").exists()
    assert not (shared / "light.json").exists()


def test_a_model_of_the_hub_from_its_cache(
    model: Path, generator: KeyphraseGenerator, texts: list[str], tmp_path: Path
) -> None:
    cached = tmp_path / "models--someone--keyphrases"
    shutil.copytree(model, cached / "snapshots" / ("0" * 40))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0" * 40)
    where: dict[str, Any] = {"cache_dir": tmp_path, "local_files_only": True, "threads": 1}
    hub = HubKeyphraseGenerator.from_pretrained("someone/keyphrases", **where)
    assert hub.generate(texts[0]) == generator.generate(texts[0])
    with pytest.raises(LocalEntryNotFoundError):
        HubKeyphraseGenerator.from_pretrained("someone/other", **where)
