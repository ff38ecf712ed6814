"""The configuration of a run: sections of settings, the scales, overrides, and its file.

A scale (`tiny`, `small`, `paper`) is a size and a way of training, not a system: every system can
be trained at every scale. `further` is for models that have their size already. A saved
configuration carries the help of its settings as comments.
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
    Adversarial,
    Beam,
    Heads,
    Limits,
    Loss,
    Machine,
    Model,
    Record,
    Reward,
    Section,
    Train,
    Validation,
)

SCALES = ("tiny", "small", "paper", "further")

# What gives the saved state of a run its meaning.
_FIXED = (
    "model.",
    "loss.",
    "heads.",
    "adversarial.",
    "train.batch_",
    "train.pool_batches",
    "train.keyphrase_dropout",
    "train.average_decay",
    "validation.select_by",
)

# Settings that were removed, and the value by which each was off. Files that were saved by versions
# up to `_LAST_WITH_REMOVED` have them.
_REMOVED: dict[str, Any] = {
    "model.code_attention": False,
    "loss.code_groups": 1,
    "train.short_words": 0,
    "train.short_share": 0.6,
}
_LAST_WITH_REMOVED = "d5c0950"


class Config(Section):
    """Everything but the system, the corpus and the seed, which are arguments of a run."""

    model: Model = Model()
    loss: Loss = Loss()
    heads: Heads = Heads()
    beam: Beam = Beam()
    reward: Reward = Reward()
    adversarial: Adversarial = Adversarial()
    train: Train = Train()
    validation: Validation = Validation()
    limits: Limits = Limits()
    record: Record = Record()
    machine: Machine = Machine()

    @classmethod
    def scale(cls, name: str) -> Self:
        """A scale by its name, or a configuration file by its path."""
        if name in SCALES:
            text = files("one2set").joinpath("configs", f"{name}.toml").read_text(encoding="utf-8")
            return cls._checked(tomllib.loads(text), name)
        path = Path(name)
        if path.suffix != ".toml":
            raise ConfigError(f"scale is {name!r}; expected {', '.join(SCALES)} or a .toml file")
        return cls.load(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path} cannot be read ({error.strerror})") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not TOML ({error}); mend it") from None
        return cls._checked(_without_removed(values, path), str(path))

    def override(self, settings: Sequence[str]) -> Self:
        """The same with some values changed: `train.batch_documents=12`."""
        values = self.model_dump()
        for setting in settings:
            key, equals, text = setting.partition("=")
            section, dot, name = key.strip().partition(".")
            if not equals or not dot:
                raise ConfigError(f"setting is {setting!r}; expected section.name=value")
            values.setdefault(section, {})[name] = _parsed(text.strip())
        return self._checked(values, "--set")

    @classmethod
    def _checked(cls, values: Mapping[str, Any], where: str) -> Self:
        """Values as a configuration, or an error that names the setting and what it may be."""
        known = list(cls().flat())
        for section, named in values.items():
            for name in named if isinstance(named, Mapping) else [""]:
                if f"{section}.{name}" not in known:
                    near = get_close_matches(f"{section}.{name}", known, n=1, cutoff=0)[0]
                    raise ConfigError(
                        f"{where}: there is no setting {section}.{name}; did you mean {near}?"
                    )
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
        """A file that `load` reads, with the help as comments."""
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
        """The settings that a run cannot change when it is resumed, by their full names."""
        return {key: value for key, value in self.flat().items() if key.startswith(_FIXED)}

    def flat(self) -> dict[str, Any]:
        """Every setting by its full name."""
        return {
            f"{section}.{name}": value
            for section, values in self.model_dump().items()
            for name, value in values.items()
        }


def fingerprint(values: Mapping[str, Any]) -> str:
    """A short hash of plain values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _without_removed(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The values of a saved file without removed settings, which must be off."""
    kept: dict[str, Any] = {}
    for section, named in values.items():
        if not isinstance(named, Mapping):
            kept[section] = named
            continue
        kept[section] = {k: v for k, v in named.items() if f"{section}.{k}" not in _REMOVED}
        for name in named.keys() - kept[section].keys():
            off = _REMOVED[f"{section}.{name}"]
            if named[name] != off:
                raise ConfigError(
                    f"{path}: {section}.{name} is {named[name]!r}, and this setting was removed; "
                    f"delete it from the file ({off!r} is what remains), or use one2set of commit "
                    f"{_LAST_WITH_REMOVED}, the last that has it"
                )
    return kept


def _parsed(text: str) -> Any:
    """A value as TOML has it; anything else is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
