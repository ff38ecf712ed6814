"""Export: a trained SetTrans as a folder that `runtime` runs without torch.

runtime.json             what the graphs are, and what they were made of
encoder.onnx, step.onnx  the two graphs
weights.safetensors      their weights, shared
words.tsv                the vocabulary (or tokenizer.json)
calibration.json         where the model has one
"""

import json
import shutil
from pathlib import Path
from typing import Any

from one2set.atomic import complete_folder
from one2set.errors import ConfigError, missing_extra
from one2set.inference import calibration
from one2set.inference.engine import PHRASE_LENGTH, model_folder
from one2set.inference.runtime import Description, write_description
from one2set.model.folder import load_model
from one2set.model.settrans import SetTrans

WEIGHTS = "weights.safetensors"


def export_model(model: Path, output: Path, *, int8: bool = True, overwrite: bool = False) -> None:
    """Write the folder, complete or not at all."""
    try:
        from safetensors.numpy import save_file

        from one2set.model.graphs import LONGEST, encoder_graph, step_graph
    except ImportError:
        raise missing_extra("onnx", extra="train", purpose="exporting a model") from None

    folder = model_folder(model)
    network, vocabulary, config = load_model(folder)
    if not isinstance(network, SetTrans):
        raise ConfigError(f"{model} is no SetTrans; only that can be exported")
    weights: dict[str, Any] = {}
    graphs = [make(network, weights, int8=int8) for make in (encoder_graph, step_graph)]
    description = Description(
        vocabulary_size=network.vocabulary_size,
        num_codes=network.rows,
        steps=config.get("model", {}).get("phrase_length", PHRASE_LENGTH),
        longest=LONGEST,
        int8=int8,
        trained={"arguments": network.arguments, "config": config},
    )
    with complete_folder(output, overwrite=overwrite) as partial:
        save_file(weights, partial / WEIGHTS)
        places = _places(partial / WEIGHTS)
        for graph in graphs:
            graph.save(partial, WEIGHTS, places)
        vocabulary.save(partial)
        write_description(partial, description)
        if (folder / calibration.FILE).exists():
            shutil.copy(folder / calibration.FILE, partial)


def _places(path: Path) -> dict[str, tuple[int, int]]:
    """Offset and length of each tensor of a safetensors file: its header's length in eight bytes,
    the header in JSON, the data."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return {
        name: (8 + size + tensor["data_offsets"][0], -int.__sub__(*tensor["data_offsets"]))
        for name, tensor in header.items()
    }
