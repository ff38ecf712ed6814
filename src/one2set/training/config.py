"""The configuration of a run: sections of settings, the scales, overrides, and its file.

A scale (`tiny`, `small`, `medium`, `paper`) is a network size with training settings, not a system:
every system can be trained at every scale. `further` is for fine-tuning an existing model, at its
own size. A saved configuration has the help of its settings as comments.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from one2set.data.specials import SPECIALS
from one2set.errors import ConfigError

FURTHER = "further"
SCALES = ("tiny", "small", "medium", "paper", FURTHER)

# Settings that a resumed run cannot change: its checkpoints depend on them, or validations before
# and after the change could not be compared.
_FIXED = (
    "model.",
    "loss.",
    "heads.",
    "adversarial.",
    "beam.",
    "train.batch_",
    "train.pool_batches",
    "train.drop_oov_phrases",
    "train.beta",
    "train.epsilon",
    "train.encoder_lr_factor",
    "train.frozen_layers",
    "train.average_decay",
    "validation.documents",
    "validation.select_by",
)


Fraction = Annotated[float, Field(ge=0, lt=1)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ModelSettings(Section):
    """The size of the network."""

    vocabulary_size: Annotated[int, Field(gt=len(SPECIALS))] = 50_002
    """Input vocabulary size, special tokens included; at most that of the corpus. A network knows
    all word pieces of a tokenizer."""
    output_size: NonNegativeInt = 0
    """Output vocabulary size: the most frequent words, or the first word pieces of the tokenizer,
    which the network can generate. Others can only be copied from the document. 0 for the whole
    input vocabulary."""
    width: PositiveInt = 512
    """Width of embeddings and hidden states (D) in Transformers."""
    heads: PositiveInt = 8
    """Number of attention heads. It must divide the width."""
    feed_forward: PositiveInt = 2048
    """Inner width of the feed-forward layers."""
    encoder_layers: PositiveInt = 6
    """Number of encoder layers."""
    decoder_layers: PositiveInt = 6
    """Number of decoder layers."""
    dropout: Fraction = 0.1
    """Dropout rate."""
    embedding_width: PositiveInt = 100
    """Width of the word embeddings (E) in recurrent networks."""
    hidden_width: Annotated[PositiveInt, Field(multiple_of=2)] = 300
    """Width of the hidden states (D) in recurrent networks, half of it for each direction."""
    encoder: Literal["transformer", "bert"] = "transformer"
    """Encoder of Transformers: the paper's, or BERT's, for which there are pretrained weights."""
    num_codes: Annotated[PositiveInt, Field(multiple_of=2)] = 20
    """Number of control codes (N): half for present phrases, half for absent ones."""
    phrase_length: Annotated[int, Field(ge=2)] = 6
    """Maximum number of words that a control code generates, `<eos>` included (L)."""
    sequence_length: Annotated[int, Field(ge=2)] = 60
    """Maximum number of words that a One2Seq network generates, separators and `<eos>` included."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}, not a multiple of heads = {self.heads}")
        return self


class LossSettings(Section):
    """The set loss."""

    assign_steps: PositiveInt = 2
    """Number of words that the K-step target assignment compares (K)."""
    null_weight_present: NonNegativeFloat = 0.2
    """Loss weight of ∅ for the present codes (λ_pre)."""
    null_weight_absent: NonNegativeFloat = 0.1
    """Loss weight of ∅ for the absent codes (λ_abs)."""
    shared_encoding: bool = False
    """Assign targets with the encoding (with dropout) that the loss uses, instead of encoding each
    document a second time without dropout. Saves a fifth of the computation."""


class HeadSettings(Section):
    """Two extra heads on the encoder, trained with the set loss if either weight is not 0."""

    span_weight: NonNegativeFloat = 0.0
    """Weight of the span loss: is an n-gram of the document a keyphrase?"""
    phrase_weight: NonNegativeFloat = 0.0
    """Weight of the phrase loss: which phrases of a list are keyphrases of the document?"""
    span_width: PositiveInt = 128
    """Hidden width of the span scorer."""
    phrase_width: PositiveInt = 512
    """Hidden width of the phrase head."""
    num_phrases: PositiveInt = 20_000
    """Maximum length of the phrase list: the most frequent keyphrases of the training documents."""

    @property
    def trained(self) -> bool:
        """Whether the heads exist."""
        return self.span_weight > 0 or self.phrase_weight > 0


class RewardSettings(Section):
    """Policy gradients."""

    samples: PositiveInt = 1
    """Number of samples per document. More samples reduce the variance of the gradient at little
    cost, because a document is encoded once for all of them."""


