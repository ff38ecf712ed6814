"""Control codes: baselines.md §11, tests 38 and 39."""

import torch

from one2set.data.batch import shifted
from one2set.model.settrans import SetTrans
from tests.model import padded, tiny


def rows(network: SetTrans, inputs: torch.Tensor) -> torch.Tensor:
    """(B, N, L, X) for inputs in every cell."""
    batch = tiny.batch()
    everywhere = torch.ones_like(inputs, dtype=torch.bool)
    mixture = network.decode(network.encode(batch), inputs, everywhere)
    return mixture.distribution(padded.extended_size(batch, network)).view(*inputs.shape, -1)


def test_a_code_sees_neither_the_others_nor_its_own_future() -> None:
    network, batch = tiny.settrans(), tiny.batch()
    inputs = shifted(batch.targets)
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
    inputs = shifted(batch.targets[:, :1].expand(-1, tiny.CODES, -1))
    assert network.codes is not None
    different = rows(network, inputs)
    assert (different[:, 0] - different[:, 1]).abs().max() > 1e-3
    with torch.no_grad():
        network.codes.weight[1] = network.codes.weight[0]
    equal = rows(network, inputs)
    torch.testing.assert_close(equal[:, 0], equal[:, 1], rtol=0, atol=1e-6)


def test_without_control_codes_all_rows_are_the_same() -> None:
    network, batch = tiny.settrans(control_codes=False), tiny.batch()
    inputs = shifted(batch.targets[:, :1].expand(-1, tiny.CODES, -1))
    same = rows(network, inputs)
    torch.testing.assert_close(same, same[:, :1].expand_as(same), rtol=0, atol=1e-6)
    names = {name for name, _ in tiny.settrans().named_parameters()}
    assert names - {name for name, _ in network.named_parameters()} == {"codes.weight"}
