"""Systematic damages of a model folder: each is a name and a function of the folder."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from one2set.extraction.arrays import map_arrays, save_arrays

Damage = Callable[[Path], None]
_NAN, _INFINITE = float("nan"), float("inf")
_WRONG_VALUES: tuple[Any, ...] = (None, "x", -1, 0, 10**12, 1.5, [], {}, True, _NAN, _INFINITE)


def damages(folder: Path) -> Iterator[tuple[str, Damage]]:
    """All ways to damage a folder like this one."""
    for path in sorted(folder.iterdir()):
        yield from _damages_of_bytes(path.name, path.stat().st_size)
        if path.suffix == ".json" and path.name != "tokenizer.json":
            yield from _damages_of_json(path)
        if path.suffix == ".safetensors" and path.name != "weights.safetensors":
            yield from _damages_of_mapped_arrays(path)
        if path.suffix == ".tsv":
            yield from _damages_of_table(path.name)


def _damages_of_bytes(name: str, size: int) -> Iterator[tuple[str, Damage]]:
    def change(how: Callable[[bytes], bytes]) -> Damage:
        return lambda folder: _write(folder / name, how((folder / name).read_bytes()))

    yield f"{name} missing", lambda folder: (folder / name).unlink()
    yield f"{name} a folder", partial(_replace_by_folder, name=name)
    yield f"{name} empty", change(lambda data: b"")
    yield f"{name} half", change(lambda data: data[: len(data) // 2])
    yield f"{name} short", change(lambda data: data[:-1])
    yield f"{name} long", change(lambda data: data + b"\0")
    yield f"{name} random", change(lambda data: np.random.default_rng(0).bytes(len(data)))
    yield f"{name} pointer", change(lambda data: b"version https://git-lfs.github.com/spec/v1\n")
    for share in (0.0, 0.2, 0.5, 0.8, 0.99):
        at = int(share * size)
        yield f"{name} flipped at {at}", change(partial(_flip, at=at))


def _damages_of_json(path: Path) -> Iterator[tuple[str, Damage]]:
    for text in ("null", "[]", "1", '"x"', "{}", "[" * 100_000):
        yield f"{path.name} is {text[:9]}", partial(_write_text, name=path.name, text=text)
    for place in _find_paths(json.loads(path.read_text()), skip=("config",)):
        for value in _WRONG_VALUES:
            yield (
                f"{path.name} {place} = {value}",
                partial(_set_json, name=path.name, place=place, value=value),
            )


def _damages_of_mapped_arrays(path: Path) -> Iterator[tuple[str, Damage]]:
    for name in map_arrays(path):
        for how, change in _MAPPED_CHANGES.items():
            yield (
                f"{path.name} {name} {how}",
                partial(_set_mapped, file=path.name, name=name, change=change),
            )


_MAPPED_CHANGES: dict[str, Callable[[Any], Any]] = {
    "missing": lambda array: None,
    "NaN": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "scalar": lambda array: np.array(1.0),
    "empty": lambda array: array.reshape(-1)[:0],
    "huge": lambda array: np.full(array.shape, 2**62),
    "negative": lambda array: np.full(array.shape, -1),
    "one row more": lambda array: np.concatenate([array, array[:1]]) if array.ndim else array,
    "one axis more": lambda array: array[None],
}


def _set_mapped(folder: Path, *, file: str, name: str, change: Callable[[Any], Any]) -> None:
    arrays = {other: array.copy() for other, array in map_arrays(folder / file).items()}
    changed = change(arrays.pop(name))
    save_arrays(folder / file, arrays if changed is None else {**arrays, name: changed})


def _damages_of_table(name: str) -> Iterator[tuple[str, Damage]]:
    for text in (
        "x\n",
        "x\ty\n",
        "x\ty\tz\n",
        "x\ty\t-1\n",
        "a\tb\t1\td\n",
        "\t\t1\n",
        "caf\udce9\n",
    ):
        yield f"{name} is {text!a}", partial(_write_text, name=name, text=text)


def _find_paths(value: Any, skip: tuple[str, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a JSON value."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield (key,)
            if key not in skip:
                yield from ((key, *place) for place in _find_paths(below))


def _set_json(folder: Path, *, name: str, place: tuple[Any, ...], value: Any) -> None:
    whole = json.loads((folder / name).read_text())
    below = whole
    for key in place[:-1]:
        below = below[key]
    below[place[-1]] = value
    (folder / name).write_text(json.dumps(whole))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _write_text(folder: Path, *, name: str, text: str) -> None:
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def _replace_by_folder(folder: Path, *, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


def _flip(data: bytes, *, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
