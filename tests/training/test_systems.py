"""The table of systems, and the systems built from it."""

from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

from one2set.data.batch import (
    Layout,
    SetLayout,
    collate,
    nested,
    one_to_one,
    sequence,
    sequence_missing_eos,
    sequence_peos,
)
from one2set.errors import ConfigError
from one2set.model import folder
from one2set.model.dropout import Dropout
from one2set.model.exhird import ExHiRD
from one2set.model.network import Network
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.search import Generation, Search
from one2set.training.config import Config
from one2set.training.objectives.adversarial import AdversarialLoss
from one2set.training.objectives.likelihood import Likelihood
from one2set.training.objectives.policy import AdaptiveReward, SelfCritical
from one2set.training.objectives.set_loss import SetLoss
from one2set.training.schedule import Progress
from one2set.training.systems import (
    SYSTEMS,
    BuiltSystem,
    System,
    build,
    configure_system,
    get_system,
)
from tests.model import tiny
from tests.training.conftest import SETTINGS

ABLATIONS = {
    "settrans-no-codes": ("control_codes", False),
    "settrans-fixed": ("assignment", "fixed"),
    "settrans-random": ("assignment", "random"),
    "settrans-student": ("teacher_forcing", False),
    "settrans-single": ("separate", False),
}


# Values that are no default and differ from one another, so that none can be lost or swapped.
UNUSUAL = (
    "model.vocabulary_size=60",
    "model.output_size=30",
    "model.width=24",
    "model.heads=3",
    "model.feed_forward=20",
    "model.encoder_layers=2",
    "model.decoder_layers=3",
    "model.dropout=0.25",
    "model.embedding_width=10",
    "model.hidden_width=14",
    "model.num_codes=4",
    "model.phrase_length=5",
    "model.sequence_length=17",
    "train.drop_oov_phrases=true",
    "loss.assign_steps=3",
    "loss.null_weight_present=0.3",
    "loss.null_weight_absent=0.4",
    "loss.shared_encoding=true",
    "reward.samples=3",
    "adversarial.head_start=5",
    "adversarial.generator_steps=4",
    "adversarial.discriminator_steps=2",
    "adversarial.learning_rate=0.06",
    "adversarial.embedding=9",
    "adversarial.hidden=7",
    "adversarial.dropout=0.35",
    "train.learning_rate=0.02",
    "beam.width=7",
    "beam.keep=3",
    "beam.length_penalty=0.5",
)
WORDS = {"vocabulary_size": 60, "output_size": 30}
RECURRENT = WORDS | {"embedding_width": 10, "hidden_width": 14, "dropout": 0.25}
TRANSFORMER = WORDS | {
    "width": 24,
    "heads": 3,
    "feed_forward": 20,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "dropout": 0.25,
    "encoder": "transformer",
}
SETTRANS = TRANSFORMER | {"num_codes": 4, "control_codes": True}
SEQUENCE, SET = Generation("sequence", 17), Generation("phrase", 5)


class Expected(NamedTuple):
    """A row of the table, and what must be built of it with the settings above."""

    network: type[Network]
    arguments: dict[str, Any]
    layout: Layout
    objective: type[nn.Module]
    generation: Generation


# Spelt out once more, as the papers have it: a test that read `SYSTEMS` would find itself right.
EXPECTED = {
    "transformer": Expected(Transformer, TRANSFORMER, sequence, Likelihood, SEQUENCE),
    "transformer-missing-eos": Expected(
        Transformer, TRANSFORMER, sequence_missing_eos, Likelihood, SEQUENCE
    ),
    "catseq": Expected(
        Recurrent, RECURRENT | {"title_guided": False}, sequence, Likelihood, SEQUENCE
    ),
    "catseqtg": Expected(
        Recurrent, RECURRENT | {"title_guided": True}, sequence, Likelihood, SEQUENCE
    ),
    "catseqtg-peos": Expected(
        Recurrent, RECURRENT | {"title_guided": True}, sequence_peos, Likelihood, SEQUENCE
    ),
    "catseqtg-2rf1": Expected(
        Recurrent, RECURRENT | {"title_guided": True}, sequence_peos, SelfCritical, SEQUENCE
    ),
    "gan-mr": Expected(
        Recurrent, RECURRENT | {"title_guided": False}, sequence, AdversarialLoss, SEQUENCE
    ),
    "copyrnn": Expected(
        Recurrent,
        RECURRENT | {"title_guided": False},
        one_to_one,
        Likelihood,
        Generation("phrase", 5, Search(7, length_penalty=0.5, pool=True, keep=3)),
    ),
    "exhird": Expected(
        ExHiRD,
        WORDS | {"embedding_width": 10, "hidden_width": 14},
        nested,
        Likelihood,
        # 20 phrases of a kind, five words and a separator, and the end; a phrase must not begin as
        # the one before it.
        Generation("nested", 141, Search(exclusive=1)),
    ),
    "settrans-no-codes": Expected(
        SetTrans, SETTRANS | {"control_codes": False}, SetLayout(4, 5), SetLoss, SET
    ),
    "settrans-single": Expected(SetTrans, SETTRANS, SetLayout(4, 5, separate=False), SetLoss, SET),
    **dict.fromkeys(
        ("settrans", "settrans-fixed", "settrans-random", "settrans-student"),
        Expected(SetTrans, SETTRANS, SetLayout(4, 5), SetLoss, SET),
    ),
}


