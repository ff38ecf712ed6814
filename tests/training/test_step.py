"""A step equals a textbook step: mean loss, backward, clip, Adam."""

import copy
import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from one2set.data.batch import Batch
from one2set.data.example import Example
from one2set.errors import DataError
from one2set.model.layers import Linear
from one2set.training.config import Config
from one2set.training.objectives.likelihood import Loss
from one2set.training.step import Stepper
from one2set.training.systems import build
from tests.model import tiny
from tests.training.conftest import ALONE, SETTINGS

VOCABULARY = 50
INDICES = np.arange(7)


@pytest.fixture
def examples() -> list[Example]:
    """Seven documents of random words, some of which can only be copied."""
    generator = np.random.default_rng(0)

    def words(count: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return generator.integers(7, VOCABULARY + 10, count).astype(np.int32)

    return [
        Example(
            f"document-{index}",
            source=words(5 + 3 * index),
            title_length=3,
            present=tuple(words(2) for _ in range(index % 3)),
            absent=tuple(words(3) for _ in range(index % 4)),
        )
        for index in range(len(INDICES))
    ]


def config(*settings: str) -> Config:
    # The biases of keys have no gradient but rounding errors. Adam with its usual ε would make
    # whole steps of them; this one does not.
    calm = ["model.dropout=0", "train.epsilon=1e-4"]
    return Config.scale("tiny").override([*SETTINGS, *calm, *settings])


def stepper(system: str, settings: Config) -> Stepper:
    torch.manual_seed(0)
    built = build(system, settings, tiny.vocabulary(VOCABULARY))
    return Stepper(built.objective, built.collate, settings, seed=1, processes=ALONE)


@pytest.mark.parametrize("system", ["settrans", "transformer"])
@pytest.mark.parametrize("clip", [1e-3, 1e3])
def test_steps_equal_those_of_textbook_adam(
    system: str, clip: float, examples: list[Example]
) -> None:
    settings = config("train.micro_batches=1", f"train.clip_norm={clip}")
    ours = stepper(system, settings)
    objective = copy.deepcopy(ours.objective)
    train = settings.train
    adam = torch.optim.Adam(
        objective.parameters(), lr=3e-3, betas=(train.beta1, train.beta2), eps=train.epsilon
    )
    for number in range(3):
        losses, tokens = ours.step(examples, INDICES, number=number, learning_rate=3e-3)
        loss = objective(ours.batch(examples))
        adam.zero_grad()
        (loss.sum / loss.tokens).backward()
        nn.utils.clip_grad_norm_(objective.parameters(), clip)
        adam.step()
        assert tokens == loss.tokens
        assert losses["loss"] == pytest.approx(loss.sum.item())
        assert sum(v for k, v in losses.items() if k != "loss") == pytest.approx(losses["loss"])
    assert_alike(ours.objective, objective)


@pytest.mark.parametrize("micro_batches", [2, 3, 7, 9])
def test_micro_batches_give_the_step_of_the_whole_batch(
    micro_batches: int, examples: list[Example]
) -> None:
    whole = stepper("settrans", config("train.micro_batches=1"))
    parted = stepper("settrans", config(f"train.micro_batches={micro_batches}"))
    for number in range(3):
        expected = whole.step(examples, INDICES, number=number, learning_rate=1e-2)
        outcome = parted.step(examples, INDICES, number=number, learning_rate=1e-2)
        assert outcome[0] == pytest.approx(expected[0], rel=1e-5)
        assert outcome[1] == expected[1]
    assert_alike(parted.objective, whole.objective)


def test_dropout_depends_only_on_seed_step_and_micro_batch(examples: list[Example]) -> None:
    settings = config("model.dropout=0.3", "train.micro_batches=2")

    def loss(number: int) -> float:
        torch.rand(number)  # what was drawn before must not matter
        trained = stepper("settrans", settings)
        torch.rand(7)
        return trained.step(examples, INDICES, number=number, learning_rate=1e-3)[0]["loss"]

    assert loss(4) == loss(4)
    assert loss(4) != loss(5)


def test_every_step_updates_the_average(examples: list[Example]) -> None:
    ours = stepper("settrans", config())
    expected = copy.deepcopy(dict(ours.objective.named_parameters()))
    for number in range(3):
        ours.step(examples, INDICES, number=number, learning_rate=1e-2)
        taken = number + 1  # the first step is the first
        decay = min(0.9, (1 + taken) / (10 + taken))
        with torch.no_grad():
            for name, weight in ours.objective.named_parameters():
                expected[name].mul_(decay).add_(weight, alpha=1 - decay)
    with ours.average.applied():
        for name, weight in ours.objective.named_parameters():
            torch.testing.assert_close(weight, expected[name], msg=name)


@pytest.mark.parametrize(("number", "learns"), [(0, "discriminator"), (2, "network")])
def test_each_of_two_networks_learns_at_its_own_rate(
    number: int, learns: str, examples: list[Example]
) -> None:
    """Adam's first step is as long as the rate, whatever the gradient."""
    rates = (
        "train.learning_rate=1e-3",
        "adversarial.learning_rate=7e-3",
        "adversarial.head_start=2",
    )
    both = stepper("gan-mr", config(*rates, "train.epsilon=1e-20", "model.sequence_length=8"))
    before = copy.deepcopy(dict(both.objective.named_parameters()))
    both.step(examples, INDICES, number=number, learning_rate=1e-3)
    moved = {"network": 0.0, "discriminator": 0.0}
    for name, weight in both.objective.named_parameters():
        owner = name.partition(".")[0]
        moved[owner] = max(moved[owner], (weight - before[name]).abs().max().item())
    expected = {"network": 0.0, "discriminator": 0.0}
    expected[learns] = 7e-3 if learns == "discriminator" else 1e-3
    assert moved == pytest.approx(expected, rel=0.01)


class Breaking(nn.Module):
    """An objective that cannot bear one document; its loss or only its gradient breaks."""

    def __init__(self, objective: nn.Module, *, id: str, where: str) -> None:
        super().__init__()
        self.objective, self.id, self.where = objective, id, where
        self.zero = nn.Parameter(torch.zeros(()))

    def forward(self, batch: Batch) -> Loss:
        loss: Loss = self.objective(batch)
        if self.id not in batch.ids:
            return loss
        # √x at 0: the value is 0, the slope infinite.
        added: Tensor = self.zero.sqrt() if self.where == "gradient" else self.zero + math.inf
        return Loss(loss.sum + added, loss.tokens, loss.parts)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("loss", r"the loss is inf at step 4; documents: document-3;"),
        ("gradient", r"the gradient's norm is (inf|nan) at step 4; documents: document-0, .*-6;"),
    ],
)
def test_a_step_that_is_not_finite_names_documents_and_changes_nothing(
    where: str, message: str, examples: list[Example]
) -> None:
    settings = config()
    built = build("settrans", settings, tiny.vocabulary(VOCABULARY))
    objective = Breaking(built.objective, id="document-3", where=where)
    breaking = Stepper(objective, built.collate, settings, seed=1, processes=ALONE)
    before = copy.deepcopy(objective)
    with pytest.raises(DataError, match=message):
        breaking.step(examples, INDICES, number=3, learning_rate=1.0)
    for old, new in zip(before.parameters(), objective.parameters(), strict=True):
        assert torch.equal(old, new)


