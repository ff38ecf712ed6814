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
from typing import Any, Self

from pydantic import ValidationError

from one2set.errors import ConfigError
from one2set.settings import (
    AdversarialSettings,
    BeamSettings,
    HeadSettings,
    LimitSettings,
    LoggingSettings,
    LossSettings,
    MachineSettings,
    ModelSettings,
    RewardSettings,
    Section,
    TrainSettings,
    ValidationSettings,
)

SCALES = ("tiny", "small", "medium", "paper", "further")

# Settings that a resumed run cannot change, because its checkpoints depend on them.
_FIXED = (
    "model.",
    "loss.",
    "heads.",
    "adversarial.",
    "train.batch_",
    "train.pool_batches",
    "train.average_decay",
    "validation.select_by",
)

# Saved files may have settings of earlier versions. Those that were renamed: old name, new name.
_RENAMED: dict[str, str] = {
    "train.shares": "train.micro_batches",
    "train.encoder_rate": "train.encoder_lr_factor",
    "record.checkpoint_steps": "logging.checkpoint_steps",
    "record.checkpoint_minutes": "logging.checkpoint_minutes",
    "record.log_steps": "logging.log_steps",
    "record.tensorboard": "logging.tensorboard",
    "record.curves": "logging.curves",
}
# Those that were removed: the value that turned each off, and the last commit that has it.
_REMOVED: dict[str, tuple[Any, str]] = {
    "model.code_attention": (False, "d5c0950"),
    "loss.code_groups": (1, "d5c0950"),
    "train.short_words": (0, "d5c0950"),
    "train.short_share": (0.6, "d5c0950"),
    "loss.reassign": (False, "50d9ee3"),
    "train.keyphrase_dropout": (0.0, "50d9ee3"),
}


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
        """Read a saved file, also one of an earlier version."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML ({error}); correct it") from None
        return cls._validate(_update_old_settings(values, path), str(path))

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


def _update_old_settings(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The values of a saved file with renamed settings under their new names, and without removed
    settings, which must be off."""
    updated: dict[str, Any] = {}
    for section, named in values.items():
        if not isinstance(named, Mapping):
            updated[section] = named
            continue
        for name, value in named.items():
            key = f"{section}.{name}"
            if key not in _REMOVED:
                new_section, _, new_name = _RENAMED.get(key, key).partition(".")
                updated.setdefault(new_section, {})[new_name] = value
                continue
            off, last_commit = _REMOVED[key]
            if value != off:
                raise ConfigError(
                    f"{path}: {key} is {value!r}, but this setting was removed; delete it from "
                    f"the file ({off!r} is what remains), or use one2set of commit "
                    f"{last_commit}, the last that has it"
                )
    return updated


def _advise(key: str, known: Sequence[str]) -> str:
    """The setting that was probably meant; if none is near, those of the section."""
    near = [_RENAMED[key]] if key in _RENAMED else get_close_matches(key, known, n=1, cutoff=0.75)
    if near:
        return f"did you mean {near[0]}?"
    section = [each for each in known if each.startswith(f"{key.partition('.')[0]}.")]
    return f"expected one of {', '.join(section or known)}"


def _parse_value(text: str) -> Any:
    """Parse a value as TOML; anything else is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
