"""The manifest of a model folder: size and SHA-256 of every file, and the version that wrote them.

`write_model_folder` writes a folder with its manifest. After changing a file of an existing folder,
call `update_manifest`. A folder without a manifest is not checked.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import Any

from one2set.atomic import atomic_file, atomic_folder
from one2set.errors import ConfigError, DataError

MANIFEST = "manifest.json"
FORMAT = 1
# Extensions of files that loaders read. Such a file must be in the manifest and unchanged. Others,
# such as README.md, may be added or changed.
_LOADED = (".json", ".onnx", ".safetensors", ".tsv")
_FIX = "copy or download the model again, or pass --no-verify if you changed it yourself"


@contextmanager
def write_model_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Make a temporary folder; it becomes the model folder `path`, with a manifest, when the block
    ends without an error. With `overwrite` it may replace another model folder."""
    if path.exists() and not overwrite:
        raise ConfigError(f"{path} exists already; pass --overwrite, or name another folder")
    with atomic_folder(path, own_files=_own_files if overwrite else None) as partial:
        yield partial
        manifest = partial / MANIFEST
        manifest.write_bytes(_make_manifest(partial))
        for file in partial.iterdir():  # safetensors lets only the owner read its files
            file.chmod(manifest.stat().st_mode)


def write_manifest(folder: Path) -> None:
    """Write the manifest of the files that are in a folder now."""
    content = _make_manifest(folder)
    with atomic_file(folder / MANIFEST) as file:
        file.write(content)


def _make_manifest(folder: Path) -> bytes:
    from importlib.metadata import version  # slow to import, and not needed to load a model

    files = sorted(path for path in folder.iterdir() if path.is_file())
    manifest = {
        "format": FORMAT,
        "versions": {"one2set": version("one2set")},
        "files": {path.name: _describe(path) for path in files if _is_listed(path.name)},
    }
    return f"{json.dumps(manifest, indent=2)}\n".encode()


def update_manifest(folder: Path) -> None:
    """Write the manifest again after files have changed, if the folder has one."""
    if (folder / MANIFEST).exists():
        write_manifest(folder)


def _is_listed(name: str) -> bool:
    return name[0] != "." and name != MANIFEST


def check_manifest(folder: Path, *, ignore: Collection[str] = (), sizes_only: bool = False) -> None:
    """Check that a folder has the files of its manifest, unchanged, and no others that would be
    read. `ignore` are names of files that the caller is about to replace."""
    listed = _read_manifest(folder)
    if listed is None:
        return
    for name, expected in listed.items():
        if name.endswith(_LOADED) and name not in ignore:
            _check_file(folder / name, expected, sizes_only)
    for path in sorted(folder.iterdir()):
        known = path.name in listed or path.name in ignore or path.name == MANIFEST
        if path.suffix in _LOADED and not known:
            raise DataError(
                f"is not in {MANIFEST}: it belongs to another model", fix=_FIX, path=path
            )


def hash_files(folder: Path) -> dict[str, str]:
    """The hashes of the files that loaders read, by name: they identify a model."""
    files = sorted(path for path in folder.iterdir() if path.suffix in _LOADED)
    return {path.name: _describe(path)["sha256"] for path in files if _is_listed(path.name)}


def _check_file(path: Path, expected: dict[str, Any], sizes_only: bool) -> None:
    try:
        size = path.stat().st_size
        if size != expected["bytes"]:
            what = f"has {size:,} bytes; {expected['bytes']:,} were written"
            raise DataError(what, fix=_FIX, path=path)
        if not sizes_only and _describe(path) != expected:
            raise DataError("has changed since it was written", fix=_FIX, path=path)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None


def _describe(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": file_digest(file, "sha256").hexdigest()}


def _read_manifest(folder: Path) -> dict[str, dict[str, Any]] | None:
    """The entries of the manifest by file name; None if there is none."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        manifest = json.loads(path.read_bytes())
        files: dict[str, dict[str, Any]] = manifest["files"]
        for name, entry in files.items():
            if Path(name).name != name or not isinstance(entry["bytes"], int):
                raise ValueError
            bytes.fromhex(entry["sha256"])
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError("is not the manifest of a model", fix=_FIX, path=path) from None
    if manifest.get("format") != FORMAT:
        version = repr(manifest.get("format"))
        fix = "install the version of one2set that wrote it"
        raise DataError(f"has format {version:.40}; expected {FORMAT}", fix=fix, path=path)
    return files


def _own_files(folder: Path) -> set[str]:
    """The files of a model folder that one2set wrote; none if it has no manifest."""
    try:
        listed = _read_manifest(folder)
    except DataError:
        return set()
    return set() if listed is None else {*listed, MANIFEST}
