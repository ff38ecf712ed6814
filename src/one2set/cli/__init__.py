"""The command line: names to functions, and errors to messages. Only this package prints."""

import errno
import os
import sys

import typer

from one2set.cli import (
    calibrate,
    compare,
    evaluate,
    export,
    generate,
    import_checkpoint,
    predict,
    prepare,
    reproduce,
    sample,
    serve,
    stats,
    train,
)
from one2set.cli.console import err
from one2set.errors import One2SetError

app = typer.Typer(
    name="one2set",
    help="Keyphrases as a set: prepare data, train, generate and score.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(generate.generate)
app.command()(serve.serve)
app.command()(prepare.prepare)
app.command()(stats.stats)
app.command()(train.train)
app.command()(compare.compare)
app.command()(reproduce.reproduce)
app.command()(import_checkpoint.import_checkpoint)
app.command()(export.export)
app.command()(calibrate.calibrate)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(sample.sample)


def _version(asked: bool) -> None:
    if asked:
        from one2set import __version__

        typer.echo(f"one2set {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Keyphrases as a set: prepare data, train, generate and score."""


def main() -> None:
    """Run the command line. What a user can mend is one line on stderr and exit code 2."""
    try:
        app(prog_name="one2set")
    except One2SetError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader of our output has gone (| head): that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _fail(f"the disk is full ({error.filename or 'writing'}); free some space and run it again")


def _fail(message: str) -> None:
    err.print("[bold red]error:[/]", end=" ")
    err.print(message, markup=False, soft_wrap=True)
    sys.exit(2)
