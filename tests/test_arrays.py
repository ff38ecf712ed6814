"""Products in parts are products."""

import numpy as np
import pytest

from one2set.arrays import single_thread_matmul


@pytest.mark.parametrize("rows", [0, 1, 88, 89, 200])
@pytest.mark.parametrize("width", [1, 46, 9_001])
@pytest.mark.parametrize("columns", [None, 1, 64])
def test_it_is_the_product(rows: int, width: int, columns: int | None) -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(rows, width)).astype(np.float32)
    b = rng.normal(size=(width,) if columns is None else (width, columns)).astype(np.float32)
    np.testing.assert_allclose(single_thread_matmul(a, b), a @ b, rtol=1e-4, atol=1e-3)


def test_a_transposed_matrix_and_an_empty_one() -> None:
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(single_thread_matmul(a.T, np.ones(4, np.float32)), [18, 22, 26])
    np.testing.assert_array_equal(
        single_thread_matmul(a.T[:, :0], np.ones(0, np.float32)), [0, 0, 0]
    )
