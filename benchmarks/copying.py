"""How well a network copies: the accuracy of first and later words, and where copying attends.

    python benchmarks/copying.py measure CORPUS RUN [RUN …]
    python benchmarks/copying.py train CORPUS --system settrans --output RUN --scale medium

To copy the second word of a phrase, a decoder looks for the word that follows the first one. A
recurrent encoder reads the words in order; a Transformer has to learn it from positions. `measure`
prints how often the right word is the most probable one, given the right words before it, and how
much of the copy attention is on the right position, where the second word of a phrase is due.

`train` takes the options of `one2set train`. It adds the embedding of the previous word, through a
linear layer, to the input of a Transformer's encoder. Nothing else changes, so the difference in F1
is the price of learning the order of words. `measure --previous-word` measures such a run.
"""

import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor, nn

from one2set.cli import main as one2set
from one2set.data.batch import Batch, shift_right
from one2set.data.corpus.corpus import Corpus, spread_indices
from one2set.data.specials import SPECIALS
from one2set.model import transformer
from one2set.model.folder import load_model
from one2set.model.layers import Linear
from one2set.training.objectives.set_loss import SetLoss
from one2set.training.run import Run
from one2set.training.systems import BuiltSystem, build

_BATCH = 16
_FIRST, _LATER = "first words", "later words"
_MASS, _BEST = "copy attention on second words", "most attended"
_COLUMNS = (_FIRST, _LATER, _MASS, _BEST)


@dataclass(frozen=True)
class _TwoWords:
    """An embedding of words that adds the previous word's."""

    embedding: nn.Embedding
    previous: Tensor  # (ΣS,) the previous word of each word; before the first one, padding
    project: Linear

    @property
    def embedding_dim(self) -> int:
        return self.embedding.embedding_dim

    def __call__(self, words: Tensor) -> Tensor:
        """(ΣS, D)"""
        both: Tensor = self.embedding(words) + self.project(self.embedding(self.previous))
        return both


class PreviousWordEncoder(transformer.Encoder):
    """The Transformer encoder with x_j + W x_{j−1} as input instead of x_j."""

    def __init__(
        self, *, width: int, heads: int, feed_forward: int, layers: int, dropout: float
    ) -> None:
        super().__init__(
            width=width, heads=heads, feed_forward=feed_forward, layers=layers, dropout=dropout
        )
        self.project_previous = Linear(width, width)

    def forward(self, batch: Batch, embedding: nn.Embedding) -> Tensor:
        """(ΣS, D)"""
        previous = nn.functional.pad(batch.source[:, :-1], (1, 0))
        both = _TwoWords(embedding, previous[batch.source_mask], self.project_previous)
        return super().forward(batch, both)  # type: ignore[arg-type]


def load(folder: Path, corpus: Corpus) -> BuiltSystem:
    """The system of a run, with its best weights."""
    run = Run.load(folder)
    model = load_model(folder / "model")
    built = build(run.metadata.system, run.config, model.vocabulary, train=corpus.split("train"))
    built.network.load_state_dict(model.network.state_dict())
    built.objective.eval()
    return built


@torch.no_grad()
def measure(built: BuiltSystem, batch: Batch) -> Iterator[tuple[str, float]]:
    """The name of a column and its value, for each word of the targets that counts in it."""
    memory = built.network.encode(batch)
    targets, mask = batch.targets, batch.target_mask  # (B, R, L)
    if isinstance(built.objective, SetLoss):
        order = built.objective.assign(batch, memory)[:, :, None]
        targets, mask = targets.take_along_dim(order, 1), mask.take_along_dim(order, 1)
    inputs = shift_right(targets)
    mixture = built.network.decode(memory, inputs, mask)
    document = mask.nonzero()[:, 0]  # (C,)
    words, before, before_that = targets[mask], inputs[mask], shift_right(inputs)[mask]
    correct = mixture.greedy().tokens == words
    is_word, follows_word, third = (x >= len(SPECIALS) for x in (words, before, before_that))
    for name, cells in ((_FIRST, is_word & ~follows_word), (_LATER, is_word & follows_word)):
        yield from ((name, float(x)) for x in correct[cells])
    own = batch.source_extended[document]  # (C, S)
    right = (own == words[:, None]) & (nn.functional.pad(own[:, :-1], (1, 0)) == before[:, None])
    second = is_word & follows_word & ~third & right.any(1)
    attention = mixture.attention[second]
    yield from ((_MASS, float(x)) for x in (attention * right[second]).sum(1))
    best = right[second].gather(1, attention.argmax(1, keepdim=True))
    yield from ((_BEST, float(x)) for x in best)


def print_table(corpus: Corpus, runs: Sequence[Path], num_documents: int) -> None:
    valid = corpus.split("valid")
    chosen = spread_indices(len(valid), num_documents)
    print("run", *_COLUMNS, "second words", sep="\t")
    for folder in runs:
        built = load(folder, corpus)
        values = defaultdict(list)
        for at in range(0, len(chosen), _BATCH):
            batch = built.collate([valid[index] for index in chosen[at : at + _BATCH]])
            for name, value in measure(built, batch):
                values[name].append(value)
        shown = (f"{fmean(values[name]):.3f}" for name in _COLUMNS)
        print(folder, *shown, len(values[_MASS]), sep="\t", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["train"]:
        transformer._ENCODERS["transformer"] = PreviousWordEncoder
        return one2set()
    parser = ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("command", choices=("measure", "train"))
    parser.add_argument("corpus", type=Path)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--previous-word", action="store_true", help="the runs are of `train`")
    options = parser.parse_args()
    if options.previous_word:
        transformer._ENCODERS["transformer"] = PreviousWordEncoder
    return print_table(Corpus(options.corpus), options.runs, options.documents)


if __name__ == "__main__":
    main()
