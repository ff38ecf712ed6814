"""Products in parts equal numpy's, and saved arrays load unchanged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from one2set.errors import DataError
from one2set.extraction.arrays import (
    distinct,
    find_sorted,
    load_arrays,
    map_arrays,
    save_arrays,
    single_thread_matmul,
)


@pytest.mark.parametrize("rows", [0, 1, 88, 89, 200])
@pytest.mark.parametrize("width", [1, 46, 9_001])
@pytest.mark.parametrize("columns", [None, 1, 64])
def test_the_result_equals_numpys_product(rows: int, width: int, columns: int | None) -> None:
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


@pytest.mark.parametrize("table", [[], [5], [2, 3, 5, 9]])
def test_values_are_found_in_a_sorted_table(table: list[int]) -> None:
    result = find_sorted(np.array(table, np.int64), np.arange(12))
    assert result.tolist() == [table.index(n) if n in table else -1 for n in range(12)]
    rows = find_sorted(np.array(table, np.int64), np.arange(12).reshape(3, 4))
    assert rows.tolist() == result.reshape(3, 4).tolist()


ARRAYS: dict[str, NDArray[Any]] = {
    "odd": np.arange(5, dtype=np.int8),
    "half": np.linspace(0, 1, 6, dtype=np.float16).reshape(2, 3),
    "none": np.empty((0, 4), np.float32),
    "scalar": np.array(7),
    "keys": np.array([1, 2**63], np.uint64),
}


def test_arrays_are_saved_as_safetensors(tmp_path: Path) -> None:
    save_arrays(tmp_path / "ours", ARRAYS)
    save_file(ARRAYS, tmp_path / "theirs")
    for result in (
        map_arrays(tmp_path / "ours"),
        load_file(tmp_path / "ours"),
        map_arrays(tmp_path / "theirs"),
    ):
        assert result.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert result[name].dtype == array.dtype
            np.testing.assert_array_equal(result[name], array)
    assert all(array.flags.aligned for array in map_arrays(tmp_path / "ours").values())


def test_arrays_may_be_mapped_from_the_file_they_replace(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a", ARRAYS)
    mapped = map_arrays(tmp_path / "a")
    save_arrays(tmp_path / "a", {**mapped, "more": np.ones(3)})
    for result in (mapped, map_arrays(tmp_path / "a")):
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(result[name], array)


def test_damaged_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_arrays(path, ARRAYS)
    whole = path.read_bytes()
    for content in (b"", b"nothing", whole[:20], whole[:-1], b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is not a test"):
            load_arrays(tmp_path, "a.safetensors", "a test", dict)
    assert load_arrays(tmp_path, "b.safetensors", "a test", dict) is None


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 2, 0, 1]])
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, np.int64)
    np.testing.assert_array_equal(distinct(array), np.unique(array))


def test_nan_is_refused_and_infinity_is_not(tmp_path: Path) -> None:
    """The scale of a feature that never varied is infinite."""
    values = np.array([1.0, np.inf], np.float32)
    save_arrays(tmp_path / "table", {"values": values})
    loaded = load_arrays(tmp_path, "table", "a table", lambda arrays: arrays["values"].copy())
    assert loaded is not None
    assert loaded.tolist() == values.tolist()
    save_arrays(tmp_path / "table", {"values": np.array([1.0, np.nan], np.float32)})
    with pytest.raises(DataError, match="values has NaN values"):
        load_arrays(tmp_path, "table", "a table", lambda arrays: arrays["values"])
