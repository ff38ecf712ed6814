"""The engine: predicts documents with any torch network.

Batching changes the speed, never the predictions: documents do not influence one another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from one2set.data.batch import collate
from one2set.data.example import Example
from one2set.data.vocabulary import Vocabulary
from one2set.errors import ConfigError
from one2set.model.device import choose_device
from one2set.model.folder import load_model
from one2set.model.network import Memory, Network
from one2set.model.paths import resolve_model_folder
from one2set.model.transformer import TransformerMemory
from one2set.prediction.prediction import NullBias, Slot
from one2set.prediction.predictor import Generated, Predictor, Project
from one2set.prediction.search import Generation, Search, generate
from one2set.prediction.spelling import DecodedRow, SlotBuilder


class Engine(Predictor):
    """Runs a network with its vocabulary."""

    def __init__(
        self,
        network: Network,
        vocabulary: Vocabulary,
        *,
        generation: Generation | None = None,
        search: Search | None = None,
        batch_tokens: int = 4096,
        max_source_length: int = 4096,
        device: torch.device | str = "cpu",
    ) -> None:
        """`search` replaces the search of `generation`."""
        super().__init__(vocabulary, batch_tokens=batch_tokens, max_source_length=max_source_length)
        self.network = network.to(device).eval()
        how = generation or Generation.from_model(network, {})
        self.generation = how if search is None else replace(how, search=search)
        self.device = torch.device(device)
        # The phrases of a single row are already in order.
        self.order = "score" if network.rows > 1 else "generated"

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        search: Search | None = None,
        batch_tokens: int = 4096,
        max_source_length: int = 4096,
        device: str = "auto",
        verify: bool = True,
    ) -> "Engine":
        """Load a model folder, or the best model of a run folder. `verify` checks its manifest."""
        folder = resolve_model_folder(Path(folder))
        network, vocabulary, config = load_model(folder, verify=verify)
        return cls(
            network,
            vocabulary,
            generation=Generation.from_model(network, config),
            search=search,
            batch_tokens=batch_tokens,
            max_source_length=max_source_length,
            device=choose_device(device),
        )

    def change_search(self, changes: Mapping[str, Any]) -> None:
        """Change some settings of `Search`, and keep the others."""
        search = replace(self.generation.search, **changes)
        if changes.get("keep") and not search.pool:
            raise ConfigError(f"keep is {search.keep}, which limits a pool; add --pool")
        self.generation = replace(self.generation, search=search)

    @torch.no_grad()
    def _generate(
        self, examples: Sequence[Example], null_bias: NullBias, project: Project | None
    ) -> Iterator[Generated]:
        batch = collate(examples, vocabulary_size=self.network.vocabulary_size)
        memory = self.network.encode(batch.to(self.device))
        states = _states(memory)
        generated = generate(self.network, memory, self.generation, null_bias=null_bias)
        length, tokens, probability, position, null = (x.tolist() for x in generated)
        for b, example in enumerate(examples):
            builder = SlotBuilder(self.vocabulary, example, batch.oov[b])
            slots: list[Slot] = []
            for r, lengths in enumerate(length[b]):
                for w, end in enumerate(lengths):
                    if end == 0:
                        continue  # there is no such hypothesis
                    row = DecodedRow(tokens[b][r][w], probability[b][r][w], position[b][r][w])[:end]
                    match self.generation.rows:
                        case "phrase":
                            slots.append(builder.slot(r, row, null=null[b][r]))
                        case "sequence":
                            slots += builder.slots(row)
                        case "nested":
                            slots += builder.nested_slots(row)
            projected = None if project is None else project(next(states))
            yield Generated(tuple(slots), projected)


def _states(memory: Memory) -> Iterator[NDArray[np.float32]]:
    """(S, D) of each document: the values that the decoder's last layer attends to."""
    assert isinstance(memory, TransformerMemory), "only a Transformer has states to project"
    for values in torch.split(memory.keys_values[-1][1], list(memory.lengths)):
        yield values.float().cpu().numpy()
