"""The systems of §4.2 and Table 5, as a table. No other module compares the names of systems.

A system is a network, a target layout, an objective and a decoding method. Some start from the
weights of another system, and some have their own training settings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from torch import nn

from one2set.data.batch import (
    Batch,
    Layout,
    SetLayout,
    collate,
    nested,
    one_to_one,
    sequence,
    sequence_missing_eos,
    sequence_peos,
)
from one2set.data.example import Example
from one2set.data.head_targets import HeadTargetBuilder
from one2set.data.phrase_list import PhraseList
from one2set.data.vocabulary import Vocabulary
from one2set.errors import ConfigError
from one2set.model.exhird import ExHiRD
from one2set.model.folder import get_network_name
from one2set.model.heads import Heads
from one2set.model.network import Network
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.exclusion import NESTED_STEPS
from one2set.prediction.search import Generation, Search
from one2set.training.config import FURTHER, Config
from one2set.training.objectives.adversarial import AdversarialLoss
from one2set.training.objectives.assignment import AssignmentMethod
from one2set.training.objectives.discriminator import Discriminator
from one2set.training.objectives.likelihood import Likelihood
from one2set.training.objectives.multitask import MultiTaskLoss
from one2set.training.objectives.policy import AdaptiveReward, SelfCritical
from one2set.training.objectives.set_loss import SetLoss

Targets = Literal[
    "sequence", "sequence_peos", "sequence_missing_eos", "nested", "one_to_one", "set"
]


@dataclass(frozen=True, slots=True)
class SetOptions:
    """What the paper's ablations change (Table 5), one option each."""

    control_codes: bool = True
    assignment: AssignmentMethod = "hungarian"
    teacher_forcing: bool = True
    separate: bool = True


@dataclass(frozen=True, slots=True)
class System:
    """One row of the table."""

    network: Literal["transformer", "settrans", "recurrent", "recurrent_title", "exhird"]
    targets: Targets
    objective: Literal["likelihood", "set_loss", "reward", "adversarial"]
    decoder: Literal["greedy", "greedy_set", "exclusive", "beam"]
    options: SetOptions = SetOptions()
    starts_from: str | None = None
    settings: tuple[str, ...] = ()  # such as train.learning_rate=1e-3; they override the scale


_RATE = ("train.learning_rate=1e-3",)  # of recurrent networks (Chan et al., 2019)
# Also of Chan et al.: trained weights need no warm-up and a low learning rate.
_FINE_TUNING = (
    "train.learning_rate=5e-5",
    "train.batch_documents=32",
    "train.schedule=constant",
    "train.warmup_steps=0",
)


def _make_ablation(options: SetOptions) -> System:
    return System("settrans", "set", "set_loss", "greedy_set", options)


SYSTEMS = {
    #                     network        targets     objective     decoder
    "transformer": System("transformer", "sequence", "likelihood", "greedy"),
    "settrans": System("settrans", "set", "set_loss", "greedy_set"),
    "catseq": System("recurrent", "sequence", "likelihood", "greedy", settings=_RATE),
    "catseqtg": System("recurrent_title", "sequence", "likelihood", "greedy", settings=_RATE),
    "catseqtg-peos": System(  # the start of 2RF1
        "recurrent_title", "sequence_peos", "likelihood", "greedy", settings=_RATE
    ),
    "catseqtg-2rf1": System(
        "recurrent_title",
        "sequence_peos",
        "reward",
        "greedy",
        starts_from="catseqtg-peos",
        settings=(*_FINE_TUNING, "validation.select_by=loss"),  # the loss is minus the reward
    ),
    "gan-mr": System(
        "recurrent",
        "sequence",
        "adversarial",
        "greedy",
        starts_from="catseq",
        settings=(*_FINE_TUNING, "validation.select_by=f1"),
    ),
    "exhird": System("exhird", "nested", "likelihood", "exclusive", settings=_RATE),
    "copyrnn": System("recurrent", "one_to_one", "likelihood", "beam", settings=_RATE),
    # The release omits the `<eos>` of documents without absent phrases, a fifth of KP20k.
    "transformer-missing-eos": System(
        "transformer", "sequence_missing_eos", "likelihood", "greedy"
    ),
    "settrans-no-codes": _make_ablation(SetOptions(control_codes=False)),
    "settrans-fixed": _make_ablation(SetOptions(assignment="fixed")),
    "settrans-random": _make_ablation(SetOptions(assignment="random")),
    "settrans-student": _make_ablation(SetOptions(teacher_forcing=False)),
    "settrans-single": _make_ablation(SetOptions(separate=False)),
}


