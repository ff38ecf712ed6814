"""When a control code is silent, on numbers, on arrays and in torch."""

import math

import numpy as np
import torch

from one2set.data.specials import NULL
from one2set.search.greedy import greedy_set
from one2set.search.null_bias import NO_NULL, NullBias, is_silent
from tests.model import tiny


def test_the_rule_is_the_inequality() -> None:
    assert is_silent(0.2, 0.3, 0.0)
    assert not is_silent(0.3, 0.3, 0.0)
    assert not is_silent(0.2, 0.3, math.log(0.5))
    assert is_silent(0.3, 0.2, math.log(2))


def test_infinite_biases_decide_alone() -> None:
    assert not is_silent(1e-30, 1.0, -math.inf)
    assert is_silent(1.0, 1e-30, math.inf)


def test_numpy_and_torch_agree() -> None:
    network, batch = tiny.settrans(), tiny.batch(6)
    with torch.no_grad():
        memory = network.encode(batch)
        spoken = greedy_set(network, memory, steps=1, null_bias=NO_NULL)
        silent = []
        for bias in (NullBias(), NullBias(-2.0, 1.5), NullBias(3.0, -1.0)):
            decoded = greedy_set(network, memory, steps=1, null_bias=bias)
            found = (decoded.tokens[:, :, 0] == NULL).numpy()
            biases = np.repeat(bias, [network.rows // 2, network.rows - network.rows // 2])
            word, null = spoken.probability[:, :, 0].numpy(), spoken.null.numpy()
            assert np.array_equal(is_silent(word, null, biases), found)
            silent.append(int(found.sum()))
    assert len(set(silent)) == 3
