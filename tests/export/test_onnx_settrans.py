"""The graphs of SetTrans equal the network."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.numpy import save_file

from one2set.data.batch import Batch, collate
from one2set.data.specials import BOS, NULL, UNK
from one2set.export.export import weight_offsets
from one2set.export.onnx_builder import Array
from one2set.export.onnx_settrans import encoder_graph, step_graph
from one2set.model.folder import SPANS_PREFIX
from one2set.model.heads import SpanScorer
from one2set.model.settrans import SetTrans
from tests.model.tiny import CODES, V, examples, settrans

HEADS = 2


@pytest.fixture(scope="module", params=["transformer", "bert"])
def network(request: pytest.FixtureRequest) -> SetTrans:
    return settrans(encoder=request.param).eval()


@pytest.fixture(scope="module")
def batch() -> Batch:
    return collate(examples(4), vocabulary_size=V)


@pytest.fixture(scope="module")
def sessions(
    network: SetTrans, tmp_path_factory: pytest.TempPathFactory
) -> list[onnxruntime.InferenceSession]:
    folder = tmp_path_factory.mktemp("graphs")
    weights: dict[str, Array] = {}
    graphs = [make(network, weights, int8=False) for make in (encoder_graph, step_graph)]
    save_file(weights, folder / "w.safetensors")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    result = []
    for graph in graphs:
        graph.save(folder, "w.safetensors", weight_offsets(folder / "w.safetensors"))
        result.append(onnxruntime.InferenceSession(folder / f"{graph.name}.onnx", options))
    return result


def encoded(session: onnxruntime.InferenceSession, batch: Batch) -> dict[str, Array]:
    """The outputs for all documents, padded with zeros. The graph takes one at a time."""
    padded: dict[str, Array] = {}
    for b, length in enumerate(batch.lengths):
        outputs = session.run(None, {"source": batch.source[b : b + 1, :length].numpy()})
        for value, output in zip(session.get_outputs(), outputs, strict=True):
            axis = {"k": 3, "v": 2, "e": 1}[value.name[0]]  # of words: keys, values and edges
            shape = [len(batch.lengths), *output.shape[1:]]
            shape[axis] = max(batch.lengths)
            whole = padded.setdefault(value.name, np.zeros(shape, np.float32))
            whole[b][tuple(slice(size) for size in output.shape[1:])] = output[0]
    return padded


@torch.no_grad()
def test_the_encoder_graph_equals_the_network(
    network: SetTrans, batch: Batch, sessions: list[onnxruntime.InferenceSession]
) -> None:
    result = encoded(sessions[0], batch)
    memory = network.encode(batch)
    for layer, (keys, values) in enumerate(memory.keys_values):
        by_document = (torch.split(x, list(batch.lengths)) for x in (keys, values))
        for b, (key, value) in enumerate(zip(*by_document, strict=True)):
            end = batch.lengths[b]
            # (S, D) → (H, D/H, S) and (H, S, D/H)
            key, value = (x.view(end, HEADS, -1).transpose(0, 1) for x in (key, value))
            np.testing.assert_allclose(
                result[f"key-{layer}"][b, :, :, :end], key.transpose(1, 2), atol=2e-5
            )
            np.testing.assert_allclose(result[f"value-{layer}"][b, :, :end], value, atol=2e-5)


@torch.no_grad()
def test_a_step_chooses_from_the_whole_distribution(
    network: SetTrans, batch: Batch, sessions: list[onnxruntime.InferenceSession]
) -> None:
    """Three steps; in the last only some rows are left, and of one document none."""
    fixed = encoded(sessions[0], batch) | {
        "lengths": np.array(batch.lengths, np.int32),
        "extended": batch.source_extended.numpy(),
        "first": batch.source_first.numpy(),
    }
    memory = network.encode(batch)
    state = network.start(memory, steps=3)
    documents = np.repeat(np.arange(4), CODES)
    code = np.tile(np.arange(CODES), 4)
    own = np.zeros((6, 4 * CODES, HEADS, 0, 8), np.float32)
    generator = np.random.default_rng(2)
    size = V + max(map(len, batch.oov))
    for step in range(3):
        if step == 2:
            kept = np.flatnonzero((generator.random(len(code)) < 0.5) & (documents != 1))
            state = state.select(torch.from_numpy(kept))
            documents, code, own = documents[kept], code[kept], own[:, kept]
        tokens = generator.integers(7, V + 3, len(code)) if step else np.full(len(code), BOS)
        mixture = network.step(state, torch.from_numpy(tokens))
        # The rows of a document are the first cells of its line of the grid, in any order.
        cell = documents * CODES + code
        grid = np.zeros((4, CODES), np.int64)
        grid.flat[cell] = np.arange(len(code))
        word, probability, null, place, own = sessions[1].run(
            None,
            {name: value for name, value in fixed.items() if name != "source"}
            | {"tokens": np.where(tokens < V, tokens, UNK), "code": code, "step": np.array(step)}
            | {"document": documents, "cell": cell, "grid": grid, "own": own},
        )
        full = mixture.distribution(size).numpy()
        np.testing.assert_allclose(null, full[:, NULL], atol=1e-6)
        full[:, NULL] = -1
        np.testing.assert_array_equal(word, full.argmax(1))
        np.testing.assert_allclose(probability, full.max(1), atol=1e-5)
        np.testing.assert_array_equal(place, mixture.attention.argmax(1))


@torch.no_grad()
def test_the_encoder_graph_has_the_first_layer_of_the_span_scorer(
    network: SetTrans, batch: Batch, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    spans = SpanScorer(width=network.embedding.embedding_dim, hidden=6).eval()
    weights: dict[str, Array] = {}
    layer = {f"{SPANS_PREFIX}{name}": weight for name, weight in spans.state_dict().items()}
    graph = encoder_graph(network, weights, int8=False, span_layer=layer)
    save_file(weights, tmp_path / "w.safetensors")
    graph.save(tmp_path, "w.safetensors", weight_offsets(tmp_path / "w.safetensors"))
    actual = encoded(onnxruntime.InferenceSession(tmp_path / "encoder.onnx"), batch)["edges"]
    states = network.encode(batch).states
    expected = torch.split(
        torch.cat([spans.first(states), spans.last(states)], 1), [*batch.lengths]
    )
    for edges, document in zip(actual, expected, strict=True):
        np.testing.assert_allclose(edges[: len(document)], document, rtol=1e-4, atol=1e-5)
