"""The table of systems, and what is built from it."""

from dataclasses import asdict

import pytest
import torch

from one2set.config import Config
from one2set.data.batch import (
    SetLayout,
    nested,
    one_to_one,
    sequence,
    sequence_missing_eos,
    sequence_peos,
)
from one2set.data.specials import PEOS
from one2set.errors import ConfigError
from one2set.model.exhird import ExHiRD
from one2set.model.gru import TitleGuidedEncoder
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.systems import (
    SYSTEMS,
    System,
    build,
    configuration,
    system_named,
)
from one2set.training.adversarial import Adversarial
from one2set.training.likelihood import Likelihood
from one2set.training.policy import SelfCritical
from one2set.training.reward import AdaptiveReward
from one2set.training.set_loss import SetLoss
from tests.model import tiny
from tests.training.conftest import SETTINGS

ABLATIONS = {
    "settrans-no-codes": ("control_codes", False),
    "settrans-fixed": ("assignment", "fixed"),
    "settrans-random": ("assignment", "random"),
    "settrans-student": ("teacher_forcing", False),
    "settrans-single": ("separate", False),
}


LAYOUTS = {
    "sequence": sequence,
    "sequence_peos": sequence_peos,
    "sequence_missing_eos": sequence_missing_eos,
    "one_to_one": one_to_one,
    "nested": nested,
}


@pytest.mark.parametrize(("name", "change"), ABLATIONS.items())
def test_an_ablation_is_settrans_with_one_option_changed(
    name: str, change: tuple[str, object]
) -> None:
    full, ablated = asdict(SYSTEMS["settrans"]), asdict(SYSTEMS[name])
    full["options"] |= dict([change])
    assert ablated == full


def test_every_row_reaches_what_is_built() -> None:
    config = Config.scale("tiny").override([*SETTINGS, "reward.samples=3"])
    built = {name: build(name, config, tiny.vocabulary(60)) for name in SYSTEMS}
    for name, system in SYSTEMS.items():
        objective, network = built[name].objective, built[name].network
        assert isinstance(network, SetTrans) == (system.network == "settrans")
        assert isinstance(network, ExHiRD) == (system.network == "exhird")
        if isinstance(network, Recurrent | ExHiRD):
            guided = isinstance(network.encoder, TitleGuidedEncoder)
            assert guided == (system.network == "recurrent_title")
            sizes = network.arguments["embedding_width"], network.arguments["hidden_width"]
            assert sizes == (config.model.embedding_width, config.model.hidden_width)
        if system.objective == "likelihood":
            assert isinstance(objective, Likelihood)
            assert objective.layout is LAYOUTS[system.targets]
            continue
        if system.objective == "reward":
            assert isinstance(objective, SelfCritical)
            assert isinstance(objective.reward, AdaptiveReward)
            assert objective.steps == config.model.sequence_length
            assert objective.samples == config.reward.samples
            batch = built[name].collate(tiny.examples(1))
            assert PEOS in batch.targets
            continue
        if system.objective == "adversarial":
            assert isinstance(objective, Adversarial)
            rounds = config.adversarial
            assert objective.samples == config.reward.samples
            assert objective.discriminator.embedding.embedding_dim == rounds.embedding
            assert objective.discriminator.score.in_features == 2 * rounds.hidden
            assert objective.begin(0) == rounds.learning_rate / config.train.learning_rate
            assert objective.begin(rounds.head_start) == 1.0
            assert objective.generator_steps == rounds.generator_steps
            assert objective.discriminator_steps == rounds.discriminator_steps
            continue
        assert isinstance(objective, SetLoss)
        assert isinstance(network, SetTrans)
        options = system.options
        assert (network.codes is not None) == options.control_codes
        assert objective.assignment == options.assignment
        assert objective.teacher_forcing == options.teacher_forcing
        assert objective.layout == SetLayout(8, 6, options.separate)
        assert objective.assign_steps == config.loss.assign_steps


def test_weights_are_the_seeds() -> None:
    config = Config.scale("tiny").override(SETTINGS)

    def first(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return next(build("settrans", config, tiny.vocabulary(60)).network.parameters())

    assert torch.equal(first(1), first(1))
    assert not torch.equal(first(1), first(2))


def test_a_system_has_settings_of_its_own_which_the_user_overrules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = System(
        "transformer", "sequence", "likelihood", "greedy", settings=("train.learning_rate=0.25",)
    )
    monkeypatch.setitem(SYSTEMS, "own", own)
    rates = [
        configuration(name, scale="tiny", changes=changes).train.learning_rate
        for name, changes in (
            ("transformer", ()),
            ("own", ()),
            ("own", ["train.learning_rate=0.5"]),
        )
    ]
    assert rates == [Config.scale("tiny").train.learning_rate, 0.25, 0.5]


def test_an_unknown_system_is_told() -> None:
    with pytest.raises(ConfigError, match="system is 'settran'; expected one of transformer"):
        system_named("settran")


def test_layers_are_frozen_where_there_are_layers() -> None:
    settings = Config.scale("tiny").override([*SETTINGS, "train.frozen_layers=1"])
    network = build("settrans", settings, tiny.vocabulary(50)).network
    learning = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert "embedding.weight" not in learning
    assert not any(name.startswith("encoder.layers.0") for name in learning)
    with pytest.raises(ConfigError, match=r"frozen_layers is 1; only Transformers"):
        build("catseq", settings, tiny.vocabulary(50))
