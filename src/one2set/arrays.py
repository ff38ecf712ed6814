"""Array types, npz files, and products of small matrices in the calling thread.

numpy leaves products to OpenBLAS, which splits larger ones over threads. These threads then spin
for some 25 ms waiting for more work, on cores that the network needs: a document took 56 ms of
processor time with them and takes 40 without. Our products take a fraction of a millisecond.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from one2set.errors import DataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Flags = NDArray[np.bool_]
_T = TypeVar("_T")
Arrays = Mapping[str, NDArray[Any]]  # by name
# OpenBLAS uses one thread up to this many cells of a matrix times a vector, and up to this many
# multiplications of two matrices.
_CELLS, _MULTIPLICATIONS = 9_000, 260_000


def single_thread_matmul(a: Float32s, b: Float32s) -> Float32s:
    """a @ b in blocks of rows: (R, K) and (K, C) → (R, C), or (R, K) and (K,) → (R,)."""
    rows, width = a.shape
    most = _CELLS if b.ndim == 1 else min(_CELLS, _MULTIPLICATIONS // b.shape[1])
    block = max(1, most // max(1, width))
    out = np.empty((rows, *b.shape[1:]), np.float32)
    for start in range(0, rows, block):
        part = slice(start, start + block)
        np.matmul(a[part], b, out=out[part])
    return out


def silu(x: Float32s) -> Float32s:
    """x · σ(x)"""
    found: Float32s = x * (0.5 * (1 + np.tanh(0.5 * x)))
    return found


def load_npz(
    folder: Path, names: Sequence[str], kind: str, build: Callable[[Arrays], _T]
) -> _T | None:
    """Build an object from the arrays of a model's file, the first of these names that exists; None
    if none does. `build` raises ValueError or KeyError where the arrays do not fit."""
    path = next((folder / name for name in names if (folder / name).exists()), None)
    if path is None:
        return None
    try:
        with np.load(path) as arrays:
            return build(arrays)
    except DataError as error:
        raise DataError(error.what, fix=error.fix, path=path) from None
    except (ValueError, KeyError, OSError, EOFError, BadZipFile):
        raise DataError(
            f"is not {kind}", fix="make it again with one2set learn", path=path
        ) from None
