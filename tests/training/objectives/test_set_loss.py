"""The set loss equals a padded oracle; its invariances and ablations."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, SetLayout, collate
from one2set.data.specials import EOS, NULL
from one2set.model.pointer import Mixture
from one2set.model.settrans import SetTrans
from one2set.model.transformer import TransformerMemory
from one2set.prediction.greedy import greedy_set
from one2set.training.objectives.assignment import hungarian
from one2set.training.objectives.set_loss import SetLoss
from tests.model import padded, tiny


def batch_for(objective: SetLoss, *, count: int = 6) -> Batch:
    return tiny.batch(count, layout=objective.layout)


@pytest.mark.parametrize("separate", [True, False])
def test_loss_and_gradients_agree_with_the_padded_oracle(separate: bool) -> None:
    network = tiny.settrans()
    objective = SetLoss(network, separate=separate)
    batch = batch_for(objective)
    loss = objective(batch)
    loss.total.backward()
    ours = {name: weight.grad for name, weight in network.named_parameters()}
    network.zero_grad()

    memory = padded.encode(network, batch)
    scores = padded.match_scores(network, batch, memory, 2).detach()
    order = hungarian(scores, list(objective.layout.parts.values()))
    absent = 0.1 if separate else 0.2
    null_weight = torch.tensor([0.2] * 3 + [absent] * 3)
    expected = padded.set_loss(network, batch, order, null_weight)
    torch.testing.assert_close(loss.total, expected)
    torch.autograd.backward(expected)
    for name, weight in network.named_parameters():
        torch.testing.assert_close(ours[name], weight.grad, rtol=1e-4, atol=1e-6, msg=name)
    assert set(loss.parts) == ({"present", "absent"} if separate else {"all"})
    torch.testing.assert_close(torch.stack(list(loss.parts.values())).sum(), loss.sum.detach())


def test_null_is_weighted_in_the_sum_and_counted_as_one() -> None:
    objective = SetLoss(tiny.settrans(num_codes=2), assignment="fixed")
    example = tiny.examples(2)[1]
    example = replace(example, present=(example.source[:1],), absent=())
    batch = collate([example], vocabulary_size=tiny.V, layout=objective.layout)
    assert batch.target_mask.sum() == 3
    memory = padded.encode(objective.network, batch)
    inputs = torch.tensor([[[2, int(batch.targets[0, 0, 0])], [2, 0]]])
    full = padded.decode(objective.network, batch, memory, inputs)
    word, eos = full[0, 0, 0, batch.targets[0, 0, 0]], full[0, 0, 1, EOS]
    expected = -(word.log() + eos.log() + 0.1 * full[0, 1, 0, NULL].log()) / 3
    torch.testing.assert_close(objective(batch).total, expected)


def test_the_order_of_targets_does_not_matter() -> None:
    objective = SetLoss(tiny.settrans())
    expected = objective(batch_for(objective)).total
    turned = [
        replace(example, present=example.present[::-1], absent=example.absent[::-1])
        for example in tiny.examples(6)
    ]
    batch = collate(turned, vocabulary_size=tiny.V, layout=objective.layout)
    assert not torch.equal(batch.targets, batch_for(objective).targets)
    torch.testing.assert_close(objective(batch).total, expected)


def test_a_batch_is_the_sum_of_its_documents() -> None:
    objective = SetLoss(tiny.settrans())
    together = objective(batch_for(objective))
    alone = [
        objective(collate([example], vocabulary_size=tiny.V, layout=objective.layout))
        for example in tiny.examples(6)
    ]
    torch.testing.assert_close(together.sum, torch.stack([loss.sum for loss in alone]).sum())
    assert together.tokens == sum(loss.tokens for loss in alone)


def test_the_batch_is_not_changed() -> None:
    objective = SetLoss(tiny.settrans())
    batch, untouched = batch_for(objective), batch_for(objective)
    objective(batch)
    for name in ("source", "source_extended", "targets", "target_mask"):
        assert torch.equal(getattr(batch, name), getattr(untouched, name))


class Spy:
    """Records what passes through a network."""

    def __init__(self, network: SetTrans, monkeypatch: pytest.MonkeyPatch) -> None:
        self.encoded: list[bool] = []
        self.stepped: list[bool] = []
        self.memories: list[TransformerMemory] = []
        self.read: list[Tensor] = []
        encode, step, decode = network.encode, network.step, network.decode

        def spy_encode(batch: Batch) -> TransformerMemory:
            self.encoded.append(network.training)
            return encode(batch)

        def spy_step(state: Any, tokens: Tensor) -> Mixture:
            self.stepped.append(network.training)
            assert not torch.is_grad_enabled()
            return step(state, tokens)

        def spy_decode(memory: TransformerMemory, inputs: Tensor, mask: Tensor) -> Mixture:
            self.memories.append(memory)
            self.read.append(inputs)
            return decode(memory, inputs, mask)

        monkeypatch.setattr(network, "encode", spy_encode)
        monkeypatch.setattr(network, "step", spy_step)
        monkeypatch.setattr(network, "decode", spy_decode)


@pytest.mark.parametrize(
    ("dropout", "training", "encoded"),
    [(0.3, True, [True, False]), (0.0, True, [True]), (0.3, False, [False])],
    ids=["with dropout", "without dropout", "validation"],
)
def test_roll_outs_have_neither_dropout_nor_gradient(
    dropout: float, training: bool, encoded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = SetLoss(tiny.settrans(dropout=dropout)).train(training)
    spy = Spy(objective.network, monkeypatch)
    loss = objective(batch_for(objective))
    assert spy.encoded == encoded
    assert spy.stepped == [False, False]  # K = 2
    assert all(module.training is training for module in objective.modules())
    assert loss.sum.requires_grad


def test_a_shared_encoding_reads_documents_once(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = SetLoss(tiny.settrans(dropout=0.3), shared_encoding=True)
    spy = Spy(objective.network, monkeypatch)
    objective(batch_for(objective))
    assert spy.encoded == [True]
    assert spy.stepped == [False, False]


def test_an_interrupted_roll_out_restores_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = SetLoss(tiny.settrans()).train()

    def fail(*_: object) -> Mixture:
        raise KeyboardInterrupt

    monkeypatch.setattr(objective.network, "step", fail)
    with pytest.raises(KeyboardInterrupt):
        objective(batch_for(objective))
    assert objective.network.training


def test_validation_is_the_same_objective() -> None:
    objective = SetLoss(tiny.settrans())
    batch = batch_for(objective)
    expected = objective(batch).total
    torch.testing.assert_close(objective.eval()(batch).total, expected)


# --- Ablations: each changes one thing ---------------------------------------------------------


@pytest.fixture
def changes() -> Iterator[Any]:
    """Runs an objective and the one with options changed; which of their steps differ."""
    with pytest.MonkeyPatch.context() as patch:

        def compare(**options: Any) -> set[str]:
            seen = []
            for extra in ({}, options):
                objective = SetLoss(tiny.settrans(seed=3), **extra)
                spy = Spy(objective.network, patch)
                batch = batch_for(objective)
                torch.manual_seed(0)
                order = objective.assign(batch, objective.network.encode(batch))
                torch.manual_seed(0)
                loss = objective(batch)
                targets = batch.targets.take_along_dim(order[:, :, None], 1)
                seen.append(
                    {
                        "memory": spy.memories[0].states,
                        "layout": batch.targets,
                        "order": order,
                        "read": spy.read[0][targets != 0],
                        "loss": loss.sum,
                        "weights": objective.null_weight,
                    }
                )
            return {name for name in seen[0] if not torch.equal(seen[0][name], seen[1][name])}

        yield compare


def test_fixed_and_random_assignment_change_the_order_only(changes: Any) -> None:
    assert changes(assignment="fixed") == {"order", "read", "loss"}
    assert changes(assignment="random") == {"order", "read", "loss"}
    assert changes(assignment="hungarian") == set()


def test_student_forcing_changes_only_the_decoder_inputs(changes: Any) -> None:
    assert changes(teacher_forcing=False) == {"read", "loss"}


def test_a_single_set_changes_layout_and_weights(changes: Any) -> None:
    assert changes(separate=False) == {"layout", "order", "read", "loss", "weights"}


def test_null_weights_change_the_loss_only(changes: Any) -> None:
    assert changes(null_weight_absent=0.7) == {"weights", "loss"}


def test_student_forcing_reads_generated_words(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = SetLoss(tiny.settrans(), teacher_forcing=False)
    network, batch = objective.network, batch_for(objective)
    with torch.no_grad():  # some generate ∅, and read it as input
        network.pointer.gate.bias.add_(2.0)
        network.pointer.vocabulary.weight[NULL].add_(network.pointer.features.bias)
    written, _ = padded.roll_out(network, batch, padded.encode(network, batch), 6)
    assert 0 < (written[..., :-1] == NULL).sum() < written[..., :-1].numel()
    spy = Spy(network, monkeypatch)
    objective(batch).total.backward()
    assert (spy.read[0][..., 0] == 2).all()
    assert torch.equal(spy.read[0][..., 1:], written[..., :-1])


def test_fixed_and_random_assignment_need_no_roll_out(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = SetLoss(tiny.settrans(dropout=0.3), assignment="fixed")
    spy = Spy(objective.network, monkeypatch)
    objective(batch_for(objective))
    assert spy.stepped == []
    assert spy.encoded == [True]
    objective.teacher_forcing = False
    objective(batch_for(objective))
    assert spy.encoded == [True, True, False], "what a student writes is rolled out without dropout"


def test_no_control_codes_change_the_network_only() -> None:
    with_codes, without = tiny.settrans(), tiny.settrans(control_codes=False)
    objectives = SetLoss(with_codes), SetLoss(without)
    assert objectives[0].layout == objectives[1].layout == SetLayout(tiny.CODES)
    batch = batch_for(objectives[0])
    assert with_codes.codes is not None
    without.load_state_dict(with_codes.state_dict(), strict=False)
    assert objectives[0](batch).total != objectives[1](batch).total
    with torch.no_grad():
        with_codes.codes.weight.zero_()
    torch.testing.assert_close(objectives[0](batch).total, objectives[1](batch).total)


def test_two_codes_overfit_one_document() -> None:
    torch.manual_seed(0)
    network = SetTrans(
        vocabulary_size=tiny.V,
        width=16,
        heads=2,
        feed_forward=32,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        num_codes=2,
    )
    objective = SetLoss(network)
    example = tiny.examples(2)[1]
    example = replace(example, present=(example.source[:2],), absent=(example.source[3:4],))
    batch = collate([example], vocabulary_size=tiny.V, layout=objective.layout)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(150):
        optimiser.zero_grad()
        objective(batch).total.backward()
        optimiser.step()
    decoded = greedy_set(network, network.encode(batch), steps=6)
    assert torch.equal(decoded.tokens, batch.targets)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_bf16_gives_nearly_the_same(dropout: float) -> None:
    losses, gradients = [], []
    for enabled in (False, True):
        objective = SetLoss(tiny.settrans(dropout=dropout))
        batch = batch_for(objective)
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = objective(batch)
        loss.total.backward()
        losses.append(loss.total.detach())
        gradients.append(objective.network.pointer.vocabulary.weight.grad)
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-2, atol=0.0)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=0.1, atol=0.01)


def test_nan_weights_give_a_nan_loss() -> None:
    objective = SetLoss(tiny.settrans())
    with torch.no_grad():
        objective.network.pointer.features.bias.fill_(torch.nan)
    assert objective(batch_for(objective)).total.isnan()


def test_the_same_seed_gives_identical_bits() -> None:
    objective = SetLoss(tiny.settrans(dropout=0.3))
    runs = []
    for _ in range(2):
        torch.manual_seed(1)
        objective.zero_grad()
        objective(batch_for(objective)).total.backward()
        runs.append([weight.grad for weight in objective.network.parameters()])
    for first, second in zip(*runs, strict=True):
        assert first is not None
        assert torch.equal(first, second)
