"""The manifest detects damage; only model folders are replaced."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from one2set.errors import ConfigError, DataError
from one2set.model.manifest import MANIFEST, check_manifest, write_manifest, write_model_folder
from one2set.model.paths import find_model_folder

FILES = {"config.json": b"{}", "weights.safetensors": b"0123456789" * 100, "NOTICE": b"free"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with write_model_folder(tmp_path / "model") as partial:
        for name, content in FILES.items():
            (partial / name).write_bytes(content)
    return tmp_path / "model"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_the_manifest_lists_every_file(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    assert manifest["format"] == 1
    assert manifest["versions"].keys() == {"one2set"}
    assert manifest["files"].keys() == FILES.keys()
    assert {name: entry["bytes"] for name, entry in manifest["files"].items()} == {
        name: len(content) for name, content in FILES.items()
    }
    check_manifest(folder)


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip, "has changed since it was written"),
        (cut, r"has [\d,]+ bytes; [\d,]+ were written"),
        (Path.unlink, r"cannot be read \(No such file"),
        (replace_by_folder, "bytes; "),
    ],
)
def test_damage_is_found(
    folder: Path, name: str, damage: Callable[[Path], None], message: str
) -> None:
    damage(folder / name)
    with pytest.raises(DataError, match=message) as caught:
        check_manifest(folder)
    assert caught.value.path == str(folder / name)
    assert "--no-verify" in str(caught.value)
    check_manifest(folder, ignore={name})


def test_sizes_alone_find_files_that_are_cut_off(folder: Path) -> None:
    flip(folder / "weights.safetensors")
    check_manifest(folder, sizes_only=True)
    cut(folder / "weights.safetensors")
    with pytest.raises(DataError, match="were written"):
        check_manifest(folder, sizes_only=True)


def test_a_file_of_another_model_is_found(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match=r"is not in manifest.json: it belongs to another model"):
        check_manifest(folder)
    write_manifest(folder)
    check_manifest(folder)


def test_files_that_are_not_loaded_may_change(folder: Path) -> None:
    (folder / "README.md").write_text("A model card.")
    (folder / ".gitattributes").write_text("*.safetensors filter=lfs")
    (folder / "NOTICE").write_text("freer")
    check_manifest(folder)


def test_folders_without_a_manifest_are_accepted(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    flip(folder / "weights.safetensors")
    check_manifest(folder)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"files": []}',
        '{"files": {"a": 1}}',
        '{"files": {"../a": {"bytes": 1, "sha256": "00"}}}',
        '{"files": {"a": {"bytes": "1", "sha256": "00"}}}',
        '{"files": {"a": {"bytes": 1, "sha256": "xx"}}}',
        "[" * 100_000,
        '{"format": 2, "files": {}}',
    ],
)
def test_an_invalid_manifest_is_refused(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content)
    with pytest.raises(DataError, match=r"is not the manifest of a model|has format 2") as caught:
        check_manifest(folder)
    assert caught.value.path == str(folder / MANIFEST)


def test_all_files_have_the_same_permissions(tmp_path: Path) -> None:
    """safetensors lets only the owner read its files."""
    with write_model_folder(tmp_path / "model") as partial:
        (partial / "weights.safetensors").touch(mode=0o600)
    modes = {path.stat().st_mode for path in (tmp_path / "model").iterdir()}
    assert len(modes) == 1


def test_a_model_folder_replaces_model_folders_only(folder: Path, tmp_path: Path) -> None:
    with write_model_folder(folder, overwrite=True) as partial:
        (partial / "config.json").write_text("[]")
    assert {path.name for path in folder.iterdir()} == {"config.json", MANIFEST}
    (folder / "thesis.tex").write_text("mine")
    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_text('{"colour": "green"}')  # of another program
    for path in (folder, other):
        with (
            pytest.raises(ConfigError, match="did not write there"),
            write_model_folder(path, overwrite=True),
        ):
            pytest.fail("the block must not run")
    assert (folder / "thesis.tex").exists()
    assert (other / "config.json").exists()


def test_the_included_model_is_as_it_was_written(tmp_path: Path) -> None:
    """After a change to its files: write_manifest(find_model_folder("default"))."""
    bundled = find_model_folder("default")
    assert (bundled / MANIFEST).exists()
    check_manifest(bundled)
    shutil.copytree(bundled, tmp_path / "copy")
    flip(tmp_path / "copy" / "weights.safetensors")
    with pytest.raises(DataError, match=r"weights.safetensors: has changed"):
        check_manifest(tmp_path / "copy")
