"""Codes attend neither to each other nor to their own future."""

import torch

from one2set.data.batch import shift_right
from one2set.model.settrans import SetTrans
from tests.model import padded, tiny


def rows(network: SetTrans, inputs: torch.Tensor) -> torch.Tensor:
    """(B, N, L, X) for inputs in every cell."""
    batch = tiny.batch()
    everywhere = torch.ones_like(inputs, dtype=torch.bool)
    mixture = network.decode(network.encode(batch), inputs, everywhere)
    return mixture.distribution(padded.extended_size(batch, network)).view(*inputs.shape, -1)


def test_codes_attend_only_to_their_own_past() -> None:
    network, batch = tiny.settrans(), tiny.batch()
    inputs = shift_right(batch.targets)
    before = rows(network, inputs)
    changed = inputs.clone()
    changed[:, 2, 3] = 11
    after = rows(network, changed)
    same = torch.ones(inputs.shape[1:], dtype=torch.bool)
    same[2, 3:] = False
    torch.testing.assert_close(after[:, same], before[:, same], rtol=0, atol=1e-6)
    assert (after[:, ~same] != before[:, ~same]).any(-1).all()


def test_equal_codes_write_equal_rows() -> None:
    network, batch = tiny.settrans(), tiny.batch()
    inputs = shift_right(batch.targets[:, :1].expand(-1, tiny.CODES, -1))
    assert network.codes is not None
    different = rows(network, inputs)
    assert (different[:, 0] - different[:, 1]).abs().max() > 1e-3
    with torch.no_grad():
        network.codes.weight[1] = network.codes.weight[0]
    equal = rows(network, inputs)
    torch.testing.assert_close(equal[:, 0], equal[:, 1], rtol=0, atol=1e-6)


def test_without_control_codes_all_rows_are_the_same() -> None:
    network, batch = tiny.settrans(control_codes=False), tiny.batch()
    inputs = shift_right(batch.targets[:, :1].expand(-1, tiny.CODES, -1))
    same = rows(network, inputs)
    torch.testing.assert_close(same, same[:, :1].expand_as(same), rtol=0, atol=1e-6)
    names = {name for name, _ in tiny.settrans().named_parameters()}
    assert names - {name for name, _ in network.named_parameters()} == {"codes.weight"}


def test_words_beyond_the_output_are_read_and_copied_but_not_generated() -> None:
    batch, size = tiny.batch(), 20
    torch.manual_seed(0)
    network = SetTrans(**tiny.settrans().arguments | {"output_size": size})
    inputs = shift_right(batch.targets)
    full = rows(network, inputs)  # (B, N, L, X)
    assert full.sum(-1).allclose(torch.ones(()))
    extended = batch.source_extended
    copyable = torch.zeros(full.shape[0], full.shape[-1], dtype=torch.bool)
    copyable.scatter_(1, extended, batch.source_mask)
    possible = (full > 0).flatten(1, 2)  # (B, N·L, X)
    assert possible[:, :, :size].all()
    assert torch.equal(possible.any(1)[:, size:], copyable[:, size:])
    assert copyable[:, size : tiny.V].any()
    mixture = network.decode(network.encode(batch), inputs, torch.ones_like(inputs) > 0)
    assert torch.equal(mixture.greedy().tokens, full.flatten(0, 2).argmax(1))