@pytest.mark.parametrize(("name", "change"), ABLATIONS.items())
def test_an_ablation_is_settrans_with_one_option_changed(
    name: str, change: tuple[str, object]
) -> None:
    full, ablated = asdict(SYSTEMS["settrans"]), asdict(SYSTEMS[name])
    full["options"] |= dict([change])
    assert ablated == full


def build_with_unusual_settings(name: str) -> BuiltSystem:
    return build(name, Config.scale("tiny").override(UNUSUAL), tiny.vocabulary(60))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_row_reaches_network_targets_objective_and_search(name: str) -> None:
    expected, built = EXPECTED[name], build_with_unusual_settings(name)
    assert type(built.network) is expected.network
    actual = {key: built.network.arguments[key] for key in expected.arguments}
    assert actual == expected.arguments
    dropouts = {module.rate for module in built.network.modules() if isinstance(module, Dropout)}
    assert dropouts == ({0.25} if "dropout" in expected.arguments else set())

    examples = tiny.examples(6)
    every, reachable = (
        collate(
            examples,
            vocabulary_size=60,
            layout=expected.layout,
            output_size=30,
            drop_oov_phrases=drop,
        ).targets
        for drop in (False, True)
    )
    assert torch.equal(built.collate(examples).targets, reachable)
    assert not torch.equal(every, reachable)

    assert type(built.objective) is expected.objective
    assert built.objective.network is built.network
    if isinstance(built.objective, SetLoss):
        assert built.objective.layout == expected.layout
    assert built.generation == expected.generation


@pytest.mark.parametrize(
    ("name", "assignment", "teacher_forcing", "null_weight"),
    [
        ("settrans", "hungarian", True, [0.3, 0.3, 0.4, 0.4]),
        ("settrans-no-codes", "hungarian", True, [0.3, 0.3, 0.4, 0.4]),
        ("settrans-fixed", "fixed", True, [0.3, 0.3, 0.4, 0.4]),
        ("settrans-random", "random", True, [0.3, 0.3, 0.4, 0.4]),
        ("settrans-student", "hungarian", False, [0.3, 0.3, 0.4, 0.4]),
        ("settrans-single", "hungarian", True, [0.3] * 4),  # one λ, that of present codes
    ],
)
def test_settings_reach_the_set_loss(
    name: str, assignment: str, teacher_forcing: bool, null_weight: list[float]
) -> None:
    objective = build_with_unusual_settings(name).objective
    assert isinstance(objective, SetLoss)
    assert objective.null_weight.tolist() == pytest.approx(null_weight)
    assert (objective.assignment, objective.teacher_forcing) == (assignment, teacher_forcing)
    assert objective.assign_steps == 3
    assert objective.shared_encoding


def test_settings_reach_rewards_and_discriminator() -> None:
    reinforced = build_with_unusual_settings("catseqtg-2rf1").objective
    assert isinstance(reinforced, SelfCritical)
    assert isinstance(reinforced.reward, AdaptiveReward)
    assert (reinforced.steps, reinforced.samples) == (17, 3)

    objective = build_with_unusual_settings("gan-mr").objective
    assert isinstance(objective, AdversarialLoss)
    assert (objective.steps, objective.samples) == (17, 3)
    # Five steps of the discriminator, four of the generator, two of the discriminator, …
    rates = [objective.start_step(step) for step in range(16)]
    assert rates == pytest.approx([3.0] * 5 + [1.0] * 4 + [3.0] * 2 + [1.0] * 4 + [3.0])
    judge = objective.discriminator
    assert judge.vocabulary_size == 60
    assert (judge.embedding.embedding_dim, judge.score.in_features) == (9, 2 * 7)
    dropouts = [module.rate for module in judge.modules() if isinstance(module, Dropout)]
    assert [*dropouts, judge.list.dropout] == [0.35] * 3


PAPER = (1e-4, 12, "plateau", 0, "loss")
RECURRENT_PAPER = (1e-3, 12, "plateau", 0, "loss")  # Chan et al. (2019)


