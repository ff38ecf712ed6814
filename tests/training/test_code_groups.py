"""Groups of codes: each as if it were alone, and none but the first is left behind."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from one2set.data.batch import collate
from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.inference.engine import Engine
from one2set.inference.export import export_model
from one2set.inference.runtime import Runtime
from one2set.model.folder import load_model
from one2set.model.settrans import SetTrans
from one2set.training.run import Run
from one2set.training.set_loss import SetLoss
from tests.inference.same import assert_same
from tests.model import tiny
from tests.training.conftest import Miniature
from tests.training.test_set_loss import Spy, batch_for


def grouped(groups: int = 3, *, dropout: float = 0.0, **options: Any) -> SetLoss:
    """An objective whose groups are as different as codes that have learnt something."""
    network = tiny.settrans(dropout=dropout)
    objective = SetLoss(network, code_groups=groups, **options)
    for codes in objective.further_codes.parameters():
        nn.init.normal_(codes, std=2.0)
    return objective


def alone(objective: SetLoss, group: int) -> SetLoss:
    """The objective of a network whose own codes are those of a group."""
    network = copy.deepcopy(objective.network)
    if group:
        network.codes = cast(nn.Embedding, copy.deepcopy(objective.further_codes[group - 1]))
    return SetLoss(network)


def test_each_group_has_the_loss_and_gradients_that_it_would_have_alone() -> None:
    objective = grouped()
    batch = batch_for(objective)
    loss = objective(batch)
    loss.total.backward()

    apart = [alone(objective, group) for group in range(3)]
    losses = [one(batch) for one in apart]
    assert len({one.total.item() for one in losses}) == 3
    torch.testing.assert_close(loss.total, torch.stack([one.total for one in losses]).mean())
    assert loss.tokens == sum(one.tokens for one in losses)
    for name, part in loss.parts.items():
        torch.testing.assert_close(part, torch.stack([one.parts[name] for one in losses]).sum())

    shares: list[dict[str, Tensor | None]] = []
    for one, own in zip(apart, losses, strict=True):
        (own.total / 3).backward()
        shares.append({name: weight.grad for name, weight in one.network.named_parameters()})
    close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-6)
    for name, weight in objective.network.named_parameters():
        if name == "codes.weight":
            close(weight.grad, shares[0][name])
        elif any(share[name] is not None for share in shares):
            close(weight.grad, sum(share[name] for share in shares), msg=name)
    for codes, share in zip(objective.further_codes.parameters(), shares[1:], strict=True):
        close(codes.grad, share["codes.weight"])


def test_groups_of_equal_codes_have_the_loss_of_one() -> None:
    objective, one = grouped(), SetLoss(tiny.settrans())
    assert one.network.codes is not None
    with torch.no_grad():
        for codes in objective.further_codes.parameters():
            codes.copy_(one.network.codes.weight)
    batch = batch_for(one)
    torch.testing.assert_close(objective(batch).total, one(batch).total)


def test_groups_know_no_order_of_targets() -> None:
    objective = grouped()
    turned = [
        replace(example, present=example.present[::-1], absent=example.absent[::-1])
        for example in tiny.examples(6)
    ]
    batch = collate(turned, vocabulary_size=tiny.V, layout=objective.layout)
    torch.testing.assert_close(objective(batch).total, objective(batch_for(objective)).total)


@pytest.mark.parametrize("options", [{}, {"assignment": "random"}, {"teacher_forcing": False}])
def test_one_group_is_no_group_bit_for_bit(options: dict[str, Any]) -> None:
    """In training with dropout; and with several, outside training."""
    for groups, training in ((1, True), (3, False)):
        losses = []
        for objective in (
            SetLoss(tiny.settrans(dropout=0.3), **options),
            grouped(groups, dropout=0.3, **options),
        ):
            torch.manual_seed(1)
            losses.append(objective.train(training)(batch_for(objective)))
        assert torch.equal(losses[0].sum, losses[1].sum)
        assert losses[0].tokens == losses[1].tokens
        assert losses[0].parts == losses[1].parts


def test_groups_share_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = grouped(dropout=0.3, reassign=True)
    own = objective.network.codes
    spy = Spy(objective.network, monkeypatch)
    objective(batch_for(objective)).total.backward()
    assert spy.encoded == [True, False]
    assert spy.stepped == [False] * 3 * 4
    assert len(spy.memories) == 3
    assert len({id(memory) for memory in spy.memories}) == 1
    assert objective.network.codes is own


def test_the_network_starts_and_is_kept_as_if_there_were_no_groups() -> None:
    objective = grouped()
    assert objective.network.state_dict().keys() == tiny.settrans().state_dict().keys()
    for name, weight in tiny.settrans().state_dict().items():
        assert torch.equal(objective.network.state_dict()[name], weight), name
    assert {name for name in objective.state_dict() if not name.startswith("network.")} == {
        "further_codes.0.weight",
        "further_codes.1.weight",
    }
    with pytest.raises(ConfigError, match=r"loss\.code_groups is 2, .* no control codes"):
        SetLoss(tiny.settrans(control_codes=False), code_groups=2)


def test_a_trained_model_has_the_first_group_alone_and_can_be_exported(
    miniature: Miniature, tmp_path: Path, weights: Callable[[Run], dict[str, Tensor]]
) -> None:
    run = miniature.run(tmp_path / "run", "limits.steps=4", "loss.code_groups=3")
    miniature.train(run)
    learnt = weights(run)
    further = {learnt[f"average/further_codes.{group}.weight"].shape for group in range(2)}
    assert further == {learnt["average/network.codes.weight"].shape}

    saved = load_model(run.model)
    network = SetTrans(**saved.network.arguments)
    learnt_by_it = {name: learnt[f"average/network.{name}"] for name in network.state_dict()}
    network.load_state_dict(learnt_by_it)
    documents = [Document(str(i), "a study of bees", "bees dance " * i) for i in range(3)]
    expected = list(Engine(network, saved.vocabulary, device="cpu").predict(documents))
    assert_same(list(Engine.load(run.model, device="cpu").predict(documents)), expected)
    export_model(run.model, tmp_path / "exported", int8=False)
    assert_same(list(Runtime(tmp_path / "exported").predict(documents)), expected)
