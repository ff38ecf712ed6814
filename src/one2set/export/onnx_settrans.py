"""SetTrans as two ONNX graphs, for running it without torch.

`encoder`  encodes a document and returns the source keys and values of each decoder layer, and the
           first layer of the span scorer where a model has one (`model.heads`).
`step`     runs one step of the active rows: the most probable word other than ∅, and P(∅). The
           runtime chooses between them.

Rows are flat, as in `network.State`; only attention to the source puts them into a grid (B, n), row
by row of each document, so that keys and values are never copied.

Shapes: B documents, S source words, D width, H heads, R rows, n rows of a document at most, t words
that rows have written, V words that can be generated, W hidden width of the span scorer.
"""

import math
from collections.abc import Mapping

import numpy as np
from onnx import TensorProto
from torch import Tensor

from one2set.data.specials import NULL, UNK
from one2set.export.onnx_builder import MICROSOFT, Array, Graph
from one2set.model.bert import BertEncoder
from one2set.model.folder import POSITIONS, SPANS_PREFIX, TRANSPOSED
from one2set.model.layers import sinusoids
from one2set.model.settrans import SetTrans
from one2set.prediction.runtime import EDGES

MAX_SOURCE_LENGTH = 2048  # positions of the graphs
_FLOAT, _ID, _LENGTH = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
_FAR = -1e9  # added to the scores of padding


class _Sizes:
    """What shapes depend on."""

    def __init__(self, network: SetTrans) -> None:
        self.width = network.embedding.embedding_dim
        arguments = network.arguments
        self.heads = int(arguments["heads"])
        self.head = self.width // self.heads
        self.encoder_layers = int(arguments["encoder_layers"])
        self.decoder_layers = int(arguments["decoder_layers"])


def encoder_graph(
    network: SetTrans,
    weights: dict[str, Array],
    *,
    int8: bool,
    span_layer: Mapping[str, Tensor] | None = None,
) -> Graph:
    """source (1, S) known ids → of each decoder layer, keys (1, H, D/H, S) and values
    (1, H, S, D/H). With the first layer of a span scorer, also its output edges (1, S, 2W): for a
    token that begins a span, then for one that ends it."""
    state, sizes = _state(network), _Sizes(network)
    g = Graph("encoder", weights, int8=int8)
    source = g.input("source", _ID, 1, "S")
    read = _bert_encoder if isinstance(network.encoder, BertEncoder) else _encoder
    h = g.quantize_rows(read(g, source, state, sizes))
    for layer in range(sizes.decoder_layers):
        name = f"decoder.layers.{layer}.source_attention"
        key, value = (g.linear(h, f"{name}.{part}", state) for part in ("key", "value"))
        g.output(f"key-{layer}", _split_heads(g, key, sizes, (0, 2, 3, 1)), _FLOAT)
        g.output(f"value-{layer}", _split_heads(g, value, sizes, (0, 2, 1, 3)), _FLOAT)
    if span_layer is not None:
        own = {name: weight.detach().numpy() for name, weight in span_layer.items()}
        edges = [g.linear(h, f"{SPANS_PREFIX}{part}", own) for part in ("first", "last")]
        g.output(EDGES, g("Concat", *edges, axis=-1), _FLOAT)
    return g


def _encoder(g: Graph, source: str, state: Mapping[str, Array], sizes: _Sizes) -> str:
    """(1, S, D) states of our encoder."""
    words = _embed(g, source, state)
    count = g("Shape", source, start=1)
    positions = g.weight(POSITIONS, sinusoids(MAX_SOURCE_LENGTH + 1, sizes.width).numpy())
    one = g.constant([1], np.int64)
    positions = g(
        "Slice", positions, one, g("Add", count, one), g.constant([0], np.int64)
    )  # (S, D)
    x = g.linear(g.quantize_rows(g("Add", words, positions)), "encoder.input", state)
    for layer in range(sizes.encoder_layers):
        name = f"encoder.layers.{layer}"
        h = g.norm(x, f"{name}.attention_norm", state)
        x = g("Add", x, _self_attention(g, h, f"{name}.attention", state, sizes))
        x = _feed_forward(g, x, name, state)
    return g.norm(x, "encoder.norm", state)


