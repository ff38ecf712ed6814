"""`one2set mcp`: keyphrases for assistants, over the Model Context Protocol."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err
from one2set.cli.options import ModelOption, ThreadsOption


def mcp(
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Let assistants read files of this folder, and no others. Default: none.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = "default",
    threads: ThreadsOption = 0,
) -> None:
    """Serve keyphrases to assistants (Model Context Protocol, standard input and output).

    one2set mcp --folder papers

    An assistant starts this command itself: docs/mcp.md shows its configuration.
    """
    from one2set.adapters.mcp import make_server
    from one2set.keyphrases.generator import KeyphraseGenerator

    server = make_server(KeyphraseGenerator(model, threads=threads), folder)
    if sys.stdin.isatty():
        err.print("waiting for an assistant on standard input (Ctrl-C to stop)")
    server.run()
