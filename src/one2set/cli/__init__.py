"""The command line: the commands, and errors as messages. Only this package prints.

Each command is a module and a function of its name. Only the module of the command that is run is
imported: all of them take as long as finding the keyphrases of a text.
"""

import errno
import gc
import os
import re
import sys
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from one2set.cli import console
from one2set.errors import ConfigError, One2SetError

# Disk errors that the user can fix.
_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is exceeded",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk reports an input/output error",
}


class _Parameters:
    """Shows flags without a type, and arguments without braces. Takes texts and defaults as they
    are: typer imports pydantic to convert values, which takes longer than finding the keyphrases of
    a text."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) or getattr(param, "count", False):
                param.metavar = ""  # otherwise <bool> and <int>
            param.process_value = partial(_process_value, param)
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub("[{}]", "", piece) for piece in pieces]


def _process_value(param: Any, ctx: Any, value: Any) -> Any:
    annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if param.required or not (value == param.default or annotation in (str, list[str])):
        try:
            return type(param).process_value(param, ctx, value)
        except typer.BadParameter as error:
            if param.value_is_missing(value):
                raise
            # typer's message says what is allowed, not what the value of a number is.
            message = error.message.removeprefix("Value error, ").rstrip(".")
            allowed = message.replace(f"{value!r} is not one of", "expected one of")
            name, allowed = _name_parameter(param), allowed[:1].lower() + allowed[1:]
            raise ConfigError(f"{name} is {value}; {allowed}") from None
    return value if param.callback is None else param.callback(ctx, param, value)


def _name_parameter(param: Any) -> str:
    """The name of an option, such as --top, or of an argument, such as MODEL."""
    name: str = param.metavar if param.param_type_name == "argument" else max(param.opts, key=len)
    return name


class _Group(_Parameters, TyperGroup):
    """All commands."""


class _Command(_Parameters, TyperCommand):
    """One command."""


# In the order of the help.
_COMMANDS = (
    "generate",
    "serve",
    "mcp",
    "prepare",
    "stats",
    "train",
    "compare",
    "reproduce",
    "import_checkpoint",
    "export",
    "learn",
    "calibrate",
    "predict",
    "evaluate",
    "sample",
)


def __getattr__(name: str) -> Any:
    if name == "app":  # with all commands
        return _make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _make_app(commands: Sequence[str] = _COMMANDS) -> typer.Typer:
    """The command line, with some of its commands."""
    app = typer.Typer(
        name="one2set",
        cls=_Group,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in commands:
        command = getattr(import_module(f"one2set.cli.{name}"), name)
        app.command(cls=_Command)(command)
    app.callback()(_main_options)
    return app


def _version(requested: bool) -> None:
    if requested:
        from one2set import __version__

        typer.echo(f"one2set {__version__}")
        raise typer.Exit


def _main_options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Find keyphrases, and train and score the models that find them.

    one2set generate "We sort numbers in linear time by counting them."
    one2set COMMAND --help
    """


def main() -> None:
    """Run the command line. An error that a user can fix is one line on stderr, exit code 2."""
    # Modules and models stay in memory: collecting garbage among them takes a tenth of the start.
    gc.set_threshold(50_000)
    named = sys.argv[1].replace("-", "_") if len(sys.argv) > 1 else ""
    try:
        _make_app((named,) if named in _COMMANDS else _COMMANDS)(prog_name="one2set")
    except One2SetError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader has closed the pipe (| head), which is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in _DISK:
            raise
        where = error.filename or "writing"
        _fail(f"{_DISK[error.errno]} ({where}); fix this and run the command again")


def _fail(message: str) -> None:
    console.err.print("error:", style="bold red", end=" ")
    console.err.print(message, soft_wrap=True)
    sys.exit(2)
