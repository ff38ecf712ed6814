"""The runtime: an exported SetTrans with numpy and onnxruntime, without torch.

It generates the same words as the greedy search of the engine.

Shapes: B documents, N codes, T steps, R rows that are still being written, n rows of a document.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from one2set.arrays import Ints
from one2set.cores import count_cores
from one2set.data.control_codes import is_present_code
from one2set.data.document import Document
from one2set.data.example import Example, Sources, pad_sources
from one2set.data.specials import BOS, EOS, NULL, UNK
from one2set.data.vocabulary import load_vocabulary
from one2set.errors import ConfigError, DataError
from one2set.model.paths import DESCRIPTION
from one2set.prediction.prediction import NullBias, TokenStates, predicts_null
from one2set.prediction.predictor import Generated, Predictor, Project
from one2set.prediction.spelling import DecodedRow, SlotBuilder

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, OrtValue

WEIGHTS = "weights.safetensors"
GRAPHS = {  # and inputs by which they are known
    "encoder.onnx": {"source"},
    "step.onnx": {"tokens", "step", "own"},
}
_MOST = {"vocabulary_size": 10**8, "num_codes": 10**4, "steps": 10**3, "longest": 10**6}
EDGES = "edges"  # the encoder's output for a span scorer
FORMAT = 1
_FIX = "make it again with one2set export"


class Description(NamedTuple):
    """The contents of runtime.json."""

    vocabulary_size: int
    num_codes: int
    steps: int  # maximum tokens of a code, including `<eos>`
    longest: int  # maximum source length
    int8: bool


class DecodedRows(NamedTuple):
    """Decoded tokens. Cells after the end of a row are zero."""

    length: Ints  # (B·N,)
    tokens: Ints  # (B·N, T) extended ids
    probability: NDArray[np.float32]  # (B·N, T)
    position: Ints  # (B·N, T) of the most attended source word
    null: NDArray[np.float32]  # (B·N,) the probability of ∅ as the first token


class Runtime(Predictor):
    """Runs an exported model."""

    def __init__(
        self,
        folder: Path,
        *,
        threads: int = 0,
        batch_tokens: int = 4096,
        max_source_length: int = 4096,
    ) -> None:
        """`threads` is the number of CPU threads; 0 uses all cores."""
        self.description = read_description(folder)
        vocabulary = load_vocabulary(folder, size=self.description.vocabulary_size)
        num_codes = self.description.num_codes
        self._is_present = is_present_code(np.arange(num_codes), num_codes)  # (N,)
        longest = self.description.longest
        super().__init__(
            vocabulary,
            batch_tokens=batch_tokens,
            max_source_length=min(max_source_length, longest),
        )
        if vocabulary.size != self.description.vocabulary_size:
            what = f"has {self.description.vocabulary_size:,} words, the vocabulary "
            what += f"{vocabulary.size:,}"
            raise DataError(what, fix=_FIX, path=folder / DESCRIPTION)
        check_finite(folder / WEIGHTS)
        self._encoder, self._step = (
            _session(folder / name, threads, inputs) for name, inputs in GRAPHS.items()
        )

    def _generate(
        self, examples: Sequence[Example], null_bias: NullBias, project: Project | None
    ) -> Iterator[Generated]:
        sources = pad_sources(examples, vocabulary_size=self.description.vocabulary_size)
        memories = self._encode(sources)
        written = self._decode(_join_memories(memories, sources), len(examples), null_bias)
        length, tokens, probability, position, null = (x.tolist() for x in written)
        codes = self.description.num_codes
        for b, example in enumerate(examples):
            builder = SlotBuilder(self.vocabulary, example, tuple(sources.oov[b]))
            slots = []
            for code in range(codes):
                r = b * codes + code
                row = DecodedRow(tokens[r], probability[r], position[r])[: length[r]]
                slots.append(builder.slot(code, row, null=null[r]))
            projected = None if project is None else project(_states(memories[b]))
            yield Generated(tuple(slots), projected)

    def encode_words(self, documents: Iterable[Document]) -> Iterator[tuple[Document, TokenStates]]:
        """The encoder's states of documents, unprojected; without those that have no words."""
        for document in documents:
            example, spans = self.vocabulary.encode_source(document)
            read = replace(example, source=example.source[: self.max_source_length])
            if len(read.source):
                size = self.description.vocabulary_size
                (memory,) = self._encode(pad_sources([read], vocabulary_size=size))
                yield document, TokenStates(_states(memory), spans[: len(read.source)])

    def _decode(self, memory: "Values", documents: int, null_bias: NullBias) -> DecodedRows:
        """Decode each code until `<eos>` or ∅."""
        size, codes, steps = self.description[:3]
        count = documents * codes
        by_code = np.where(self._is_present, null_bias.present, null_bias.absent)
        first_bias = np.tile(by_code, documents)
        written = DecodedRows(
            length=np.zeros(count, np.int64),
            tokens=np.zeros((count, steps), np.int64),
            probability=np.zeros((count, steps), np.float32),
            position=np.zeros((count, steps), np.int64),
            null=np.zeros(count, np.float32),
        )
        rows, tokens = np.arange(count), np.full(count, BOS)
        sizes = {"R": count, "t": 0}  # the other dimensions are numbers
        shape = [sizes.get(axis, axis) for axis in _shape(self._step, "own")]
        own = np.zeros(shape, np.float32)
        for t in range(steps):
            state: dict[str, NDArray[Any]] = {
                "tokens": np.where(tokens < size, tokens, UNK),
                "step": np.array(t),
                "own": own,
                **_arrange_rows(rows, codes, documents),
            }
            outputs = _run(self._step, memory | _to_ort_values(state))
            word, probability, null, position, own = (value.numpy() for value in outputs.values())
            bias = np.zeros(len(rows)) if t else first_bias
            # Without a bias, the lower id wins a tie, as in `Mixture.greedy`.
            tie = (bias == 0) & (null == probability) & (word > NULL)
            is_null = predicts_null(probability, null, bias) | tie
            tokens = np.where(is_null, NULL, word)
            if t == 0:
                written.null[:] = null
            written.length[rows] = t + 1
            written.tokens[rows, t] = tokens
            written.probability[rows, t] = np.where(is_null, null, probability)
            written.position[rows, t] = position
            active = np.flatnonzero((tokens != EOS) & (tokens != NULL))
            if not len(active):
                break
            rows, tokens, own = rows[active], tokens[active], own[:, active]
        return written

    def _encode(self, sources: Sources) -> "list[Memory]":
        """Encode the documents one by one: without padding, and each so small that what one node
        writes is still in the cache when the next one reads it. Batches of 8 took a third longer.
        """
        names = [output.name for output in self._encoder.get_outputs()]
        memories = []
        for source, length in zip(sources.known, sources.lengths, strict=True):
            outputs = self._encoder.run(names, {"source": source[None, :length]})
            memories.append(dict(zip(names, outputs, strict=True)))
        return memories


