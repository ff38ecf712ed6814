"""`one2set mcp`: keyphrases for assistants, over the Model Context Protocol."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err
from one2set.cli.options import ModelOption, ThreadsOption
from one2set.errors import ConfigError


def mcp(
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Let assistants read the files in this folder. Default: no files.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = "default",
    threads: ThreadsOption = 0,
) -> None:
    """Serve keyphrases to assistants over the Model Context Protocol (MCP).

    one2set mcp --folder papers

    Assistants start this command themselves, and talk to it over standard input
    and output; docs/mcp.md shows how to configure them.
    """
    from one2set.adapters.mcp import make_server
    from one2set.keyphrases.generator import KeyphraseGenerator

    if sys.stdin is None:  # as in `one2set mcp <&-`
        raise ConfigError("standard input is closed; let an assistant start this command")
    server = make_server(KeyphraseGenerator(model, threads=threads), folder)
    if sys.stdin.isatty():
        err.print("waiting for an assistant on standard input (Ctrl-C to stop)")
    server.run()
