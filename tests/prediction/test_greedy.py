"""Greedy search with caches and early stops equals decoding without them."""

import numpy as np
import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, collate
from one2set.data.specials import BOS, EOS, NULL, PAD
from one2set.model.pointer import ChosenTokens, Mixture
from one2set.model.transformer import Transformer
from one2set.prediction.greedy import DecodedRows, greedy_sequence, greedy_set, roll_out
from one2set.prediction.prediction import NO_NULL, NullBias, predicts_null
from tests.model import padded, tiny

STEPS = 5


def make_stop_likely(network: Transformer, *, seed: int) -> Transformer:
    """Networks of random weights rarely end a row; these do, at different steps."""
    torch.manual_seed(seed)
    with torch.no_grad():
        table = network.pointer.vocabulary.weight
        for word in (EOS, NULL):
            table[word] = 1.5 * torch.randn_like(table[word])
        network.pointer.gate.bias.add_(1.0)
    return network


def ended(tokens: Tensor, stop_ids: tuple[int, ...]) -> Tensor:
    """True after the first of `stop_ids`."""
    over = torch.isin(tokens, torch.tensor(stop_ids)).cumsum(-1) > 0
    return torch.cat([torch.zeros_like(over[..., :1]), over[..., :-1]], -1)


def decode(network: Transformer, batch: Batch) -> DecodedRows:
    search = greedy_sequence if network.rows == 1 else greedy_set
    return search(network, network.encode(batch), steps=STEPS)


NETWORKS = pytest.mark.parametrize(
    ("network", "stop_ids"),
    [
        (make_stop_likely(tiny.settrans(seed=0), seed=1), (EOS, NULL)),
        (make_stop_likely(tiny.transformer(seed=1), seed=5), (EOS,)),
    ],
    ids=["set", "sequence"],
)


@NETWORKS
def test_rows_equal_those_of_uncached_decoding(
    network: Transformer, stop_ids: tuple[int, ...]
) -> None:
    batch = tiny.batch(8)
    tokens, distributions = padded.roll_out(network, batch, padded.encode(network, batch), STEPS)
    over = ended(tokens, stop_ids)
    assert 0 < over.sum() < over.numel()
    decoded = decode(network, batch)
    assert torch.equal(decoded.tokens, tokens.masked_fill(over, PAD))
    assert torch.equal(decoded.length, (~over).sum(-1))
    expected = distributions.gather(3, tokens[..., None]).squeeze(3).masked_fill(over, 0)
    torch.testing.assert_close(decoded.probability, expected)
    torch.testing.assert_close(decoded.null, distributions[:, :, 0, NULL])


@NETWORKS
def test_a_batch_is_decoded_as_its_documents(
    network: Transformer, stop_ids: tuple[int, ...]
) -> None:
    together = decode(network, tiny.batch(8))
    for index, example in enumerate(tiny.examples(8)):
        alone = decode(network, collate([example], vocabulary_size=tiny.V))
        assert torch.equal(alone.tokens[0], together.tokens[index])
        assert torch.equal(alone.position[0], together.position[index])
        assert torch.equal(alone.length[0], together.length[index])
        torch.testing.assert_close(alone.probability[0], together.probability[index])
        torch.testing.assert_close(alone.null[0], together.null[index])