class AdversarialSettings(Section):
    """The rounds of GAN_MR, and its discriminator."""

    head_start: NonNegativeInt = 4000
    """Number of discriminator steps before the first round."""
    generator_steps: PositiveInt = 2000
    """Number of generator steps in each round."""
    discriminator_steps: PositiveInt = 500
    """Number of discriminator steps in each round, after those of the generator."""
    learning_rate: PositiveFloat = 1e-3
    """Learning rate of the discriminator. That of the generator is train.learning_rate; both follow
    the same schedule."""
    embedding: PositiveInt = 200
    """Width of the discriminator's word embeddings."""
    hidden: PositiveInt = 150
    """Width of the discriminator's hidden states in each direction."""
    dropout: Fraction = 0.5
    """Dropout rate between the discriminator's layers."""


class BeamSettings(Section):
    """Beam search, for systems that generate more phrases than they keep."""

    width: PositiveInt = 50
    """Beam size."""
    keep: PositiveInt = 10
    """Number of phrases to keep, the most probable ones."""
    length_penalty: NonNegativeFloat = 0.0
    """Phrases are ranked by log P / length^penalty; 0 ranks by log P."""


class TrainSettings(Section):
    """Batches, the optimizer and its learning rate."""

    batch_documents: NonNegativeInt = 12
    """Maximum number of documents per batch; 0 for no limit."""
    batch_tokens: NonNegativeInt = 0
    """Maximum number of source words per batch, padding included; 0 for no limit."""
    pool_batches: PositiveInt = 1
    """Number of batches per pool. Documents are sorted by length within each pool, to reduce
    padding; 1 does not sort."""
    micro_batches: PositiveInt = 1
    """Number of micro-batches per batch (gradient accumulation), computed in turn or by several
    processes. More need less memory; the gradient remains that of the whole batch."""
    drop_oov_phrases: bool = False
    """Leave out target phrases with a word that the network can neither generate nor copy.
    Otherwise the word is trained as <unk>, as in the authors' release."""
    learning_rate: PositiveFloat = 1e-4
    """Maximum learning rate of Adam."""
    beta1: Fraction = 0.9
    """Adam's β₁."""
    beta2: Fraction = 0.998
    """Adam's β₂."""
    epsilon: PositiveFloat = 1e-9
    """Adam's ε."""
    clip_norm: PositiveFloat = 1.0
    """Maximum norm of the gradient; larger gradients are clipped to it."""
    schedule: Literal["plateau", "constant", "linear", "cosine"] = "plateau"
    """Learning rate schedule. plateau halves the rate after each validation without improvement;
    linear and cosine decrease it to 0 at the end of the run."""
    encoder_lr_factor: PositiveFloat = 1.0
    """Factor of the encoder's learning rate. Use less than 1 for a pretrained encoder."""
    frozen_layers: NonNegativeInt = 0
    """Number of encoder layers to freeze, from the first, together with the embeddings; 0 for none.
    """
    warmup_steps: NonNegativeInt = 0
    """Number of steps in which the learning rate rises linearly to its maximum."""
    average_decay: Fraction = 0.0
    """Decay of the moving average of the weights, which is validated and saved as the model; 0 for
    no averaging."""

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not self.batch_documents and not self.batch_tokens:
            raise ValueError("batch_documents and batch_tokens are both 0; set one of them")
        return self


class ValidationSettings(Section):
    """When to validate, how to select the best weights, and when to stop early."""

    every: NonNegativeInt = 8000
    """Number of steps between validations; 0 validates after each epoch."""
    first_epoch: PositiveInt = 2
    """First epoch with validations, counted from 1."""
    documents: NonNegativeInt = 0
    """Number of validation documents to use, evenly spaced; 0 for all."""
    select_by: Literal["loss", "f1"] = "loss"
    """Select the weights with the lowest loss, or with the highest F1@M over all phrases (ties: the
    lowest loss)."""
    patience: NonNegativeInt = 4
    """Stop after this many consecutive validations without improvement; 0 never stops early."""


class LimitSettings(Section):
    """When a run ends: at the first of these limits that it reaches."""

    epochs: NonNegativeInt = 20
    """Maximum number of epochs; 0 for no limit."""
    steps: NonNegativeInt = 0
    """Maximum number of optimiser steps; 0 for no limit."""
    documents: NonNegativeInt = 0
    """Maximum number of examples seen, over all epochs; 0 for no limit."""
    minutes: NonNegativeFloat = 0.0
    """Maximum training time in minutes; 0 for no limit. Runs with this limit are not reproducible.
    """

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not (self.epochs or self.steps or self.documents or self.minutes):
            raise ValueError("epochs, steps, documents and minutes are all 0; set one of them")
        return self


