"""Builds ONNX graphs node by node.

A value is identified by its name. All graphs refer to one safetensors file for their weights: it is
memory-mapped and shared, and `model.folder` can load a network from it. Linear layers multiply in
float32, or in int8 with a scale per row and per column, so that rows never depend on one another
and batching changes nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from one2set.model.folder import SCALE, TRANSPOSED

_OPSET, MICROSOFT, _IR = 20, "com.microsoft", 10
# Rows are quantized to −127 … 127, stored as 1 … 255. Matrices get seven bits: AVX2 adds pairs of
# products in 16 bits, where more would overflow. Tables are only looked up.
_ROW, _ZERO, _MATRIX, _TABLE = 127, 128, 63, 127
_SMALL = 1 << 14  # bytes: a weight that is kept in the graph too, where it is found sooner
# The mean distance to the nearest integer is 1/4. Weights that are nearer were quantized before.
_WAS_QUANTIZED = 0.24
Array = NDArray[Any]


class LinearInput(NamedTuple):
    """The rows (…, R, D) that a linear layer takes: float32, or quantized with scales (…, R, 1)."""

    values: str
    scale: str | None = None


class Graph:
    """A graph under construction. `weights` are those of all graphs of a model, by name."""

    def __init__(self, name: str, weights: dict[str, Array], *, int8: bool) -> None:
        self.name, self._weights, self._int8 = name, weights, int8
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._constants: dict[tuple[str, bytes], onnx.TensorProto] = {}
        self._used: dict[str, None] = {}
        self._zeros: str | None = None  # (R,) the zero point of each row

    def __call__(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        return self.several(kind, *inputs, count=1, domain=domain, **attributes)[0]

    def several(
        self, kind: str, *inputs: str, count: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node with several outputs."""
        outputs = [f"{kind}-{len(self._nodes)}-{index}" for index in range(count)]
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs

    def input(self, name: str, kind: int, *shape: str | int) -> str:
        """An input of the graph; dimensions that vary are named."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: int) -> None:
        """Make a value that no later node uses an output. It is renamed: a node would copy it."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [name if old == value else old for old in names]
        self._outputs.append(helper.make_tensor_value_info(name, kind, None))

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """A small constant, kept in the graph."""
        array = np.asarray(value, dtype)
        key = (f"{array.dtype}{array.shape}", array.tobytes())
        if key not in self._constants:
            name = f"constant-{len(self._constants)}"
            self._constants[key] = numpy_helper.from_array(array, name)
        return self._constants[key].name

    def weight(self, name: str, array: Array) -> str:
        """A weight, kept in the file."""
        self._weights.setdefault(name, np.ascontiguousarray(array))
        self._used[name] = None
        return name

    def norm(self, x: str, name: str, state: Mapping[str, Array]) -> str:
        """A layer normalisation."""
        scale, shift = (
            self.weight(f"{name}.{k}", state[f"{name}.{k}"]) for k in ("weight", "bias")
        )
        return self("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)

    def quantize_rows(self, x: str, *, is_positive: bool = False) -> LinearInput:
        """Rows for `linear`, quantized with int8; several layers can share them. All inputs of a
        graph have the same rows. Rows are positive if their negative values are near 0."""
        if not self._int8:
            return LinearInput(x)
        sizes = x if is_positive else self("Abs", x)
        largest = self("ReduceMax", sizes, self.constant([-1], np.int64), keepdims=1)
        scale = self("Mul", largest, self.constant(1 / _ROW))
        scale = self("Max", scale, self.constant(1e-11))  # a row may be all zeros
        by_row = self("Reshape", scale, self.constant([-1], np.int64))
        if self._zeros is None:
            zero = self.constant(_ZERO, np.uint8)
            self._zeros = self("Expand", zero, self("Shape", by_row))
        return LinearInput(self("QuantizeLinear", x, by_row, self._zeros, axis=-2), scale)

    def linear(self, x: LinearInput, name: str, state: Mapping[str, Array]) -> str:
        """A linear layer, with its bias if it has one."""
        y = self._product(x, f"{name}.weight", state[f"{name}.weight"].T)
        bias = state.get(f"{name}.bias")
        return y if bias is None else self("Add", y, self.weight(f"{name}.bias", bias))

    def gelu(self, x: str) -> str:
        """GELU; with int8, its approximation by tanh, which is faster and nearer than int8 is."""
        return self("FastGelu", x, domain=MICROSOFT) if self._int8 else self("Gelu", x)

    def _product(self, x: LinearInput, name: str, matrix: Array) -> str:
        """x times a matrix (in, out)."""
        stored = name + TRANSPOSED
        if x.scale is None:
            return self("MatMul", x.values, self.weight(stored, matrix))
        whole, scale = quantize(matrix, axis=0, largest=_MATRIX)
        y = self(
            "MatMulIntegerToFloat",
            x.values,
            self.weight(stored, whole),
            self.constant(1.0),
            self.weight(name + SCALE, scale.squeeze(0)),
            self.constant(_ZERO, np.uint8),
            domain=MICROSOFT,
        )
        return self("Mul", y, x.scale)

    def lookup(self, ids: str, name: str, table: Array) -> str:
        """Rows of a table."""
        if not self._int8:
            return self("Gather", self.weight(name, table), ids)
        whole, scale = quantize(table, axis=1, largest=_TABLE)
        rows = self("Gather", self.weight(name, whole), ids)
        scales = self("Gather", self.weight(name + SCALE, scale), ids)
        return self("Mul", self("Cast", rows, to=TensorProto.FLOAT), scales)

    def save(self, folder: Path, file: str, offsets: Mapping[str, tuple[int, int]]) -> None:
        """Write the graph; `offsets` are offset and length of each weight in a file beside it."""
        initializers = []
        for name in self._used:
            array = self._weights[name]
            if array.nbytes <= _SMALL:
                initializers.append(numpy_helper.from_array(array, name))
                continue
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
            tensor.data_location = TensorProto.EXTERNAL
            offset, length = offsets[name]
            for key, value in (("location", file), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
        graph = helper.make_graph(
            self._nodes,
            self.name,
            self._inputs,
            self._outputs,
            [*initializers, *self._constants.values()],
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
        (folder / f"{self.name}.onnx").write_bytes(model.SerializeToString())


def quantize(matrix: Array, *, axis: int, largest: int) -> tuple[Array, Array]:
    """A matrix as int8, and its scales along an axis.

    A network that was loaded from int8 weights and fine-tuned has weights near integers. Rounding
    to the nearest would undo the training, so these are rounded stochastically, which keeps changes
    on average.
    """
    scale = np.maximum(np.abs(matrix).max(axis, keepdims=True) / largest, 1e-12)
    exact = matrix / scale
    whole = np.round(exact)
    if np.abs(exact - whole).mean() < _WAS_QUANTIZED:
        # Excludes 0 and 1, so that rounding errors of the division do not change exact integers.
        chance = np.random.default_rng(0).uniform(0.001, 0.999, exact.shape)
        whole = np.floor(exact + chance)
    return whole.astype(np.int8), scale.astype(np.float32)