def test_bfloat16_computes_nearly_the_same(
    examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("one2set.model.layers._WIDE", 8)
    exact = stepper("settrans", config("machine.precision=float32"))
    mixed = stepper("settrans", config("machine.precision=bfloat16"))
    loss = mixed.step(examples, INDICES, number=0, learning_rate=1e-3)[0]["loss"]
    expected = exact.step(examples, INDICES, number=0, learning_rate=1e-3)[0]["loss"]
    assert loss != expected
    assert loss == pytest.approx(expected, rel=0.02)
    assert all(weight.dtype == torch.float32 for weight in mixed.objective.parameters())


def test_narrow_networks_compute_in_float32_on_a_cpu(examples: list[Example]) -> None:
    exact = stepper("settrans", config())
    narrow = stepper("settrans", config("machine.precision=bfloat16"))
    assert not narrow.bfloat16
    actual, expected = (
        each.step(examples, INDICES, number=0, learning_rate=1e-3) for each in (narrow, exact)
    )
    assert actual == expected


def assert_alike(actual: nn.Module, expected: nn.Module) -> None:
    for (name, a), b in zip(actual.named_parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)


def test_the_encoder_has_its_own_learning_rate(examples: list[Example]) -> None:
    """Adam's first step is as long as the rate, whatever the gradient."""
    slow = stepper("settrans", config("train.encoder_lr_factor=0.1", "train.epsilon=1e-20"))
    before = copy.deepcopy(dict(slow.objective.named_parameters()))
    slow.step(examples, INDICES, number=0, learning_rate=1e-3)
    moved = {
        name: (weight - before[name]).abs().max().item()
        for name, weight in slow.objective.named_parameters()
    }
    assert moved["network.encoder.layers.0.attention.value.weight"] == pytest.approx(1e-4, rel=0.1)
    assert moved["network.decoder.layers.0.self_attention.value.weight"] == pytest.approx(
        1e-3, rel=0.1
    )


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_wide_products_have_the_precision_that_is_set(precision: str) -> None:
    settings = config(f"machine.precision={precision}", "machine.device=cpu")
    torch.manual_seed(0)
    wide = Linear(256, 256)
    trained = Stepper(wide, lambda examples: tiny.batch(), settings, seed=1, processes=ALONE)
    x = torch.randn(20, 256)
    with trained.autocast():
        actual = wide(x)
    expected = nn.functional.linear(x, wide.weight, wide.bias)
    assert torch.allclose(actual, expected, atol=0.05)
    assert torch.allclose(actual, expected, atol=1e-5) == (precision == "float32")