def _bert_encoder(g: Graph, source: str, state: Mapping[str, Array], sizes: _Sizes) -> str:
    """(1, S, D) states of BERT's encoder."""
    words = g.lookup(source, "embedding.weight", state["embedding.weight"])
    end = g("Squeeze", g("Shape", source, start=1))
    position = g("Range", g.constant(0, np.int64), end, g.constant(1, np.int64))
    table = state["encoder.places.weight"]
    position = g("Min", position, g.constant(len(table) - 1, np.int64))
    positions = g.lookup(position, "encoder.places.weight", table)  # (S, D)
    x = g.norm(g("Add", words, positions), "encoder.norm", state)
    for layer in range(sizes.encoder_layers):
        name = f"encoder.layers.{layer}"
        seen = _self_attention(g, x, f"{name}.attention", state, sizes)
        x = g.norm(g("Add", x, seen), f"{name}.attention_norm", state)
        inner = g.gelu(g.linear(g.quantize_rows(x), f"{name}.inner", state))
        outer = g.linear(g.quantize_rows(inner, is_positive=True), f"{name}.outer", state)
        x = g.norm(g("Add", x, outer), f"{name}.feed_forward_norm", state)
    return x


def _self_attention(g: Graph, x: str, name: str, state: Mapping[str, Array], sizes: _Sizes) -> str:
    """(1, S, D) self-attention of the encoder."""
    h = g.quantize_rows(x)
    q, k, v = (g.linear(h, f"{name}.{part}", state) for part in ("query", "key", "value"))
    seen = g("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=sizes.heads)
    return g.linear(g.quantize_rows(seen), f"{name}.out", state)


def step_graph(network: SetTrans, weights: dict[str, Array], *, int8: bool) -> Graph:
    """tokens, code, document, cell (R,): the last words, known ids; the code, the document and the
    cell of the grid of each row. grid (B, n): the row in each cell, any where there is none. own
    (2·layers, R, H, t, D/H): keys and values of what was written before.

    → word (R,) the most probable extended id but ∅, its probability, null (R,) that of ∅, place
    (R,) the most attended source word, and what was written with this word.
    """
    state, sizes = _state(network), _Sizes(network)
    g = Graph("step", weights, int8=int8)
    tokens, code = g.input("tokens", _ID, "R"), g.input("code", _ID, "R")
    document, cell = g.input("document", _ID, "R"), g.input("cell", _ID, "R")
    grid = g.input("grid", _ID, "B", "n")
    lengths = g.input("lengths", _LENGTH, "B")
    extended, first = g.input("extended", _ID, "B", "S"), g.input("first", _ID, "B", "S")
    step = g.input("step", _ID)
    own = g.input("own", _FLOAT, 2 * sizes.decoder_layers, "R", sizes.heads, "t", sizes.head)
    new: list[str] = []
    positions = g.weight(POSITIONS, sinusoids(MAX_SOURCE_LENGTH + 1, sizes.width).numpy())
    x = g.linear(g.quantize_rows(_embed(g, tokens, state)), "decoder.input", state)
    x = g("Add", x, g("Gather", positions, step))
    if "codes.weight" in state:
        x = g("Add", x, g("Gather", g.weight("codes.weight", state["codes.weight"]), code))
    hidden = _padding_mask(g, lengths, extended)
    cells = g.constant([-1, sizes.width], np.int64)
    heads = g.constant([0, sizes.heads, 1, sizes.head], np.int64)
    weight = ""
    for layer in range(sizes.decoder_layers):
        name = f"decoder.layers.{layer}"
        h = g.quantize_rows(g.norm(x, f"{name}.self_norm", state))
        q, k, v = (
            g("Reshape", g.linear(h, f"{name}.self_attention.{part}", state), heads)
            for part in ("query", "key", "value")
        )  # (R, H, 1, D/H)
        for written in (k, v):
            old = g("Gather", own, g.constant(len(new), np.int64))
            new.append(g("Concat", old, written, axis=2))
        keys, values = new[-2:]
        # Sums of products: a matrix product for each row and head would be too small.
        scores = g("ReduceSum", g("Mul", keys, q), g.constant([3], np.int64), keepdims=0)
        scores = g("Mul", scores, g.constant(1 / math.sqrt(sizes.head)))
        share = g("Unsqueeze", g("Softmax", scores, axis=2), g.constant([3], np.int64))
        seen = g("ReduceSum", g("Mul", values, share), g.constant([2], np.int64), keepdims=0)
        seen = g("Reshape", seen, cells)
        x = g("Add", x, g.linear(g.quantize_rows(seen), f"{name}.self_attention.out", state))
        h = g.quantize_rows(g.norm(x, f"{name}.source_norm", state))
        q = g("Gather", g.linear(h, f"{name}.source_attention.query", state), grid)  # (B, n, D)
        key = g.input(f"key-{layer}", _FLOAT, "B", sizes.heads, sizes.head, "S")
        value = g.input(f"value-{layer}", _FLOAT, "B", sizes.heads, "S", sizes.head)
        weight = _attention_weights(g, _split_heads(g, q, sizes, (0, 2, 1, 3)), key, hidden, sizes)
        seen = g("Reshape", _join_heads(g, g("MatMul", weight, value), sizes), cells)  # (B·n, D)
        seen = g("Gather", seen, cell)
        x = g("Add", x, g.linear(g.quantize_rows(seen), f"{name}.source_attention.out", state))
        x = _feed_forward(g, x, name, state)
    # (B, H, n, S) → head 0, and from the grid to rows (R, S)
    copy = g("Gather", weight, g.constant(0, np.int64), axis=1)
    length = g("Shape", extended, start=1, end=2)
    copy = g("Reshape", copy, g("Concat", g.constant([-1], np.int64), length, axis=0))
    copy = g("Gather", copy, cell)
    x = g.norm(x, "decoder.norm", state)
    _choose(g, x, copy, g("Gather", extended, document), g("Gather", first, document), state)
    parts = [g("Unsqueeze", part, g.constant([0], np.int64)) for part in new]
    g.output("written", g("Concat", *parts, axis=0), _FLOAT)
    return g


def _choose(g: Graph, x: str, copy: str, own: str, first: str, state: Mapping[str, Array]) -> None:
    """The mixture of `model.pointer`, and its most probable word other than ∅.

    copy, own and first (R, S) are attention, extended ids and first places of each row's document.
    """
    features = g.linear(g.quantize_rows(x), "pointer.features", state)
    weight = g.weight(f"pointer.gate.weight{TRANSPOSED}", state["pointer.gate.weight"].T)
    bias = g.weight("pointer.gate.bias", state["pointer.gate.bias"])
    sigmoid = {"domain": MICROSOFT, "activation": "Sigmoid"}
    gate = g("FusedGemm", features, weight, bias, **sigmoid)  # (R, 1)
    generated = g(
        "Softmax", g.linear(g.quantize_rows(features), "pointer.vocabulary", state), axis=1
    )
    size = state["pointer.vocabulary.weight"].shape[0]

    # The vocabulary's best word but ∅ is one of its two best.
    values, words = g.several("TopK", generated, g.constant([2], np.int64), count=2, axis=1)
    (word, other), (value, next_value) = (
        [g("Gather", pair, g.constant([position], np.int64), axis=1) for position in (0, 1)]
        for pair in (words, values)
    )
    null = g.constant(NULL, np.int64)
    is_null = g("Equal", word, null)
    word = g("Where", is_null, other, word)
    value = g("Mul", gate, g("Where", is_null, next_value, value))

    # Copy probabilities of a document's own word are summed at its first occurrence.
    known = g("Less", own, g.constant(size, np.int64))
    own_words = g("Where", known, own, g.constant(UNK, np.int64))
    own_generated = g("GatherElements", generated, own_words, axis=1)
    own_generated = g("Where", known, own_generated, g.constant(0.0))
    zeros = g("Mul", copy, g.constant(0.0))
    copied = g("ScatterElements", zeros, first, copy, axis=1, reduction="add")
    rest = g("Sub", g.constant(1.0), gate)
    own_values = g("Add", g("Mul", gate, own_generated), g("Mul", rest, copied))
    own_place = g("ArgMax", own_values, axis=1)  # (R, 1)
    own_value = g("GatherElements", own_values, own_place, axis=1)
    own_word = g("GatherElements", own, own_place, axis=1)

    chosen = g("Where", g("Greater", own_value, value), own_word, word)
    one = g.constant([1], np.int64)
    g.output("word", g("Squeeze", chosen, one), _ID)
    g.output("probability", g("Squeeze", g("Max", own_value, value), one), _FLOAT)
    null_value = g("Mul", gate, g("Gather", generated, g.constant([NULL], np.int64), axis=1))
    g.output("null", g("Squeeze", null_value, one), _FLOAT)
    g.output("place", g("ArgMax", copy, axis=1, keepdims=0), _ID)


def _state(network: SetTrans) -> dict[str, Array]:
    return {name: weight.detach().cpu().numpy() for name, weight in network.state_dict().items()}


def _embed(g: Graph, ids: str, state: Mapping[str, Array]) -> str:
    table = state["embedding.weight"]
    words = g.lookup(ids, "embedding.weight", table)
    return g("Mul", words, g.constant(math.sqrt(table.shape[1])))


def _padding_mask(g: Graph, lengths: str, words: str) -> str:
    """(B, 1, 1, S) added to scores, to mask padding."""
    end = g("Squeeze", g("Shape", words, start=1, end=2))
    positions = g("Range", g.constant(0, np.int64), end, g.constant(1, np.int64))
    ends = g("Unsqueeze", g("Cast", lengths, to=_ID), g.constant([1, 2, 3], np.int64))
    return g("Where", g("Less", positions, ends), g.constant(0.0), g.constant(_FAR))


def _split_heads(g: Graph, x: str, sizes: _Sizes, order: tuple[int, ...]) -> str:
    """(B, rows, D) split into (B, rows, H, D/H) and transposed to an order."""
    shape = g.constant([0, 0, sizes.heads, sizes.head], np.int64)
    return g("Transpose", g("Reshape", x, shape), perm=order)


def _join_heads(g: Graph, x: str, sizes: _Sizes) -> str:
    """(B, H, rows, D/H) as (B, rows, D)."""
    shape = g.constant([0, 0, sizes.width], np.int64)
    return g("Reshape", g("Transpose", x, perm=(0, 2, 1, 3)), shape)


def _attention_weights(g: Graph, q: str, k: str, hidden: str, sizes: _Sizes) -> str:
    """(B, H, rows, S) weights."""
    products = g("FusedMatMul", q, k, domain=MICROSOFT, alpha=1 / math.sqrt(sizes.head))
    scores = g("Add", products, hidden)
    return g("Softmax", scores, axis=-1)


def _feed_forward(g: Graph, x: str, name: str, state: Mapping[str, Array]) -> str:
    h = g.quantize_rows(g.norm(x, f"{name}.feed_forward_norm", state))
    inner = g("Relu", g.linear(h, f"{name}.feed_forward.inner", state))
    h = g.quantize_rows(inner, is_positive=True)
    return g("Add", x, g.linear(h, f"{name}.feed_forward.outer", state))
