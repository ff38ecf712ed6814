"""Speed of generation, as ratios to a plain implementation and to the Transformer.

    python benchmarks/generation.py [--batches 8] [--singles 8] [--turns 3] [--threads 2]

1. Batches of 20 documents: ours against a plain implementation, which pads every document to the
   longest, generates all six tokens of all twenty codes, and computes each distribution over the
   extended vocabulary. It caches keys and values, as the authors' release does.
2. One document at a time: SetTrans against our own Transformer.

Networks have the paper's size and random weights, which would never stop. So after everything has
been computed, their output is replaced by one like that of trained networks in the paper: 7.8
phrases of 2 words, ∅ for all other codes, and a sequence of the same phrases. (--never-stop keeps
the output.) Documents are random, as long as those of KP20k, in batches that are not sorted by
length. The run fails if the implementations generate different tokens.

Implementations alternate, so that other work on the machine slows both. On a busy machine use one
thread: its times are CPU time. Several threads wait for one another and need idle cores.
"""

import math
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.model.padded import encode, extended_size, feed

from one2set.data.batch import Batch, collate
from one2set.data.example import Example
from one2set.data.specials import BOS, EOS, NULL, SPECIALS, UNK
from one2set.model.layers import Attention, sinusoids
from one2set.model.pointer import ChosenTokens, Mixture
from one2set.model.settrans import SetTrans
from one2set.model.transformer import DecoderLayer, Transformer, TransformerState
from one2set.prediction.greedy import greedy_sequence, greedy_set

VOCABULARY_SIZE, NUM_CODES, STEPS = 50_002, 20, 6
SIZES: dict[str, Any] = {
    "vocabulary_size": VOCABULARY_SIZE,
    "width": 512,
    "heads": 8,
    "feed_forward": 2048,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "dropout": 0.0,
}
NEVER = 1_000
# The output of trained networks on KP20k. Table 4: SetTrans 5.10 + 2.01 unique phrases and 8 %
# duplicates, Transformer 4.64 + 1.16 and 26 %; both are 7.8 phrases. The shares of 1, 2, … words:
PHRASES = 7.8
WORDS = [0.31, 0.45, 0.18, 0.045, 0.015]


@dataclass(frozen=True)
class ForcedMixture(Mixture):
    """A mixture whose choice is replaced by the `forced` token, if any."""

    forced: Tensor  # (R,), −1 to keep the choice

    def greedy(self, forbidden: Tensor | None = None) -> ChosenTokens:
        tokens, probability = super().greedy(forbidden)
        return ChosenTokens(tokens.where(self.forced < 0, self.forced), probability)


def force_tokens(mixture: Mixture, forced: Tensor) -> Mixture:
    return ForcedMixture(
        **{name: getattr(mixture, name) for name in Mixture.__annotations__}, forced=forced
    )


class StoppingSetTrans(SetTrans):
    """`lengths` (B, N) are the numbers of words of the codes; 0 for ∅."""

    lengths: Tensor

    def step(self, state: TransformerState, tokens: Tensor) -> Mixture:
        mixture = super().step(state, tokens)
        return force_tokens(
            mixture, tokens_at_step(self.lengths[state.documents, state.row], state.step - 1)
        )


class StoppingTransformer(Transformer):
    """`lengths` (B, 1) are the tokens of each sequence before `<eos>`."""

    lengths: Tensor

    def step(self, state: TransformerState, tokens: Tensor) -> Mixture:
        mixture = super().step(state, tokens)
        lengths = self.lengths[state.documents, 0]
        return force_tokens(mixture, torch.where(lengths == state.step - 1, EOS, -1))


def tokens_at_step(lengths: Tensor, step: int) -> Tensor:
    """The tokens that rows of these lengths must generate at a step."""
    said = torch.where(lengths == step, EOS, -1)
    return said.where(lengths > 0, NULL) if step == 0 else said


