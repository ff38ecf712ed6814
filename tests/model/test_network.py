"""Every network: batching and padding change nothing; teacher forcing equals repeated steps."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from one2set.data.batch import Batch, SetLayout, collate, sequence, shift_right
from one2set.data.specials import BOS, PAD, UNK
from one2set.model.network import Network
from one2set.model.pointer import Mixture
from tests.model import padded, tiny

close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)
NETWORKS: dict[str, Callable[[], Network]] = {
    "settrans": tiny.settrans,
    "transformer": tiny.transformer,
    "recurrent": tiny.recurrent,
    "title": partial(tiny.recurrent, title_guided=True),
    "exhird": tiny.exhird,
    "copies": partial(tiny.recurrent, output_size=20),
}


def decode_targets(network: Network, batch: Batch) -> Mixture:
    return network.decode(network.encode(batch), shift_right(batch.targets), batch.target_mask)


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]()


@pytest.fixture
def batch(network: Network) -> Batch:
    return tiny.batch(6, layout=None if network.rows > 1 else sequence)


def test_documents_of_a_batch_are_independent(network: Network, batch: Batch) -> None:
    layout = None if network.rows > 1 else sequence
    together = torch.split(
        decode_targets(network, batch).log_likelihood(batch.targets[batch.target_mask]),
        batch.target_mask.sum((1, 2)).tolist(),
    )
    for example, expected in zip(tiny.examples(6), together, strict=True):
        alone = collate([example], vocabulary_size=tiny.V, layout=layout or SetLayout(tiny.CODES))
        words = alone.targets[alone.target_mask]
        close(decode_targets(network, alone).log_likelihood(words), expected)


def test_every_weight_is_used(network: Network, batch: Batch) -> None:
    likelihood = decode_targets(network, batch).log_likelihood(batch.targets[batch.target_mask])
    torch.autograd.backward(likelihood.sum())
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.any(), name


def test_the_content_of_padding_does_not_matter(network: Network, batch: Batch) -> None:
    expected = decode_targets(network, batch).log_likelihood(batch.targets[batch.target_mask])
    batch.source[~batch.source_mask] = 9
    batch.source_extended[~batch.source_mask] = 9
    targets = batch.targets.clone()
    targets[~batch.target_mask] = 9
    memory = network.encode(batch)
    mixture = network.decode(memory, shift_right(targets), batch.target_mask)
    assert torch.equal(mixture.log_likelihood(batch.targets[batch.target_mask]), expected)


def test_teacher_forcing_equals_repeated_steps(network: Network, batch: Batch) -> None:
    memory = network.encode(batch)
    inputs = shift_right(batch.targets)
    everywhere = torch.ones_like(batch.target_mask)
    size = padded.extended_size(batch, network)
    expected = network.decode(memory, inputs, everywhere).distribution(size)
    expected = expected.view(-1, inputs.shape[2], size)
    state = network.start(memory, steps=inputs.shape[2])
    for step, tokens in enumerate(inputs.flatten(0, 1).T):
        distribution = network.step(state, tokens).distribution(size)
        close(distribution, expected[:, step])


def test_selected_rows_continue_from_their_state(network: Network, batch: Batch) -> None:
    memory = network.encode(batch)
    inputs = shift_right(batch.targets).flatten(0, 1)
    size = padded.extended_size(batch, network)
    keep = torch.tensor([0, 0, 2, len(inputs) - 1])  # one twice, as a beam would
    whole, some = network.start(memory, steps=3), network.start(memory, steps=3)
    for state in (whole, some):
        network.step(state, inputs[:, 0])
        network.step(state, inputs[:, 1])
    expected = network.step(whole, inputs[:, 2]).distribution(size)[keep]
    some = some.select(keep)
    distribution = network.step(some, inputs[keep, 2]).distribution(size)
    close(distribution, expected)


def test_unknown_words_are_read_as_unk(network: Network, batch: Batch) -> None:
    memory = network.encode(batch)
    inputs = torch.full_like(batch.targets, BOS)
    inputs[..., 1:] = tiny.V + 3
    expected = inputs.where(inputs < tiny.V, UNK)
    actual, same = (network.decode(memory, x, batch.target_mask) for x in (inputs, expected))
    assert torch.equal(actual.features, same.features)


def test_padding_word_is_never_learned(network: Network, batch: Batch) -> None:
    words = batch.targets[batch.target_mask]
    torch.autograd.backward(decode_targets(network, batch).log_likelihood(words).sum())
    table = network.get_parameter("embedding.weight")
    assert table.grad is not None
    assert table.grad[PAD].abs().sum() == 0
    assert table[PAD].abs().sum() > 0
