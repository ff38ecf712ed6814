"""Files of arrays, look-ups in sorted ones, and products of small matrices in the calling thread.

Files of arrays are safetensors files. They are mapped into memory: only what is looked up is read,
and the processes of a machine share it. We read them ourselves, so that numpy is all that is
needed.

numpy leaves products to OpenBLAS, which splits larger ones over threads. These threads then spin
for some 25 ms waiting for more work, on cores that the network needs: a document took 56 ms of
processor time with them and takes 40 without. Our products take a fraction of a millisecond.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Float32s, Ints
from one2set.errors import DataError

_T = TypeVar("_T")
_N = TypeVar("_N", bound=np.generic)
Arrays = Mapping[str, NDArray[Any]]  # by name
# The types of numpy, and their names in safetensors files.
_KINDS = {"b1": "BOOL", "i1": "I8", "u1": "U8", "u2": "U16", "f2": "F16", "i4": "I32", "u4": "U32"}
_KINDS |= {"f4": "F32", "i8": "I64", "u8": "U64", "f8": "F64"}
_DTYPES = {kind: np.dtype(f"<{name}") for name, kind in _KINDS.items()}
# OpenBLAS uses one thread up to this many cells of a matrix times a vector, and up to this many
# multiplications of two matrices.
_CELLS, _MULTIPLICATIONS = 9_000, 260_000


def single_thread_matmul(a: Float32s, b: Float32s) -> Float32s:
    """a @ b in blocks of rows: (R, K) and (K, C) → (R, C), or (R, K) and (K,) → (R,)."""
    rows, width = a.shape
    most = _CELLS if b.ndim == 1 else min(_CELLS, _MULTIPLICATIONS // b.shape[1])
    block = max(1, most // max(1, width))
    whole = rows - rows % block  # numpy multiplies these blocks one by one
    blocks = np.matmul(a[:whole].reshape(rows // block, block, width), b)
    out: Float32s = np.concatenate([blocks.reshape(whole, *b.shape[1:]), a[whole:] @ b])
    return out


def distinct(values: NDArray[_N]) -> NDArray[_N]:
    """The distinct values, sorted. `numpy.unique` would import numpy.ma, a sixth of the start."""
    ordered = np.sort(values)
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return np.asarray(ordered[is_first])


def find_sorted(table: NDArray[_N], values: NDArray[_N]) -> Ints:
    """The index of each value in a sorted table, in the shape of the values; −1 if it is not
    there."""
    if not len(table):
        return np.full(values.shape, -1)
    at = np.minimum(table.searchsorted(values), len(table) - 1)
    return np.where(table[at] == values, at, -1)


def find_highest(values: Float32s, count: int) -> Ints:
    """The indices of the highest values, in no order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(-values, count)[:count]


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Write arrays as a safetensors file. They may be mapped from the file that is replaced."""
    from one2set.atomic import atomic_file  # imports shutil, which readers of arrays do not need

    # Wider types first, and a header of a multiple of 8 bytes, so that all are aligned.
    ordered = sorted(arrays.items(), key=lambda pair: -pair[1].dtype.itemsize)
    header, end = {}, 0
    for name, array in ordered:
        begin, end = end, end + array.nbytes
        kind = _KINDS[array.dtype.newbyteorder("=").str[1:]]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


def map_arrays(path: Path) -> Arrays:
    """The arrays of a safetensors file, mapped into memory. Raises ValueError, KeyError, TypeError
    or OSError if it is damaged."""
    content = np.memmap(path, np.uint8, "r").view(np.ndarray)
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = content[start + begin : start + end]
        arrays[name] = data.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def load_arrays(folder: Path, name: str, kind: str, build: Callable[[Arrays], _T]) -> _T | None:
    """Build an object from the arrays of a model's file; None if it does not exist. `build` raises
    ValueError or KeyError where the arrays do not fit."""
    path = folder / name
    if not path.exists():
        return None
    try:
        arrays = map_arrays(path)
        _refuse_nan(arrays)
        return build(arrays)
    except DataError as error:
        raise DataError(error.what, fix=error.fix, path=path) from None
    except Exception as error:  # a damaged file can fail in any way
        fix = "make it again with one2set learn"
        raise DataError(f"is not {kind} ({error})", fix=fix, path=path) from error


def _refuse_nan(arrays: Arrays) -> None:
    """Infinite values are allowed: the scale of a feature that never varied."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{name} has NaN values")


def check_shapes(arrays: Arrays, shapes: Mapping[str, str]) -> None:
    """Check the shapes of arrays of numbers, such as `{"weight": "RC", "bias": "C"}`: a letter
    stands for the same size everywhere, a digit for itself. Raises ValueError."""
    sizes: dict[str, int] = {}
    for name, letters in shapes.items():
        array = arrays[name]
        if array.ndim != len(letters) or array.dtype.kind not in "fiub":
            raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
        for letter, size in zip(letters, array.shape, strict=True):
            expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            if size != expected:
                raise ValueError(f"{name} has shape {array.shape}; {letter} is {expected}")
