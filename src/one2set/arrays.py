"""Array types, and a single-threaded product of small matrices.

numpy passes matrix products to OpenBLAS, which splits larger ones among threads. Its threads then
spin for about 25 ms waiting for more work, on cores that the network needs. Without them a document
takes 40 ms of processor time instead of 56; the products themselves take a fraction of a
millisecond.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Table = NDArray[np.float32]
# OpenBLAS uses one thread up to this many matrix elements (matrix times vector) and this many
# multiplications (matrix times matrix).
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