def get_system(name: str) -> System:
    """Look up a system by its name."""
    if name not in SYSTEMS:
        raise ConfigError(f"system is {name!r}; expected one of {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def configure_system(name: str, *, scale: str, changes: Sequence[str] = ()) -> Config:
    """The configuration of a system: the scale, then the system's own settings, then `changes`."""
    settings = get_system(name).settings
    if scale == FURTHER and settings == _RATE:
        settings = ()  # the scale has a low rate, so that the model does not forget what it knows
    return Config.scale(scale).override(settings).override(changes)


@dataclass(frozen=True, slots=True)
class BuiltSystem:
    """The parts of a system that training and generation need."""

    network: Network
    objective: nn.Module  # forward(batch) → Loss
    collate: Callable[[Sequence[Example]], Batch]
    generation: Generation
    heads: Heads | None = None


def build(
    name: str,
    config: Config,
    vocabulary: Vocabulary,
    *,
    train: Sequence[Example] = (),
) -> BuiltSystem:
    """Build a system with random weights from torch's generator.

    `train` contains the training examples; the phrase list of the extra heads, if configured, is
    made from their keyphrases.
    """
    system = get_system(name)
    network = _build_network(system, config, vocabulary.size)
    get_network_name(network)  # fails here, not at the first save, if the network cannot be saved
    if config.train.frozen_layers:
        _freeze(network, config.train.frozen_layers)
    layout = _choose_layout(system, config)
    objective = _build_objective(system, config, network, layout, vocabulary)
    batch = partial(
        collate,
        vocabulary_size=vocabulary.size,
        layout=layout,
        output_size=network.arguments["output_size"],
        drop_oov_phrases=config.train.drop_oov_phrases,
    )
    heads = None
    if config.heads.trained:
        if not isinstance(objective, SetLoss):
            raise ConfigError(
                f"heads.span_weight is {config.heads.span_weight} and heads.phrase_weight is "
                f"{config.heads.phrase_weight}; only SetTrans has these heads, set both to 0"
            )
        heads = _build_heads(config, vocabulary, train)
        objective = MultiTaskLoss(
            objective,
            heads,
            span_weight=config.heads.span_weight,
            phrase_weight=config.heads.phrase_weight,
        )
        batch = partial(batch, head_targets=HeadTargetBuilder(vocabulary, heads.phrase_list))
    return BuiltSystem(network, objective, batch, _choose_generation(system, config), heads)


def _build_heads(config: Config, vocabulary: Vocabulary, train: Sequence[Example]) -> Heads:
    return Heads(
        PhraseList.from_examples(train, vocabulary, limit=config.heads.num_phrases),
        documents=len(train),
        width=config.model.width,
        span_width=config.heads.span_width,
        phrase_width=config.heads.phrase_width,
        dropout=config.model.dropout,
    )


def _build_network(system: System, config: Config, vocabulary_size: int) -> Network:
    size = config.model
    words: dict[str, Any] = {
        "vocabulary_size": vocabulary_size,
        "output_size": min(size.output_size or vocabulary_size, vocabulary_size),
    }
    if system.network in ("recurrent", "recurrent_title"):
        return Recurrent(
            **words,
            embedding_width=size.embedding_width,
            hidden_width=size.hidden_width,
            dropout=size.dropout,
            title_guided=system.network == "recurrent_title",
        )
    if system.network == "exhird":
        return ExHiRD(**words, embedding_width=size.embedding_width, hidden_width=size.hidden_width)
    layers: dict[str, Any] = {
        "width": size.width,
        "heads": size.heads,
        "feed_forward": size.feed_forward,
        "encoder_layers": size.encoder_layers,
        "decoder_layers": size.decoder_layers,
        "encoder": size.encoder,
    }
    if system.network == "transformer":
        return Transformer(**words, **layers, dropout=size.dropout)
    return SetTrans(
        **words,
        **layers,
        dropout=size.dropout,
        num_codes=size.num_codes,
        control_codes=system.options.control_codes,
    )


def _freeze(network: Network, layers: int) -> None:
    if not isinstance(network, Transformer):
        raise ConfigError(
            f"train.frozen_layers is {layers}; only Transformers have layers to freeze, set it to 0"
        )
    network.freeze(layers)


def _choose_layout(system: System, config: Config) -> Layout:
    match system.targets:
        case "sequence":
            return sequence
        case "sequence_peos":
            return sequence_peos
        case "nested":
            return nested
        case "sequence_missing_eos":
            return sequence_missing_eos
        case "one_to_one":
            return one_to_one
        case "set":
            size = config.model
            return SetLayout(size.num_codes, size.phrase_length, system.options.separate)


def _build_objective(
    system: System, config: Config, network: Network, layout: Layout, vocabulary: Vocabulary
) -> nn.Module:
    match system.objective:
        case "likelihood":
            return Likelihood(network)
        case "set_loss":
            assert isinstance(network, SetTrans)
            assert isinstance(layout, SetLayout)
            return SetLoss(
                network,
                assign_steps=config.loss.assign_steps,
                null_weight_present=config.loss.null_weight_present,
                null_weight_absent=config.loss.null_weight_absent,
                shared_encoding=config.loss.shared_encoding,
                phrase_length=layout.phrase_length,
                separate=layout.separate,
                assignment=system.options.assignment,
                teacher_forcing=system.options.teacher_forcing,
            )
        case "reward":
            reward = AdaptiveReward(vocabulary)
            return SelfCritical(
                network,
                reward=reward,
                steps=config.model.sequence_length,
                samples=config.reward.samples,
            )
        case "adversarial":
            rounds = config.adversarial
            discriminator = Discriminator(
                vocabulary_size=vocabulary.size,
                embedding=rounds.embedding,
                hidden=rounds.hidden,
                dropout=rounds.dropout,
            )
            return AdversarialLoss(
                network,
                discriminator,
                steps=config.model.sequence_length,
                samples=config.reward.samples,
                head_start=rounds.head_start,
                generator_steps=rounds.generator_steps,
                discriminator_steps=rounds.discriminator_steps,
                discriminator_lr_factor=rounds.learning_rate / config.train.learning_rate,
            )


def _choose_generation(system: System, config: Config) -> Generation:
    match system.decoder:
        case "greedy":
            return Generation("sequence", config.model.sequence_length)
        case "greedy_set":
            return Generation("phrase", config.model.phrase_length)
        case "beam":
            beam = config.beam
            search = Search(
                beam.width, length_penalty=beam.length_penalty, pool=True, keep=beam.keep
            )
            return Generation("phrase", config.model.phrase_length, search)
        case "exclusive":
            return Generation("nested", NESTED_STEPS, Search(exclusive=1))
