"""Packed networks against the padded oracle, and what must not matter to them."""

from functools import partial

import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, sequence, shifted
from one2set.errors import ConfigError
from one2set.model import layers
from one2set.model.pointer import Mixture
from one2set.model.transformer import Transformer
from tests.model import padded, tiny

close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)


def taught(network: Transformer, batch: Batch) -> Mixture:
    return network.decode(network.encode(batch), shifted(batch.targets), batch.target_mask)


def distributions(network: Transformer, batch: Batch) -> Tensor:
    return taught(network, batch).distribution(padded.extended_size(batch, network))


@pytest.fixture(params=["set", "sequence"])
def network(request: pytest.FixtureRequest) -> Transformer:
    return tiny.settrans() if request.param == "set" else tiny.transformer()


@pytest.fixture
def batch(network: Transformer) -> Batch:
    return tiny.batch(6, layout=None if network.rows > 1 else sequence)


def test_encoder_and_decoder_agree_with_the_padded_oracle(
    network: Transformer, batch: Batch
) -> None:
    memory = padded.encode(network, batch)
    close(network.encode(batch).states, memory[batch.source_mask])
    full = padded.decode(network, batch, memory, shifted(batch.targets))
    close(distributions(network, batch), full[batch.target_mask])


def test_gradients_agree_with_the_padded_oracle(network: Transformer, batch: Batch) -> None:
    words = batch.targets[batch.target_mask]
    torch.autograd.backward(taught(network, batch).log_likelihood(words).sum())
    ours = {name: weight.grad for name, weight in network.named_parameters()}
    network.zero_grad()
    full = padded.decode(network, batch, padded.encode(network, batch), shifted(batch.targets))
    torch.autograd.backward((full[batch.target_mask] + 1e-8).log().gather(1, words[:, None]).sum())
    for name, weight in network.named_parameters():
        # Gradients are as large as 64: processors round such sums differently.
        torch.testing.assert_close(ours[name], weight.grad, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("weights", [200, 10**6])
def test_documents_that_are_padded_together_are_the_same(
    weights: int, network: Transformer, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one call is what devices other than a CPU do."""
    monkeypatch.setattr(layers, "_FEW_WEIGHTS", 0)
    one_by_one = distributions(network, batch)
    monkeypatch.setattr(layers, "_FEW_WEIGHTS", weights)
    close(distributions(network, batch), one_by_one)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ConfigError, match="width is 16 and heads is 3"):
        Transformer(
            vocabulary_size=9,
            width=16,
            heads=3,
            feed_forward=8,
            encoder_layers=1,
            decoder_layers=1,
            dropout=0.0,
        )