# The encoder's outputs for one document: keys (1, H, D/H, S), values (1, H, S, D/H), and edges
# (1, S, 2W) of models with a span scorer.
Memory = dict[str, NDArray[np.float32]]


def _states(memory: Memory) -> NDArray[np.float32]:
    """(S, D) the edges of the span scorer; of a model without one, the values that the decoder's
    last layer attends to."""
    if EDGES in memory:
        return memory[EDGES].squeeze(0)
    layers = sum(name.startswith("value-") for name in memory)
    value = memory[f"value-{layers - 1}"].squeeze(0)  # (H, S, D / H)
    return value.transpose(1, 0, 2).reshape(value.shape[1], -1)


def _join_memories(memories: Sequence[Memory], sources: Sources) -> "Values":
    """The inputs of every step: keys and values of all documents, padded, and their words."""
    words: dict[str, NDArray[Any]] = {
        "lengths": np.array(sources.lengths, np.int32),
        "extended": sources.extended,
        "first": sources.first,
    }
    for name, first in memories[0].items():
        if name == EDGES:
            continue
        shape = list(first.shape)
        axis = 3 if name.startswith("key-") else 2  # of words
        shape[0], shape[axis] = len(memories), max(sources.lengths)
        words[name] = joined = np.zeros(shape, np.float32)
        for document, memory in zip(joined, memories, strict=True):
            length = memory[name].shape[axis]
            document[(slice(None),) * (axis - 1) + (slice(length),)] = memory[name][0]
    return _to_ort_values(words)