@pytest.mark.parametrize(
    ("name", "starts_from", "training"),
    [
        ("transformer", None, PAPER),
        ("transformer-missing-eos", None, PAPER),
        ("catseq", None, RECURRENT_PAPER),
        ("catseqtg", None, RECURRENT_PAPER),
        ("catseqtg-peos", None, RECURRENT_PAPER),
        ("catseqtg-2rf1", "catseqtg-peos", (5e-5, 32, "constant", 0, "loss")),
        ("gan-mr", "catseq", (5e-5, 32, "constant", 0, "f1")),
        ("exhird", None, RECURRENT_PAPER),
        ("copyrnn", None, RECURRENT_PAPER),
        *((name, None, PAPER) for name in ("settrans", *ABLATIONS)),
    ],
)
def test_every_row_is_trained_as_in_its_paper(
    name: str, starts_from: str | None, training: tuple[object, ...]
) -> None:
    assert SYSTEMS[name].starts_from == starts_from
    config = configure_system(name, scale="paper")
    train = config.train
    assert (
        train.learning_rate,
        train.batch_documents,
        train.schedule,
        train.warmup_steps,
        config.validation.select_by,
    ) == training


@pytest.mark.parametrize(("name", "selects"), [("catseqtg-2rf1", "loss"), ("gan-mr", "f1")])
def test_fine_tuning_does_not_follow_the_scale(name: str, selects: str) -> None:
    """Small warms up, lets the rate fall and selects by F1; tiny selects by the loss."""
    for scale in ("tiny", "small"):
        config = configure_system(name, scale=scale)
        assert (config.train.learning_rate, config.train.schedule) == (5e-5, "constant")
        assert (config.train.batch_documents, config.train.warmup_steps) == (32, 0)
        assert config.validation.select_by == selects


@pytest.mark.parametrize("name", SYSTEMS)
def test_models_are_trained_further_at_a_low_rate(name: str) -> None:
    fine_tuned = SYSTEMS[name].starts_from is not None
    rate = configure_system(name, scale="further").train.learning_rate
    assert rate == (5e-5 if fine_tuned else 2e-4)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_schedule_of_medium_ends_with_its_last_example(name: str) -> None:
    config = configure_system(name, scale="medium")
    train, limits = config.train, config.limits
    assert (config.model.embedding_width, config.model.hidden_width) == (100, 300)
    assert config.validation.patience == 0
    assert limits.documents == 150_000
    end = Progress(step=9_000, documents=limits.documents)
    done = end.fraction_done(limits, epoch_documents=288_000)
    assert end.stop_reason(done, config.validation) == "limit"
    fine_tuned = SYSTEMS[name].starts_from is not None
    assert end.learning_rate(done, train) == (train.learning_rate if fine_tuned else 0)
    before = Progress(step=8_999, documents=limits.documents - 1)
    done = before.fraction_done(limits, epoch_documents=288_000)
    assert before.stop_reason(done, config.validation) is None


def test_a_network_that_cannot_be_saved_fails_when_it_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(folder.NETWORKS, "recurrent")
    with pytest.raises(TypeError, match=r"Recurrent is not in model\.folder\.NETWORKS"):
        build_with_unusual_settings("catseq")


def test_initial_weights_depend_on_the_seed() -> None:
    config = Config.scale("tiny").override(SETTINGS)

    def first(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return next(build("settrans", config, tiny.vocabulary(60)).network.parameters())

    assert torch.equal(first(1), first(1))
    assert not torch.equal(first(1), first(2))


def test_user_settings_override_those_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = System(
        "transformer", "sequence", "likelihood", "greedy", settings=("train.learning_rate=0.25",)
    )
    monkeypatch.setitem(SYSTEMS, "own", own)
    rates = [
        configure_system(name, scale="tiny", changes=changes).train.learning_rate
        for name, changes in (
            ("transformer", ()),
            ("own", ()),
            ("own", ["train.learning_rate=0.5"]),
        )
    ]
    assert rates == [Config.scale("tiny").train.learning_rate, 0.25, 0.5]


def test_an_unknown_system_is_an_error() -> None:
    with pytest.raises(ConfigError, match="system is 'settran'; expected one of transformer"):
        get_system("settran")


def test_layers_are_frozen_where_there_are_layers() -> None:
    settings = Config.scale("tiny").override([*SETTINGS, "train.frozen_layers=1"])
    network = build("settrans", settings, tiny.vocabulary(50)).network
    learning = {name for name, weight in network.named_parameters() if weight.requires_grad}
    assert "embedding.weight" not in learning
    assert not any(name.startswith("encoder.layers.0") for name in learning)
    with pytest.raises(ConfigError, match=r"frozen_layers is 1; only Transformers"):
        build("catseq", settings, tiny.vocabulary(50))