@NETWORKS
def test_a_choice_gets_the_tokens_of_its_rows(
    network: Transformer, stop_ids: tuple[int, ...]
) -> None:
    """No word twice in a row: what is written is what was seen, and nothing else changes."""
    memory = network.encode(tiny.batch(8))
    seen: list[tuple[Tensor, Tensor]] = []

    def avoid_repeats(rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        seen.append((rows, written))
        return mixture.greedy(written)

    steps = list(roll_out(network, memory, steps=STEPS, stop_ids=stop_ids, choose=avoid_repeats))
    if len(steps) == STEPS:
        assert len(seen) == STEPS - 1  # the last choice is made when it is asked for
        assert steps[-1].choice.tokens.shape == steps[-1].rows.shape
    texts: dict[int, list[int]] = {row: [] for row in steps[0].rows.tolist()}
    for step, (rows, written) in zip(steps, seen, strict=True):
        assert torch.equal(rows, step.rows)
        assert written.tolist() == [texts[row] for row in rows.tolist()]
        for row, token in zip(rows.tolist(), step.choice.tokens.tolist(), strict=True):
            texts[row].append(token)
    assert all(len(set(text)) == len(text) for text in texts.values())
    free = list(roll_out(network, memory, steps=STEPS, stop_ids=stop_ids))
    assert torch.equal(free[0].choice.tokens, steps[0].choice.tokens)
    changed = [step.choice.tokens.tolist() for step in free]
    assert changed != [step.choice.tokens.tolist() for step in steps]  # it had something to do


def test_the_chosen_token_is_the_next_input() -> None:
    network = tiny.settrans()
    memory = network.encode(tiny.batch())

    def second_best(rows: Tensor, mixture: Mixture, written: Tensor) -> ChosenTokens:
        return ChosenTokens(*(x[:, 1] for x in mixture.top(2)))

    steps = list(roll_out(network, memory, steps=2, choose=second_best))
    assert torch.equal(steps[0].choice.tokens, steps[0].mixture.top(2).tokens[:, 1])
    state = network.start(memory, steps=2)
    network.step(state, torch.full_like(steps[0].choice.tokens, BOS))
    second = network.step(state, steps[0].choice.tokens)
    torch.testing.assert_close(second.features, steps[1].mixture.features)


@NETWORKS
def test_finished_rows_are_not_computed(network: Transformer, stop_ids: tuple[int, ...]) -> None:
    memory = network.encode(tiny.batch(8))
    steps = list(roll_out(network, memory, steps=STEPS, stop_ids=stop_ids))
    alive = [len(step.mixture.features) for step in steps]
    over = ended(decode(network, tiny.batch(8)).tokens, stop_ids).flatten(0, 1)
    assert alive == [int(count) for count in (~over).sum(0) if count]
    assert alive[-1] < alive[0]


def test_decoding_stops_when_all_rows_are_finished() -> None:
    network = tiny.settrans()
    with torch.no_grad():
        network.pointer.vocabulary.weight.zero_()
        network.pointer.features.weight.zero_()
        network.pointer.features.bias.fill_(1.0)
        network.pointer.vocabulary.weight[NULL] = 5.0
        network.pointer.gate.weight.zero_()
        network.pointer.gate.bias.fill_(20.0)
    memory = network.encode(tiny.batch())
    assert len(list(roll_out(network, memory, steps=STEPS, stop_ids=(NULL,)))) == 1
    assert len(list(roll_out(network, memory, steps=STEPS))) == STEPS
    decoded = greedy_set(network, memory, steps=STEPS)
    assert (decoded.tokens[..., 0] == NULL).all()
    assert (decoded.tokens[..., 1:] == PAD).all()


def test_the_most_attended_position_is_in_the_document() -> None:
    network, batch = tiny.settrans(), tiny.batch(8)
    memory = network.encode(batch)
    decoded = greedy_set(network, memory, steps=STEPS)
    assert (decoded.position < torch.tensor(batch.lengths)[:, None, None]).all()
    first = next(iter(roll_out(network, memory, steps=1))).mixture.attention
    assert torch.equal(decoded.position[..., 0].flatten(), first.argmax(1))


def test_decoding_leaves_no_gradient() -> None:
    network = tiny.settrans()
    decoded = greedy_set(network, network.encode(tiny.batch()), steps=2)
    assert not decoded.probability.requires_grad


def test_numpy_and_torch_agree_on_silent_codes() -> None:
    network, batch = tiny.settrans(), tiny.batch(6)
    with torch.no_grad():
        memory = network.encode(batch)
        generated = greedy_set(network, memory, steps=1, null_bias=NO_NULL)
        silent = []
        for bias in (NullBias(), NullBias(-2.0, 1.5), NullBias(3.0, -1.0)):
            decoded = greedy_set(network, memory, steps=1, null_bias=bias)
            result = (decoded.tokens[:, :, 0] == NULL).numpy()
            biases = np.repeat(bias, [network.rows // 2, network.rows - network.rows // 2])
            word, null = generated.probability[:, :, 0].numpy(), generated.null.numpy()
            assert np.array_equal(predicts_null(word, null, biases), result)
            silent.append(int(result.sum()))
    assert len(set(silent)) == 3
