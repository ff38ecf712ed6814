"""The table of systems, and what is built from it."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from one2set.config import Config
from one2set.data.batch import SetLayout, sequence, sequence_missing_eos, sequence_peos
from one2set.data.corpus import Corpus
from one2set.errors import ConfigError
from one2set.model.folder import load_model
from one2set.model.gru import TitleGuidedEncoder
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.systems import (
    SYSTEMS,
    System,
    build,
    configuration,
    expect_start,
    system_named,
)
from one2set.training.likelihood import Likelihood
from one2set.training.run import Facts, Run
from one2set.training.set_loss import SetLoss
from tests.model import tiny
from tests.training.conftest import SETTINGS, Miniature

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
}


@pytest.mark.parametrize(("name", "change"), ABLATIONS.items())
def test_an_ablation_is_settrans_with_one_option_changed(
    name: str, change: tuple[str, object]
) -> None:
    full, ablated = asdict(SYSTEMS["settrans"]), asdict(SYSTEMS[name])
    full["options"] |= dict([change])
    assert ablated == full


def test_every_row_reaches_what_is_built() -> None:
    config = Config.scale("tiny").override(SETTINGS)
    built = {name: build(name, config, tiny.vocabulary(60)) for name in SYSTEMS}
    for name, system in SYSTEMS.items():
        objective, network = built[name].objective, built[name].network
        assert isinstance(network, SetTrans) == (system.network == "settrans")
        if isinstance(network, Recurrent):
            guided = isinstance(network.encoder, TitleGuidedEncoder)
            assert guided == (system.network == "recurrent_title")
            sizes = network.arguments["embedding_width"], network.arguments["hidden_width"]
            assert sizes == (config.model.embedding_width, config.model.hidden_width)
        if system.objective == "likelihood":
            assert isinstance(objective, Likelihood)
            assert objective.layout is LAYOUTS[system.targets]
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


def test_a_system_that_starts_from_another_says_how_to_make_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = System("transformer", "sequence", "likelihood", "greedy", starts_from="transformer")
    monkeypatch.setitem(SYSTEMS, "later", later)
    expect_start("transformer", init=None, corpus=Path("corpus"))
    expect_start("later", init=Path("run"), corpus=Path("corpus"))
    with pytest.raises(ConfigError, match="one2set train corpus --system transformer --output RUN"):
        expect_start("later", init=None, corpus=Path("corpus"))


def test_a_run_can_start_from_another_ones_model(corpus_folder: Path, tmp_path: Path) -> None:
    miniature = Miniature(Corpus(corpus_folder))
    before = miniature.run(tmp_path / "before", "limits.steps=2")
    miniature.train(before)
    saved = load_model(before.model)
    assert saved.config["system"] == "settrans"

    def start(init: Path, *settings: str, system: str = "settrans") -> torch.nn.Module:
        facts = Facts.new(system=system, seed=9, corpus=miniature.corpus, init=init)
        config = Config.scale("tiny").override([*SETTINGS, *settings])
        return miniature.task(Run(tmp_path / "run", facts, config)).objective

    for init in (before.folder, before.model):
        network = start(init).network
        assert isinstance(network, SetTrans)
        for name, tensor in saved.network.state_dict().items():
            assert torch.equal(network.state_dict()[name], tensor), name
    with pytest.raises(ConfigError, match=r"its codes\.weight is \(8, 16\), .* is missing"):
        start(before.folder, system="transformer")
    with pytest.raises(ConfigError, match=r"is \(8, 16\), but this run's is \(4, 16\)"):
        start(before.folder, "model.num_codes=4")
