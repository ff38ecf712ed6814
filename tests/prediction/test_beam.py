"""Beam search equals an enumeration of all sequences."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, collate, shift_right
from one2set.data.example import Example
from one2set.data.specials import EOS, NULL
from one2set.model.pointer import Mixture
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer, TransformerMemory, TransformerState
from one2set.prediction.beam import Beams, beam_search
from one2set.prediction.greedy import (
    PHRASE_STOP_IDS,
    SEQUENCE_STOP_IDS,
    DecodedRows,
    greedy_sequence,
    greedy_set,
)

beam_set = partial(beam_search, stop_ids=PHRASE_STOP_IDS)
beam_sequence = partial(beam_search, stop_ids=SEQUENCE_STOP_IDS)

V, CODES = 10, 4
SIZES = {
    "vocabulary_size": V,
    "width": 8,
    "heads": 2,
    "feed_forward": 16,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "dropout": 0.0,
}


def spread(network: Transformer) -> Transformer:
    """Larger output weights, so that probabilities differ as in a trained network."""
    with torch.no_grad():
        network.pointer.vocabulary.weight.mul_(4.0)
        network.decoder.input.weight.mul_(2.0)
    return network.eval()


@pytest.fixture(params=range(3))
def settrans(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(request.param)
    network = SetTrans(**SIZES, num_codes=CODES)  # type: ignore[arg-type]
    assert network.codes is not None
    torch.nn.init.normal_(network.codes.weight, std=2.0)  # so that codes differ
    return spread(network)


@pytest.fixture(params=range(3))
def transformer(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(request.param)
    return spread(Transformer(**SIZES))  # type: ignore[arg-type]


@pytest.fixture
def batch() -> Batch:
    """Two documents of different length, with words that can only be copied, one of them twice."""
    sources = [[7, 11, 8, 11, 12, 3], [9, 13]]
    examples = [Example(f"d{i}", np.array(s, np.int32), 0) for i, s in enumerate(sources)]
    return collate(examples, vocabulary_size=V)


def enumerate_all(network: Transformer, memory: TransformerMemory, ends: tuple[int, ...]) -> Tensor:
    """(B, R, X, X, X) the probability of every string of three words over the extended vocabulary,
    by teacher forcing. What has ended goes on with id 0."""
    documents, size = len(memory.lengths), V + 3
    table = torch.zeros(documents, network.rows, size, size, size)
    for length in range(3):
        for start in itertools.product(range(size), repeat=length):
            if set(start) & set(ends):
                continue
            tokens = torch.tensor([*start, 0]).expand(documents, network.rows, length + 1)
            mixture = network.decode(memory, shift_right(tokens), torch.ones_like(tokens) > 0)
            full = mixture.distribution(size).view(*tokens.shape, size)
            so_far = full.gather(3, tokens[..., None]).squeeze(3)[:, :, :length].prod(2)
            following = so_far[:, :, None] * full[:, :, length]  # (B, R, X)
            for word in range(size) if length == 2 else ends:
                string = (*start, word, *[0] * (2 - length))
                table[:, :, string[0], string[1], string[2]] += following[:, :, word]
    return table


def ranked(table: Tensor, penalty: float, ends: tuple[int, ...]) -> list[tuple[float, list[int]]]:
    """The strings of one row with their scores, best first."""
    result = []
    for string in (tuple(s) for s in table.nonzero().tolist()):
        length = next((i + 1 for i, word in enumerate(string) if word in ends), len(string))
        result.append((table[string].log().item() / length**penalty, list(string)))
    return sorted(result, reverse=True)


def check_scores(beams: Beams, penalty: float) -> None:
    """A score follows from the probabilities of its tokens."""
    real = beams.probability > 0
    logs = beams.probability.where(real, 1.0).log().sum(3)
    assert beams.length.equal(real.sum(3))
    expected = logs / beams.length.clamp(min=1) ** penalty
    there = beams.score > -torch.inf
    torch.testing.assert_close(beams.score[there], expected[there])


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_a_wide_beam_finds_the_most_probable_phrases(
    settrans: Transformer, batch: Batch, penalty: float
) -> None:
    ends = (EOS, NULL)
    wide = {"steps": 3, "beam": 200, "length_penalty": penalty}  # all strings of two words fit
    with torch.no_grad():
        memory = settrans.encode(batch)
        table = enumerate_all(settrans, memory, ends)
        torch.testing.assert_close(table.sum((2, 3, 4)), torch.ones(2, CODES))
        pool = beam_set(settrans, memory, **wide, pool=True)  # type: ignore[arg-type]
        best = beam_set(settrans, memory, **wide)  # type: ignore[arg-type]
    check_scores(pool, penalty)
    check_scores(best, penalty)
    first = table.sum((3, 4))  # (B, R, X)
    torch.testing.assert_close(best.null, first[:, :, NULL])
    for b, r in itertools.product(range(2), range(CODES)):
        phrases = [pair for pair in ranked(table[b, r], penalty, ends) if pair[1][0] != NULL]
        for w, (score, string) in enumerate(phrases[:40]):
            assert pool.score[b, r, w].item() == pytest.approx(score, abs=1e-4)
            assert w or pool.tokens[b, r, w].tolist() == string
        says_null = first[b, r].argmax() == NULL
        assert best.tokens[b, r, 0].tolist() == ([NULL, 0, 0] if says_null else phrases[0][1])


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_a_wide_beam_finds_the_best_sequence(
    transformer: Transformer, batch: Batch, penalty: float
) -> None:
    with torch.no_grad():
        memory = transformer.encode(batch)
        table = enumerate_all(transformer, memory, (EOS,))
        beams = beam_sequence(transformer, memory, steps=3, beam=200, length_penalty=penalty)
    check_scores(beams, penalty)
    for b in range(2):
        score, string = ranked(table[b, 0], penalty, (EOS,))[0]
        assert beams.tokens[b, 0, 0].tolist() == string
        assert beams.score[b, 0, 0].item() == pytest.approx(score, abs=1e-5)


def test_a_beam_of_one_is_greedy(
    settrans: Transformer, transformer: Transformer, batch: Batch
) -> None:
    with torch.no_grad():
        for network, greedy, beam in (
            (settrans, greedy_set, beam_set),
            (transformer, greedy_sequence, beam_sequence),
        ):
            memory = network.encode(batch)
            expected = greedy(network, memory, steps=6)
            actual = beam(network, memory, steps=6, beam=1, length_penalty=1.0).best()
            for name in DecodedRows._fields[
                : 5 if network is settrans else 4
            ]:  # a sequence has no ∅
                torch.testing.assert_close(getattr(actual, name), getattr(expected, name))


def oracle(
    network: Transformer,
    memory: TransformerMemory,
    code: int,
    beam: int,
    penalty: float,
    steps: int,
) -> list[tuple[float, list[int]]]:
    """The search itself, one code of one document and one hypothesis at a time, without caches."""
    size = V + 3
    active: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[tuple[float, list[int]]] = []
    for t in range(steps):
        grown = []
        for log_p, words in active:
            tokens = torch.zeros(1, CODES, t + 1, dtype=torch.int64)
            tokens[0, code, :t] = torch.tensor(words)
            mixture = network.decode(memory, shift_right(tokens), torch.ones_like(tokens) > 0)
            last = mixture.distribution(size).view(CODES, t + 1, size)[code, t].log()
            grown += [(log_p + last[word].item(), [*words, word]) for word in range(size)]
        if t == 0:
            says_null = max(grown)[1] == [NULL]
            grown = [pair for pair in grown if (pair[1] == [NULL]) == says_null]
        kept = sorted(grown, reverse=True)[: beam - len(ended)]
        stop = [pair[1][-1] in (EOS, NULL) or t == steps - 1 for pair in kept]
        ended += [
            (p / (t + 1) ** penalty, w) for (p, w), end in zip(kept, stop, strict=True) if end
        ]
        active = [pair for pair, end in zip(kept, stop, strict=True) if not end]
    return sorted(ended, reverse=True)


@pytest.mark.parametrize("beam", [2, 3])
def test_a_narrow_beam_is_the_same_search_without_caches(
    settrans: Transformer, batch: Batch, beam: int
) -> None:
    with torch.no_grad():
        memory = settrans.encode(batch)
        decoded = beam_set(settrans, memory, steps=5, beam=beam, length_penalty=0.7)
        for b in range(2):
            example = Example("d", batch.source_extended[b, : batch.lengths[b]].numpy(), 0)
            alone = settrans.encode(collate([example], vocabulary_size=V))
            for code in range(CODES):
                score, words = oracle(settrans, alone, code, beam, 0.7, steps=5)[0]
                assert decoded.tokens[b, code, 0].tolist() == words + [0] * (5 - len(words))
                assert decoded.score[b, code, 0].item() == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize(("word", "rows"), [(NULL, [8]), (EOS, [8]), (7, [8, 8 * 3])])
def test_finished_rows_are_not_computed(
    settrans: Transformer, batch: Batch, monkeypatch: pytest.MonkeyPatch, word: int, rows: list[int]
) -> None:
    """A network that is nearly sure of one word: its rivals are dropped when they cannot win."""
    with torch.no_grad():
        settrans.pointer.gate.bias.fill_(50.0)  # never copies
        settrans.pointer.features.weight.zero_()
        settrans.pointer.features.bias.fill_(1.0)
        settrans.pointer.vocabulary.weight.zero_()[[EOS, NULL]] = -1.0
        settrans.pointer.vocabulary.weight[word] = 2.0
    seen: list[int] = []
    step = settrans.step

    def counted(state: TransformerState, tokens: Tensor) -> Mixture:
        seen.append(len(tokens))
        return step(state, tokens)

    monkeypatch.setattr(settrans, "step", counted)
    memory = settrans.encode(batch)
    beam_set(settrans, memory, steps=2, beam=3, length_penalty=1.0)
    assert seen == rows


def test_top_is_that_of_the_whole_distribution(settrans: Transformer, batch: Batch) -> None:
    with torch.no_grad():
        memory = settrans.encode(batch)
        state = settrans.start(memory, steps=1)
        mixture = settrans.step(state, torch.full((2 * CODES,), 2))
        whole = mixture.distribution(V + 3)
        for count in (1, 3, V + 3):
            best = mixture.top(count)
            expected = whole.topk(min(count, best.tokens.shape[1]))
            torch.testing.assert_close(best.probability, expected.values)
            real = best.probability > 0
            theirs = whole.gather(1, best.tokens)
            torch.testing.assert_close(theirs[real], best.probability[real])
