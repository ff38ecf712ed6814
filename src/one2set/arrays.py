"""Array types, and products of small matrices in the calling thread.

numpy leaves products to OpenBLAS, which splits larger ones over threads. These threads then spin
for some 25 ms waiting for more work, on cores that the network needs: a document took 56 ms of
processor time with them and takes 40 without. Our products take a fraction of a millisecond.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Flags = NDArray[np.bool_]
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
