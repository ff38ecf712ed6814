"""The help of each command: an example, real types, 80 columns."""

import pytest
from typer.testing import CliRunner

from one2set.cli import _COMMANDS, app
from one2set.errors import ConfigError


def show_help(*command: str) -> str:
    shown = CliRunner().invoke(app, [*command, "--help"], terminal_width=80, env={"COLUMNS": "80"})
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.mark.parametrize("module", _COMMANDS)
def test_help_fits_and_has_an_example(module: str) -> None:
    command = module.replace("_", "-")
    text = show_help(command)
    assert max(map(len, text.splitlines())) <= 80
    assert f"\n one2set {command} " in text
    assert not [name for name in ("<bool>", "<int>", "<float>", "<int range>") if name in text]
    usage = next(line for line in text.splitlines() if "Usage:" in line)
    assert "{" not in usage


def test_the_help_of_all_commands_shows_flags_without_a_type() -> None:
    text = show_help()
    assert "<bool>" not in text
    assert all(name.replace("_", "-") in text for name in _COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "--top", "ten", "A text."], "--top is ten; input should be a valid integer"),
        (["reproduce", "corpus", "-o", "out", "--seeds", "0"], "--seeds is 0; input should be gr"),
        (["generate", "--format", "xml", "A text."], "--format is xml; expected one of '"),
    ],
)
def test_an_error_names_the_option_its_value_and_what_is_allowed(
    arguments: list[str], message: str
) -> None:
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, ConfigError)
    assert str(error).startswith(message)


def test_a_missing_argument_is_named() -> None:
    missing = CliRunner().invoke(app, ["train"])
    assert missing.exit_code == 2
    assert "Missing argument 'CORPUS'" in missing.output