class LoggingSettings(Section):
    """What is written during training."""

    checkpoint_steps: NonNegativeInt = 0
    """Number of steps between checkpoints; 0 for no checkpoints by steps."""
    checkpoint_minutes: NonNegativeFloat = 10.0
    """Minutes between checkpoints; 0 for no checkpoints by time."""
    log_steps: PositiveInt = 50
    """Number of steps between lines of metrics.jsonl."""
    tensorboard: bool = True
    """Write TensorBoard files."""
    curves: bool = True
    """Plot the curves of loss and F1@M after each validation."""


class MachineSettings(Section):
    """The hardware."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Device; auto uses a GPU if there is one."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """bfloat16 multiplies in bfloat16, and keeps weights, norms and losses in float32; auto does so
    on GPUs and CPUs (AVX-512 BF16, AMX) that have instructions for it."""
    compile: bool = False
    """Compile the objective with torch.compile: takes minutes at the start, then steps are faster
    on a GPU."""
    threads: NonNegativeInt = 0
    """Number of threads per process; 0 divides the cores among the processes, or follows
    OMP_NUM_THREADS."""


class Config(Section):
    """All settings of a run. The system, the corpus and the seed are its arguments instead."""

    model: ModelSettings = ModelSettings()
    loss: LossSettings = LossSettings()
    heads: HeadSettings = HeadSettings()
    beam: BeamSettings = BeamSettings()
    reward: RewardSettings = RewardSettings()
    adversarial: AdversarialSettings = AdversarialSettings()
    train: TrainSettings = TrainSettings()
    validation: ValidationSettings = ValidationSettings()
    limits: LimitSettings = LimitSettings()
    logging: LoggingSettings = LoggingSettings()
    machine: MachineSettings = MachineSettings()

    @classmethod
    def scale(cls, name: str) -> Self:
        """Load a scale by its name, or a configuration file by its path."""
        if name in SCALES:
            text = files("one2set").joinpath("configs", f"{name}.toml").read_text(encoding="utf-8")
            return cls._validate(tomllib.loads(text), name)
        path = Path(name)
        if path.suffix != ".toml":
            raise ConfigError(f"scale is {name!r}; expected {', '.join(SCALES)} or a .toml file")
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a saved file."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML ({error}); correct it") from None
        return cls._validate(values, str(path))

    def override(self, settings: Sequence[str]) -> Self:
        """A copy with some values changed, such as `train.batch_documents=12`."""
        values = self.model_dump()
        for setting in settings:
            key, equals, text = setting.partition("=")
            section, dot, name = key.strip().partition(".")
            if not equals or not dot:
                raise ConfigError(f"setting is {setting!r}; expected section.name=value")
            values.setdefault(section, {})[name] = _parse_value(text.strip())
        return self._validate(values, "--set")

    @classmethod
    def _validate(cls, values: Mapping[str, Any], where: str) -> Self:
        """Build a configuration; errors name the setting and the values it allows."""
        known = list(cls().flat())
        for section, named in values.items():
            for name in named if isinstance(named, Mapping) else [""]:
                key = f"{section}.{name}"
                if key not in known:
                    raise ConfigError(f"{where}: there is no setting {key}; {_advise(key, known)}")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "value_error":
            raise ConfigError(f"{where}: in [{key}] {message}")
        raise ConfigError(
            f"{where}: {key} is {first['input']!r}; {message[0].lower()}{message[1:]}"
        )

    def to_toml(self) -> str:
        """The text of a file that `load` reads, with the help as comments."""
        blocks = []
        for section in type(self).model_fields:
            values: Section = getattr(self, section)
            lines = [f"[{section}]  # {(type(values).__doc__ or '').rstrip('.')}"]
            for name, field in type(values).model_fields.items():
                help = " ".join((field.description or "").split())
                # JSON's numbers, strings and booleans are TOML's too.
                lines.append(f"{name} = {json.dumps(getattr(values, name))}  # {help}")
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks) + "\n"

    def fixed(self) -> dict[str, Any]:
        """The settings that a resumed run cannot change, by their full names."""
        return {key: value for key, value in self.flat().items() if key.startswith(_FIXED)}

    def flat(self) -> dict[str, Any]:
        """Every setting by its full name."""
        return {
            f"{section}.{name}": value
            for section, values in self.model_dump().items()
            for name, value in values.items()
        }


def fingerprint(values: Mapping[str, Any]) -> str:
    """A short hash of JSON values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _advise(key: str, known: Sequence[str]) -> str:
    """The setting that was probably meant; if none is near, those of the section."""
    if near := get_close_matches(key, known, n=1, cutoff=0.75):
        return f"did you mean {near[0]}?"
    section = [name for name in known if name.startswith(f"{key.partition('.')[0]}.")]
    return f"expected one of {', '.join(section or known)}"


def _parse_value(text: str) -> Any:
    """Parse a value as TOML; anything else is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
