"""Products of small matrices, in the thread that asks for them.

numpy leaves products to OpenBLAS, which shares larger ones among threads. These then spin for some
25 ms in case there is more to do, on cores that the network needs: a document took 56 ms of
processor, and takes 40 without them. What is computed here is a fraction of a millisecond.
"""

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float32]
# OpenBLAS stays in one thread up to so many cells of a matrix times a vector, and so many
# multiplications of two matrices.
_CELLS, _MULTIPLICATIONS = 9_000, 260_000


def product(a: Table, b: Table) -> Table:
    """a @ b, some rows at a time: (R, K) and (K, C) → (R, C), or (R, K) and (K,) → (R,)."""
    rows, width = a.shape
    most = _CELLS if b.ndim == 1 else min(_CELLS, _MULTIPLICATIONS // b.shape[1])
    step = max(1, most // max(1, width))
    found = np.empty((rows, *b.shape[1:]), np.float32)
    for start in range(0, rows, step):
        part = slice(start, start + step)
        np.matmul(a[part], b, out=found[part])
    return found
