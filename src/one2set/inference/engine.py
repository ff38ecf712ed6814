"""The engine: documents in, predictions out, with any network in torch.

A batch never changes what is generated, only how fast: nothing of one document reaches another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from one2set.data.batch import collate
from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.vocabulary import Vocabulary
from one2set.distributed import choose_device
from one2set.errors import ConfigError
from one2set.inference.calibration import Calibration
from one2set.inference.prediction import Order, Prediction, Slot
from one2set.inference.spelling import Row, Speller
from one2set.inference.stream import Stream
from one2set.model.beam import beam_sequence, beam_set
from one2set.model.decoding import greedy_sequence, greedy_set
from one2set.model.folder import load_model
from one2set.model.memory import Memory
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.training.run import MODEL

PHRASE_LENGTH, SEQUENCE_LENGTH = 6, 60  # tokens that a code or a sequence may write, as the paper


@dataclass(frozen=True, slots=True)
class Search:
    """How the most probable words are looked for."""

    beam: int = 1  # hypotheses for each row; 1 is greedy
    length_penalty: float = 1.0  # hypotheses are ranked by log P / length^penalty
    pool: bool = False  # keep all hypotheses, also of codes that say ∅: candidates to choose from

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ConfigError(f"beam is {self.beam}; expected 1 (greedy) or more")
        if not self.length_penalty >= 0:
            raise ConfigError(
                f"length penalty is {self.length_penalty}; expected 0 (none) or more, usually to 1"
            )


def model_folder(folder: Path) -> Path:
    """The folder itself, or that of the best model where it is a run's."""
    return folder / MODEL if (folder / MODEL).is_dir() else folder


class Engine:
    """A network, its vocabulary, and how to run it."""

    def __init__(
        self,
        network: Transformer,
        vocabulary: Vocabulary,
        *,
        calibration: Calibration | None = None,
        steps: int | None = None,
        search: Search = Search(),  # noqa: B008  (frozen)
        batch_tokens: int = 4096,
        max_source_length: int = 4096,
        device: torch.device | str = "cpu",
    ) -> None:
        """`batch_tokens` and `max_source_length` are those of the `Stream`."""
        self.network = network.to(device).eval()
        self.vocabulary = vocabulary
        self.is_set = isinstance(network, SetTrans)
        self.steps = steps or (PHRASE_LENGTH if self.is_set else SEQUENCE_LENGTH)
        self.search = search
        self._stream = Stream(vocabulary, batch_tokens, max_source_length)
        self.device = torch.device(device)
        self.calibration = calibration

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        search: Search = Search(),  # noqa: B008  (frozen)
        batch_tokens: int = 4096,
        max_source_length: int = 4096,
        device: str = "auto",
    ) -> "Engine":
        """The engine of a model's folder, or of a run's."""
        folder = model_folder(folder)
        network, vocabulary, config = load_model(folder)
        length = "phrase_length" if isinstance(network, SetTrans) else "sequence_length"
        return cls(
            network,
            vocabulary,
            calibration=Calibration.load(folder),
            steps=config.get("model", {}).get(length),
            search=search,
            batch_tokens=batch_tokens,
            max_source_length=max_source_length,
            device=choose_device(device),
        )

    def predict(self, documents: Iterable[Document]) -> Iterator[Prediction]:
        """The prediction of each document, in their order."""
        order: Order = "score" if self.is_set else "written"
        return self._stream.predict(documents, self._generate, order=order)

    @torch.no_grad()
    def _generate(self, examples: Sequence[Example]) -> Iterator[tuple[Slot, ...]]:
        batch = collate(examples, vocabulary_size=self.network.vocabulary_size)
        memory = self.network.encode(batch.to(self.device))
        length, tokens, probability, place, null = (x.tolist() for x in self._decode(memory))
        for b, example in enumerate(examples):
            speller = Speller(self.vocabulary, example, batch.oov[b])
            slots: list[Slot] = []
            for r, lengths in enumerate(length[b]):
                for w, end in enumerate(lengths):
                    if end == 0:
                        continue  # there is no such hypothesis
                    row = Row(tokens[b][r][w], probability[b][r][w], place[b][r][w])[:end]
                    if self.is_set:
                        slots.append(speller.slot(r, row, null=null[b][r]))
                    else:
                        slots += speller.slots(row)
            yield tuple(slots)

    def _decode(self, memory: Memory) -> tuple[Tensor, ...]:
        """Length (B, R, W); tokens, their probabilities and places (B, R, W, T); null (B, R)."""
        search = self.search
        if search.beam == 1 and not search.pool:
            greedy = greedy_set if self.is_set else greedy_sequence
            rows = greedy(self.network, memory, steps=self.steps)
        else:
            beams = (beam_set if self.is_set else beam_sequence)(
                self.network,
                memory,
                steps=self.steps,
                beam=search.beam,
                length_penalty=search.length_penalty,
                pool=search.pool,
            )
            if search.pool:
                return beams[:5]
            rows = beams.best()
        return (*(x.unsqueeze(2) for x in rows[:4]), rows.null)
