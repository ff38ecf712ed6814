"""Export: writes a trained SetTrans as a folder that `runtime` runs without torch.

runtime.json             the sizes of the graphs
encoder.onnx, step.onnx  the two graphs
weights.safetensors      their weights
config.json, words.tsv   as in any model folder (`model/folder`), which this still is
and all other files of the model, which belong to what is built on the network (`keyphrases`)
"""

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from one2set.data.reading.readers import read
from one2set.data.vocabulary import Vocabulary, WordVocabulary
from one2set.errors import ConfigError, missing_extra
from one2set.model import heads as torch_heads
from one2set.model.folder import WEIGHTS, load_model, load_span_layer, save_config
from one2set.model.manifest import MANIFEST, write_model_folder
from one2set.model.paths import resolve_model_folder
from one2set.model.settrans import SetTrans
from one2set.prediction.predictor import Predictor
from one2set.prediction.runtime import Description, write_description
from one2set.prediction.search import Generation


def export_model(
    model: Path,
    output: Path,
    *,
    int8: bool = True,
    overwrite: bool = False,
    verify: bool = True,
) -> None:
    """Write the folder, complete or not at all, with all other files of the model.

    `int8` quantises the weights: a quarter of the size, twice as fast, nearly the same
    keyphrases.
    """
    try:
        from safetensors.numpy import save_file

        from one2set.export.onnx_settrans import MAX_SOURCE_LENGTH, encoder_graph, step_graph
    except ImportError:
        raise missing_extra("onnx", extra="train", purpose="Exporting a model") from None

    folder = resolve_model_folder(model)
    network, vocabulary, config = load_model(folder, verify=verify)
    if not isinstance(network, SetTrans):
        raise ConfigError(f"{model} is a {type(network).__name__}; only a SetTrans can be exported")
    span_layer = load_span_layer(folder)
    weights: dict[str, Any] = {}
    graphs = [
        encoder_graph(network, weights, int8=int8, span_layer=span_layer),
        step_graph(network, weights, int8=int8),
    ]
    description = Description(
        vocabulary_size=network.vocabulary_size,
        num_codes=network.rows,
        steps=Generation.from_model(network, config).steps,
        longest=MAX_SOURCE_LENGTH,
        int8=int8,
    )
    with write_model_folder(output, overwrite=overwrite) as partial:
        save_config(partial, network, config)
        save_file(weights, partial / WEIGHTS)
        offsets = weight_offsets(partial / WEIGHTS)
        for graph in graphs:
            graph.save(partial, WEIGHTS, offsets)
        _trim_vocabulary(vocabulary).save(partial)
        write_description(partial, description)
        written = {MANIFEST, *(path.name for path in partial.iterdir())}
        for file in folder.iterdir():
            if file.is_file() and file.name not in {*written, torch_heads.FILE}:
                shutil.copy(file, partial)


def _trim_vocabulary(vocabulary: Vocabulary) -> Vocabulary:
    """A vocabulary without the corpus dictionary beyond it: such words can only be copied."""
    if not isinstance(vocabulary, WordVocabulary):
        return vocabulary
    size = vocabulary.size
    return WordVocabulary(vocabulary.words[:size], size=size, counts=vocabulary.counts[:size])


def count_shared_phrases(model: Predictor, other: Predictor) -> tuple[int, int]:
    """The number of phrases that both models generate for the bundled sample, and the number that
    either does."""
    with as_file(files("one2set.data").joinpath("sample", "documents.jsonl")) as path:
        documents = list(read(path))
    shared = total = 0
    for first, second in zip(model.predict(documents), other.predict(documents), strict=True):
        phrases, others = ({(s.code, s.text) for s in p.phrases} for p in (first, second))
        shared, total = shared + len(phrases & others), total + len(phrases | others)
    return shared, total


def weight_offsets(path: Path) -> dict[str, tuple[int, int]]:
    """Offset and length of each tensor in a safetensors file, which is the length of its header in
    eight bytes, the header in JSON, and the data."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    bounds = {name: tensor["data_offsets"] for name, tensor in header.items()}
    return {name: (8 + size + start, end - start) for name, (start, end) in bounds.items()}
