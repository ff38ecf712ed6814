"""Packed networks equal a padded oracle."""

from functools import partial

import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, sequence, shift_right
from one2set.errors import ConfigError
from one2set.model import layers
from one2set.model.pointer import CopySource, Mixture
from one2set.model.transformer import Cache, Transformer, TransformerMemory, TransformerState
from tests.model import padded, tiny


def cache(rows: int) -> Cache:
    kept = Cache(torch.full((rows, 3, 2), -1.0), torch.full((rows, 3, 2), -1.0))
    for step in (1.0, 2.0):
        key = step + 10 * torch.arange(rows)[:, None].expand(-1, 2)
        kept.append(key, -key)
    return kept


def test_a_cache_returns_all_steps_until_now() -> None:
    key, value = cache(2).append(torch.tensor([[3.0, 3.0], [13.0, 13.0]]), torch.zeros(2, 2))
    assert key[..., 0].tolist() == [[1, 2, 3], [11, 12, 13]]
    assert value[..., 0].tolist() == [[-1, -2, 0], [-11, -12, 0]]


def test_selected_rows_are_copies_with_room_for_more() -> None:
    kept = cache(3)
    chosen = kept.select(torch.tensor([2, 2, 0]))
    key, _ = chosen.append(torch.full((3, 2), 9.0), torch.zeros(3, 2))
    assert key[..., 0].tolist() == [[21, 22, 9], [21, 22, 9], [1, 2, 9]]
    assert kept.length == 2


def test_a_state_counts_the_rows_of_each_document() -> None:
    words = CopySource(torch.zeros(3, 1), torch.zeros(3, 1))
    memory = TransformerMemory((1, 1, 1), words, torch.zeros(3, 2), [])
    state = TransformerState(
        memory, [0, 0, 1, 2, 2], torch.tensor([0, 1, 0, 0, 1]), [cache(5)], step=2
    )
    assert state.counts == [2, 1, 2]
    some = state.select(torch.tensor([1, 3, 4]))
    assert some.counts == [1, 0, 2]
    assert some.row.tolist() == [1, 0, 1]
    assert some.step == 2
    assert some.caches[0].key[:, 0, 0].tolist() == [11, 31, 41]


close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)


def decode_targets(network: Transformer, batch: Batch) -> Mixture:
    return network.decode(network.encode(batch), shift_right(batch.targets), batch.target_mask)


def distributions(network: Transformer, batch: Batch) -> Tensor:
    return decode_targets(network, batch).distribution(padded.extended_size(batch, network))


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
    full = padded.decode(network, batch, memory, shift_right(batch.targets))
    close(distributions(network, batch), full[batch.target_mask])


def test_gradients_agree_with_the_padded_oracle(network: Transformer, batch: Batch) -> None:
    words = batch.targets[batch.target_mask]
    torch.autograd.backward(decode_targets(network, batch).log_likelihood(words).sum())
    ours = {name: weight.grad for name, weight in network.named_parameters()}
    network.zero_grad()
    full = padded.decode(network, batch, padded.encode(network, batch), shift_right(batch.targets))
    torch.autograd.backward((full[batch.target_mask] + 1e-8).log().gather(1, words[:, None]).sum())
    for name, weight in network.named_parameters():
        # Gradients are as large as 64: processors round such sums differently.
        torch.testing.assert_close(ours[name], weight.grad, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("weights", [200, 10**6])
def test_documents_that_are_padded_together_are_the_same(
    weights: int, network: Transformer, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one call is what devices other than a CPU do."""
    monkeypatch.setattr(layers, "_MAX_GROUP_WEIGHTS", 0)
    one_by_one = distributions(network, batch)
    monkeypatch.setattr(layers, "_MAX_GROUP_WEIGHTS", weights)
    close(distributions(network, batch), one_by_one)


def test_heads_must_divide_the_width() -> None:
    build = partial(
        Transformer,
        vocabulary_size=9,
        width=16,
        feed_forward=8,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
    )
    for heads in (0, 3):
        with pytest.raises(ConfigError, match=f"width is 16 and heads is {heads}"):
            build(heads=heads)
    for heads in (1, 16):
        assert build(heads=heads).arguments["heads"] == heads