Values = dict[str, "OrtValue"]


def _arrange_rows(rows: Ints, codes: int, documents: int) -> dict[str, Ints]:
    """The documents and codes of rows, and the grid (B, n) of rows by document."""
    document = rows // codes
    counts = np.bincount(document, minlength=documents)
    height = int(counts.max())
    before = np.cumsum(counts) - counts
    cell = document * height + np.arange(len(rows)) - before[document]
    grid = np.zeros(documents * height, np.int64)
    grid[cell] = np.arange(len(rows))
    return {
        "document": document,
        "code": rows % codes,
        "cell": cell,
        "grid": grid.reshape(documents, height),
    }


def _session(path: Path, threads: int, inputs: set[str]) -> "InferenceSession":
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(
            "generating needs the package 'onnxruntime', which is not installed; "
            "run: pip install onnxruntime"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or count_cores()
    options.log_severity_level = 3  # errors only
    # Threads of one graph must not spin while the other graph, or Python, runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The graphs are built as they run best. To optimise them again, and to plan where they put
    # each value (quadratic in their nodes), takes longer than to encode a text, and gains nothing.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_reuse = False
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common base class of errors
        raise DataError(f"cannot be run ({error})", fix=_FIX, path=path) from None
    if not inputs.issubset(value.name for value in session.get_inputs()):
        raise DataError("is not a graph of this model", fix=_FIX, path=path)
    return session


def _to_ort_values(arrays: Mapping[str, NDArray[Any]]) -> Values:
    from onnxruntime import OrtValue

    return {
        name: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
        for name, array in arrays.items()
    }


def _run(session: "InferenceSession", values: Values) -> Values:
    names = [output.name for output in session.get_outputs()]
    try:
        feeds = {value.name: values[value.name] for value in session.get_inputs()}
        return dict(zip(names, session.run_with_ort_values(names, feeds), strict=True))
    except Exception as error:  # of a graph that does not fit its weights or runtime.json
        raise DataError(f"a graph of the model cannot be run ({error})", fix=_FIX) from error


def _shape(session: "InferenceSession", name: str) -> list[Any]:
    return next(list(value.shape) for value in session.get_inputs() if value.name == name)


def read_description(folder: Path) -> Description:
    """Read runtime.json of an exported folder."""
    path = folder / DESCRIPTION
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT:
            raise DataError(f"is not of format {FORMAT}", fix=_FIX, path=path)
        description = Description(**values)
        for name, most in _MOST.items():
            value = values[name]
            if type(value) is not int or not 0 < value <= most:
                what = f"{name} is {value!r:.40}; expected a number from 1 to {most:,}"
                raise DataError(what, fix=_FIX, path=path)
        return description
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise DataError(
            "is not the description of an exported model", fix=_FIX, path=path
        ) from None


def check_finite(path: Path) -> None:
    """Refuse a safetensors file with NaN or infinite values."""
    types = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
    try:
        data = np.memmap(path, np.uint8, "r")
        start = 8 + int(data[:8].view("<u8")[0])
        header = json.loads(data[8:start].tobytes())
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            first, last = tensor["data_offsets"]
            if start + last > len(data):
                raise ValueError("it is cut off")
            kind, values = types.get(tensor["dtype"]), data[start + first : start + last]
            if kind is not None and not np.isfinite(values.view(kind)).all():
                raise ValueError(f"{name} has NaN or infinite values")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", fix=_FIX, path=path) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"is not a file of weights ({error})", fix=_FIX, path=path) from None


def write_description(folder: Path, description: Description) -> None:
    """Write runtime.json."""
    values = {"format": FORMAT, **description._asdict()}
    (folder / DESCRIPTION).write_text(f"{json.dumps(values, indent=2)}\n", encoding="utf-8")
