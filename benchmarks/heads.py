"""F1 of each head of a training run alone, on validation documents.

    python benchmarks/heads.py CORPUS RUN [RUN …] --documents 600

Uses the averaged weights of the last checkpoint of each run. The set is generated greedily. Spans
and known phrases are ranked by their scores, with a threshold that is tuned on one half of the
documents and measured on the other. Prints F1@5 and F1@M (protocol ye2021).
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file

from one2set.data.corpus.corpus import Corpus, spread_indices
from one2set.data.document import Document
from one2set.data.head_targets import HeadTargetBuilder, enumerate_spans
from one2set.data.vocabulary import Vocabulary, document_from_example
from one2set.evaluation.metrics import compute_metrics
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.rankings import Cutoff
from one2set.evaluation.scoring import Group, gold_from_document, score
from one2set.model.transformer import TransformerMemory
from one2set.prediction.engine import Engine
from one2set.training.checkpoint import Checkpoints
from one2set.training.run import Run
from one2set.training.systems import BuiltSystem, build

_BATCH = 8
_CUTOFFS: tuple[Cutoff, Cutoff] = ("5", "M")
Ranked = list[tuple[str, float]]  # phrases and their log-odds, best first


class F1(NamedTuple):
    at_5: float
    at_m: float


def load(folder: Path, corpus: Corpus, vocabulary: Vocabulary) -> tuple[BuiltSystem, int]:
    """Load the system of a run with averaged weights, and its number of examples seen."""
    run = Run.load(folder)
    built = build(run.metadata.system, run.config, vocabulary, train=corpus.split("train"))
    checkpoints = Checkpoints(run.checkpoints, run_fingerprint=run.fingerprint)
    last = checkpoints.last()
    if last is None:
        sys.exit(f"{folder} has no checkpoint yet")
    for file in ("weights.safetensors", "average.safetensors"):
        built.objective.load_state_dict(load_file(last / file), strict=False)
    built.objective.eval()
    return built, checkpoints.progress(last).documents


def compute_f1(documents: Sequence[Document], phrases: Sequence[Sequence[str]], group: Group) -> F1:
    scores = score([gold_from_document(document) for document in documents], phrases)
    return F1(*(compute_metrics(scores.groups[group], cutoff, YE2021).f1 for cutoff in _CUTOFFS))


def apply_threshold(ranked: Sequence[Ranked], threshold: float) -> list[list[str]]:
    return [[text for text, score in phrases if score >= threshold] for phrases in ranked]


def tune_and_measure(documents: Sequence[Document], ranked: Sequence[Ranked], group: Group) -> F1:
    """F1 with a threshold that is tuned on one half and measured on the other."""
    values = sorted({round(score, 1) for phrases in ranked for _, score in phrases})
    result = []
    for part in (0, 1):
        tune, test = (list(range(half, len(documents), 2)) for half in (part, 1 - part))

        def at(threshold: float, chosen: Sequence[int]) -> F1:
            shown = apply_threshold([ranked[index] for index in chosen], threshold)
            return compute_f1([documents[index] for index in chosen], shown, group)

        best = max(values[:: max(len(values) // 25, 1)], key=lambda value: sum(at(value, tune)))
        result.append(at(best, test))
    return F1(*(float(np.mean(pair)) for pair in zip(*result, strict=True)))


@torch.no_grad()
def rank(
    built: BuiltSystem, vocabulary: Vocabulary, corpus: Corpus, chosen: Sequence[int]
) -> tuple[list[Ranked], list[Ranked]]:
    """The spans and the absent known phrases of validation documents, best first."""
    assert built.heads is not None
    valid = corpus.split("valid")
    builder = HeadTargetBuilder(vocabulary, built.heads.phrase_list)
    names = [known.text for known in built.heads.phrase_list.phrases.values()]
    spans: list[Ranked] = []
    phrases: list[Ranked] = []
    for at in range(0, len(chosen), _BATCH):
        examples = [valid[index] for index in chosen[at : at + _BATCH]]
        batch = built.collate(examples)
        memory = built.network.encode(batch)
        assert isinstance(memory, TransformerMemory)
        assert batch.heads is not None
        scores = built.heads.spans(memory.states, batch.heads).tolist()
        logits = built.heads.phrases(memory.states, batch.lengths, batch.title_lengths)
        done = 0
        for example, of_phrases in zip(examples, logits, strict=True):
            words = builder.read(example)
            starts, ends = enumerate_spans(words)
            best: dict[str, float] = {}
            pairs = zip(starts.tolist(), ends.tolist(), strict=True)
            for (start, end), value in zip(pairs, scores[done : done + len(starts)], strict=True):
                text = " ".join(words.stems[start : end + 1])
                best[text] = max(best.get(text, -99.0), value)
            done += len(starts)
            spans.append(sorted(best.items(), key=lambda pair: -pair[1])[:20])
            top = of_phrases.topk(min(50, len(names)))
            pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
            phrases.append([(names[number], value) for number, value in pairs])
    return spans, phrases


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--documents", type=int, default=600)
    options = parser.parse_args()
    corpus = Corpus(options.corpus)
    vocabulary = corpus.vocabulary()
    chosen = spread_indices(len(corpus.split("valid")), options.documents)
    valid = corpus.split("valid")
    documents = [document_from_example(valid[index], vocabulary) for index in chosen]
    print("run, documents seen: F1@5 F1@M of set present, set absent, spans, known phrases absent")
    for folder in options.runs:
        built, seen = load(folder, corpus, vocabulary)
        engine = Engine(built.network, vocabulary, generation=built.generation)
        generated = [
            [slot.text for slot in prediction.phrases] for prediction in engine.predict(documents)
        ]
        spans, phrases = rank(built, vocabulary, corpus, chosen)
        result = [
            compute_f1(documents, generated, "present"),
            compute_f1(documents, generated, "absent"),
            tune_and_measure(documents, spans, "present"),
            tune_and_measure(documents, phrases, "absent"),
        ]
        print(folder.name, f"{seen:,}:", *(f"{a:.4f} {b:.4f}" for a, b in result), flush=True)


if __name__ == "__main__":
    main()
