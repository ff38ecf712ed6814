"""Graphs compute what torch computes, in float32 and in int8."""

import math
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from safetensors.numpy import save_file

from one2set.export.export import weight_offsets
from one2set.export.onnx_builder import Array, Graph, quantize
from one2set.model.folder import SCALE, TRANSPOSED

RNG = np.random.default_rng(3)
STATE: dict[str, Array] = {
    "map.weight": RNG.normal(size=(5, 8)).astype(np.float32),
    "map.bias": RNG.normal(size=5).astype(np.float32),
    "plain.weight": RNG.normal(size=(5, 8)).astype(np.float32),
    "norm.weight": RNG.normal(size=8).astype(np.float32),
    "norm.bias": RNG.normal(size=8).astype(np.float32),
}
TABLE = RNG.normal(size=(11, 8)).astype(np.float32)


def run(graph: Graph, weights: dict[str, Array], folder: Path, **inputs: Array) -> Array:
    """What a graph gives for inputs, by way of its files."""
    save_file(weights, folder / "w.safetensors")
    graph.save(folder, "w.safetensors", weight_offsets(folder / "w.safetensors"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / f"{graph.name}.onnx", options)
    (outcome,) = session.run(None, inputs)
    return np.asarray(outcome)


def linear(
    folder: Path, x: Array, *, int8: bool, name: str = "map", is_positive: bool = False
) -> Array:
    weights: dict[str, Array] = {}
    graph = Graph("g", weights, int8=int8)
    value = graph.input("x", TensorProto.FLOAT, "rows", 8)
    rows = graph.quantize_rows(value, is_positive=is_positive)
    graph.output("y", graph.linear(rows, name, STATE), TensorProto.FLOAT)
    return run(graph, weights, folder, x=x)


@pytest.mark.parametrize("name", ["map", "plain"])
def test_a_linear_layer_equals_torchs(tmp_path: Path, name: str) -> None:
    x = RNG.normal(size=(4, 8)).astype(np.float32)
    expected = x @ STATE[f"{name}.weight"].T + STATE.get(f"{name}.bias", 0)
    np.testing.assert_allclose(linear(tmp_path, x, int8=False, name=name), expected, rtol=1e-5)
    error = np.abs(linear(tmp_path, x, int8=True, name=name) - expected)
    # Half a step of 1/127 of the row and a step of 1/63 of the column, eight times.
    rows, columns = (np.abs(y).max(1) for y in (x, STATE[f"{name}.weight"]))
    assert (error <= 8 * np.outer(rows, columns) * (0.5 / 127 + 1 / 63)).all()
    assert error.max() > 1e-4, "int8 is not exact: was it used at all?"


def test_int8_rows_are_independent(tmp_path: Path) -> None:
    x = RNG.normal(size=(4, 8)).astype(np.float32)
    alone = linear(tmp_path, x[:1], int8=True)
    x[1:] *= 1000
    x[2] = 0
    together = linear(tmp_path, x, int8=True)
    np.testing.assert_array_equal(together[:1], alone)
    np.testing.assert_array_equal(together[2], STATE["map.bias"])


def test_positive_rows_give_the_same(tmp_path: Path) -> None:
    x = np.abs(RNG.normal(size=(4, 8))).astype(np.float32)
    expected = linear(tmp_path, x, int8=True)
    np.testing.assert_array_equal(linear(tmp_path, x, int8=True, is_positive=True), expected)


@pytest.mark.parametrize(("int8", "most"), [(False, 1e-6), (True, 1e-3)])
def test_gelu(tmp_path: Path, int8: bool, most: float) -> None:
    graph = Graph("g", {}, int8=int8)
    graph.output("y", graph.gelu(graph.input("x", TensorProto.FLOAT, "rows", 8)), TensorProto.FLOAT)
    x = np.linspace(-6, 6, 400, dtype=np.float32).reshape(-1, 8)
    phi = np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x.flat])
    np.testing.assert_allclose(run(graph, {}, tmp_path, x=x), x * phi.reshape(x.shape), atol=most)


@pytest.mark.parametrize("int8", [False, True])
def test_embeddings_equal_the_rows_of_the_table(tmp_path: Path, int8: bool) -> None:
    weights: dict[str, Array] = {}
    graph = Graph("g", weights, int8=int8)
    ids = graph.input("ids", TensorProto.INT64, "rows", "cells")
    graph.output("y", graph.lookup(ids, "table.weight", TABLE), TensorProto.FLOAT)
    asked = np.array([[0, 10], [3, 3]])
    outcome = run(graph, weights, tmp_path, ids=asked)
    step = np.abs(TABLE).max(1, keepdims=True) / 127
    within = 1.01 * step[asked] if int8 else 0
    assert (np.abs(outcome - TABLE[asked]) <= within).all()


def test_a_layer_norm_equals_torchs(tmp_path: Path) -> None:
    weights: dict[str, Array] = {}
    graph = Graph("g", weights, int8=True)
    value = graph.input("x", TensorProto.FLOAT, "rows", 8)
    graph.output("y", graph.norm(value, "norm", STATE), TensorProto.FLOAT)
    x = RNG.normal(size=(3, 8)).astype(np.float32)
    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    expected = expected * STATE["norm.weight"] + STATE["norm.bias"]
    np.testing.assert_allclose(run(graph, weights, tmp_path, x=x), expected, atol=1e-5)


def test_graphs_share_weights_by_name() -> None:
    weights: dict[str, Array] = {}
    for name in ("first", "second"):
        graph = Graph(name, weights, int8=True)
        graph.linear(
            graph.quantize_rows(graph.input("x", TensorProto.FLOAT, "rows", 8)), "map", STATE
        )
    assert set(weights) == {"map.weight" + TRANSPOSED, "map.weight" + SCALE, "map.bias"}
    assert weights["map.weight" + TRANSPOSED].dtype == np.int8


@pytest.mark.parametrize("axis", [0, 1])
def test_rounding_is_to_nearest_and_keeps_quantised_weights(axis: int) -> None:
    """However often it is read back and rounded again."""
    matrix = RNG.normal(size=(300, 70)).astype(np.float32)
    whole, scale = quantize(matrix, axis=axis, largest=63)
    assert np.abs(whole).max() == 63
    assert (np.abs(whole * scale - matrix) <= 0.501 * scale).all()
    again, same_scale = quantize(whole * scale, axis=axis, largest=63)
    np.testing.assert_array_equal(again, whole)
    np.testing.assert_allclose(same_scale, scale, rtol=1e-6)


@pytest.mark.parametrize("size", [0.02, 0.1, 0.25, 0.4, 1.0])
def test_stochastic_rounding_keeps_small_changes_of_quantised_weights(size: float) -> None:
    """Of any part of a step, as further training makes them: of small ones, the nearest whole
    numbers would keep nothing."""
    whole, scale = quantize(RNG.normal(size=(300, 400)).astype(np.float32), axis=0, largest=63)
    before = whole * scale
    change = size * scale * RNG.normal(size=before.shape).astype(np.float32)
    after, new_scale = quantize(before + change, axis=0, largest=63)
    kept = ((after * new_scale - before) * change).sum() / (change**2).sum()
    assert kept == pytest.approx(1, abs=0.15)