def plain_set(network: StoppingSetTrans, batch: Batch) -> Tensor:
    """(B, N, 6) tokens, by the plain implementation."""
    memory = encode(network, batch)  # (B, S, D)
    documents, width = len(batch.ids), network.embedding.embedding_dim
    layers = cast(list[DecoderLayer], network.decoder.layers)
    source = [heads(layer.source_attention, memory) for layer in layers]
    start = torch.empty(documents, SIZES["heads"], NUM_CODES, 0, width // SIZES["heads"])
    own = [[start, start] for _ in layers]
    seen = batch.source_mask[:, None, None]  # (B, 1, 1, S)
    tokens = torch.full((documents, NUM_CODES), BOS)
    written: list[Tensor] = []
    assert network.codes is not None
    for t in range(STEPS):
        known = tokens.where(tokens < VOCABULARY_SIZE, UNK)
        x: Tensor = network.decoder.input(network.embedding(known) * math.sqrt(width))
        x = x + sinusoids(STEPS, width)[t] + network.codes.weight
        # Earlier steps of all codes are side by side; a mask separates the codes.
        mask = torch.eye(NUM_CODES).repeat_interleave(t + 1, dim=1).bool()  # (N, N·t)
        for index, layer in enumerate(layers):
            h = layer.self_norm(x)
            new = heads(layer.self_attention, h)  # (B, H, N, D/H)
            own[index] = [
                torch.cat([old, y[:, :, :, None]], 3)
                for old, y in zip(own[index], new, strict=True)
            ]  # (B, H, N, t, D/H)
            k, v = (y.flatten(2, 3) for y in own[index])
            x = x + attend_to(layer.self_attention, h, k, v, mask)[0]
            h = layer.source_norm(x)
            out, weights = attend_to(layer.source_attention, h, *source[index], seen)
            x = x + out
            x = x + feed(layer.feed_forward, layer.feed_forward_norm(x))
        features = network.pointer.features(network.decoder.norm(x))
        gate = torch.sigmoid(network.pointer.gate(features))
        generated = gate * network.pointer.vocabulary(features).softmax(-1)
        unknown = extended_size(batch, network) - VOCABULARY_SIZE
        full = torch.cat([generated, torch.zeros(documents, NUM_CODES, unknown)], -1)
        places = batch.source_extended[:, None].expand_as(weights[:, 0])
        full = full.scatter_add(2, places, (1 - gate) * weights[:, 0])
        tokens = full.argmax(-1)
        said = tokens_at_step(network.lengths[:documents], t)
        tokens = tokens.where(said < 0, said)
        written.append(tokens)
    return torch.stack(written, 2)


def heads(layer: Attention, x: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values (B, H, rows, D/H)."""
    key, value = (split_heads(layer, y) for y in (layer.key(x), layer.value(x)))
    return key, value


def split_heads(layer: Attention, x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], layer.heads, -1).transpose(1, 2)


def attend_to(
    layer: Attention, x: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    """(B, rows, D) and the weights (B, H, rows, K)."""
    q = split_heads(layer, layer.query(x))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return layer.out((weights @ v).transpose(1, 2).flatten(2)), weights


def make_documents(generator: np.random.Generator, count: int) -> list[Example]:
    """Sources as long as those of KP20k: 180 words on average, 367 in the longest of twenty."""
    mean, deviation = 180, 80
    sigma = math.sqrt(math.log(1 + (deviation / mean) ** 2))
    lengths = generator.lognormal(math.log(mean) - sigma**2 / 2, sigma, count).astype(int)
    words = range(len(SPECIALS), VOCABULARY_SIZE + 2_000)
    return [
        Example(str(n), generator.integers(words.start, words.stop, length).astype(np.int32), 0)
        for n, length in enumerate(np.clip(lengths, 30, 800))
    ]


def phrase_lengths(generator: np.random.Generator, documents: int) -> Tensor:
    """(B, N) the number of words of each code, 0 for ∅."""
    said = generator.random((documents, NUM_CODES)) < PHRASES / NUM_CODES
    words = generator.choice([1, 2, 3, 4, 5], p=WORDS, size=said.shape)
    return torch.from_numpy(np.where(said, words, 0))


def arithmetic(lengths: Sequence[int], tokens: float) -> float:
    """The multiplications and additions of documents with `tokens` tokens each."""
    width, inner, layers = SIZES["width"], SIZES["feed_forward"], SIZES["encoder_layers"]
    total = 0.0
    for words in lengths:
        layer = 4 * width**2 + 2 * width * inner
        encoder = words * layers * (layer + 2 * width**2 + 2 * words * width)
        token = layers * (layer + 2 * width**2 + 2 * words * width)
        total += 2 * (encoder + tokens * (token + width**2 + width * VOCABULARY_SIZE))
    return total


def peak() -> float:
    """Operations per second of a large matrix product."""
    a = torch.randn(2048, 2048)
    return 2 * 2048**3 / min(seconds(lambda: a @ a) for _ in range(5))


def seconds(action: Callable[[], object]) -> float:
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    start = clock()
    action()
    return clock() - start


def take_turns(ours: Callable[[], object], other: Callable[[], object], times: int) -> list[float]:
    """The median seconds of both, over `times` turns."""
    turns = [(seconds(ours), seconds(other)) for _ in range(times)]
    return [median(side) for side in zip(*turns, strict=True)]


def compare_batches(network: StoppingSetTrans, options: Namespace) -> None:
    generator = np.random.default_rng(1)
    most = peak()
    sums = [0.0, 0.0]
    for number in range(1, options.batches + 1):
        documents = make_documents(generator, 20)
        batch = collate(documents, vocabulary_size=VOCABULARY_SIZE)
        network.lengths = phrase_lengths(generator, 20)
        if options.never_stop:
            network.lengths.fill_(NEVER)
        decoded = greedy_set(network, network.encode(batch), steps=STEPS)
        cells = torch.arange(STEPS) < decoded.length[..., None]
        if not decoded.tokens.equal(plain_set(network, batch) * cells):
            raise SystemExit("error: the implementations generate different tokens")
        both = take_turns(
            lambda batch=batch: greedy_set(network, network.encode(batch), steps=STEPS),  # type: ignore[misc]
            lambda batch=batch: plain_set(network, batch),  # type: ignore[misc]
            options.turns,
        )
        sums = [x + y for x, y in zip(sums, both, strict=True)]
        tokens = decoded.length.sum().item() / 20
        work = arithmetic(batch.lengths, tokens)
        print(
            f"batch {number}: {sum(batch.lengths) / 20:.0f} words, longest {max(batch.lengths)}, "
            f"{tokens:.1f} tokens, {work / 20e9:.1f} GFLOP a document; plain {20 / both[1]:.2f} "
            f"documents/s, ours {20 / both[0]:.2f}: {work / both[0] / 1e9:.0f} GFLOP/s, "
            f"{work / both[0] / most:.0%} of the peak"
        )
    print(f"batches of 20: {sums[1] / sums[0]:.2f} times as fast as the plain implementation\n")


def compare_singles(
    settrans: StoppingSetTrans, transformer: StoppingTransformer, options: Namespace
) -> None:
    generator = np.random.default_rng(2)
    sums = [0.0, 0.0]
    for example in make_documents(generator, options.singles):
        batch = collate([example], vocabulary_size=VOCABULARY_SIZE)
        settrans.lengths = phrase_lengths(generator, 1)
        # The same phrases, with separators between them.
        words = settrans.lengths[settrans.lengths > 0]
        transformer.lengths = (words.sum() + len(words) - 1).clamp(min=0).view(1, 1)
        both = take_turns(
            lambda batch=batch: greedy_set(settrans, settrans.encode(batch), steps=STEPS),  # type: ignore[misc]
            lambda batch=batch: greedy_sequence(transformer, transformer.encode(batch), steps=60),  # type: ignore[misc]
            options.turns,
        )
        sums = [x + y for x, y in zip(sums, both, strict=True)]
        print(
            f"{len(example.source)} words: SetTrans {(settrans.lengths > 0).sum()} phrases in "
            f"{both[0] * 1e3:.0f} ms, Transformer {transformer.lengths.item() + 1:.0f} tokens in "
            f"{both[1] * 1e3:.0f} ms"
        )
    print(f"one document at a time: SetTrans {sums[1] / sums[0]:.2f} times as fast as Transformer")


@torch.no_grad()
def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batches", type=int, default=8, help="batches of 20 documents")
    parser.add_argument("--singles", type=int, default=8, help="documents one at a time")
    parser.add_argument("--turns", type=int, default=3, help="turns; the median counts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--never-stop", action="store_true", help="keep the output of the random weights"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    settrans = StoppingSetTrans(num_codes=NUM_CODES, **SIZES)
    transformer = StoppingTransformer(**SIZES)
    if options.batches:
        compare_batches(settrans.eval(), options)
    if options.singles:
        compare_singles(settrans.eval(), transformer.eval(), options)


if __name__ == "__main__":
    main()
