"""BERT's encoder equals torch's post-norm layers, and layers can be frozen."""

import pytest
import torch
from torch import nn

from one2set.data.batch import Batch, collate
from one2set.model.bert import MAX_POSITIONS, BertEncoder
from one2set.training.objectives.set_loss import SetLoss
from tests.model import tiny

LAYER = {
    "attention.out": "self_attn.out_proj",
    "attention_norm": "norm1",
    "inner": "linear1",
    "outer": "linear2",
    "feed_forward_norm": "norm2",
}


def oracle(encoder: BertEncoder, x: torch.Tensor) -> torch.Tensor:
    """torch's layers with the encoder's weights, on one document (S, D)."""
    ours = encoder.state_dict()
    x = nn.functional.layer_norm(x, x.shape[1:], ours["norm.weight"], ours["norm.bias"])
    for number in range(len(encoder.layers)):
        layer = nn.TransformerEncoderLayer(16, 2, 24, 0.0, "gelu", batch_first=True).eval()
        name = f"layers.{number}"
        state = {
            f"{torch_name}.{part}": ours[f"{name}.{our_name}.{part}"]
            for our_name, torch_name in LAYER.items()
            for part in ("weight", "bias")
        }
        for part in ("weight", "bias"):
            projections = ("query", "key", "value")
            state[f"self_attn.in_proj_{part}"] = torch.cat(
                [ours[f"{name}.attention.{which}.{part}"] for which in projections]
            )
        layer.load_state_dict(state)
        x = layer(x[None])[0]
    return x


@torch.no_grad()
def test_the_encoder_equals_torchs_layers() -> None:
    network, batch = tiny.settrans(encoder="bert").eval(), tiny.batch()
    encoder = network.encoder
    assert isinstance(encoder, BertEncoder)
    states = torch.split(network.encode(batch).states, list(batch.lengths))
    for row, actual in zip(batch.source, states, strict=True):
        places = encoder.places.weight[: len(actual)]
        expected = oracle(encoder, network.embedding(row[: len(actual)]) + places)
        torch.testing.assert_close(actual, expected, rtol=0, atol=2e-5)


@torch.no_grad()
def test_tokens_beyond_the_last_position_are_encoded() -> None:
    network = tiny.settrans(encoder="bert").eval()
    example = tiny.examples(1)[0]
    long = type(example)("long", example.source.repeat(MAX_POSITIONS)[: MAX_POSITIONS + 5], 0)
    batch = collate([long], vocabulary_size=tiny.V)
    states = network.encode(batch).states
    assert len(states) == MAX_POSITIONS + 5
    assert states.isfinite().all()


def gradients(network: nn.Module, batch: Batch) -> set[str]:
    """The names of the weights that a step would change."""
    loss = SetLoss(network, assign_steps=2, null_weight_present=0.2, null_weight_absent=0.1)  # type: ignore[arg-type]
    torch.autograd.backward(loss(batch).sum)
    return {name for name, weight in network.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("encoder", ["transformer", "bert"])
def test_frozen_layers_have_no_gradient_and_all_others_do(encoder: str) -> None:
    free = gradients(tiny.settrans(encoder=encoder), tiny.batch())  # type: ignore[arg-type]
    network = tiny.settrans(encoder=encoder)  # type: ignore[arg-type]
    network.freeze(1)
    frozen = free - gradients(network, tiny.batch())
    assert all(
        name.startswith(("embedding.", "encoder.")) and not name.startswith("encoder.layers.1")
        for name in frozen
    )
    assert {"embedding.weight", "encoder.layers.0.attention.query.weight"} <= frozen
    assert free >= {name for name, _ in network.named_parameters()} - {"codes.weight"}
