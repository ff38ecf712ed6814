"""The one-to-sequence objective."""

import torch

from one2set.data.batch import sequence, shift_right
from one2set.training.objectives.likelihood import Likelihood
from tests.model import padded, tiny


def test_the_loss_is_the_mean_over_real_tokens() -> None:
    network, batch = tiny.transformer(), tiny.batch(6, layout=sequence)
    memory = padded.encode(network, batch)
    full = padded.decode(network, batch, memory, shift_right(batch.targets))
    losses = -(full + 1e-8).log().gather(3, batch.targets[..., None]).squeeze(3)
    expected = losses[batch.target_mask]
    loss = Likelihood(network)(batch)
    torch.testing.assert_close(loss.total, expected.mean())
    torch.testing.assert_close(loss.sum, expected.sum())
    assert loss.tokens == len(expected)
    torch.testing.assert_close(loss.parts["sequence"], expected.sum())


def test_dropout_acts_in_training_only() -> None:
    objective = Likelihood(tiny.transformer(dropout=0.3))
    batch = tiny.batch(layout=sequence)
    assert objective(batch).sum != objective(batch).sum
    objective.eval()
    assert torch.equal(objective(batch).sum, objective(batch).sum)
