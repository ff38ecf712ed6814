"""`one2set serve`: keyphrases over HTTP, and a page for people."""

import os
from functools import partial
from typing import Annotated

import typer

from one2set.cli.console import err
from one2set.cli.options import ModelOption, NoVerifyOption, ThreadsOption
from one2set.errors import missing_extra

_EVERY_ADDRESS = ("0.0.0.0", "::")
_TOKEN_VARIABLE = "ONE2SET_TOKEN"
_access = partial(typer.Option, rich_help_panel="Access")
_limit = partial(typer.Option, rich_help_panel="Limits")


def serve(
    model: ModelOption = "default",
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen: 127.0.0.1 for this machine only, 0.0.0.0 for the network.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 for any free port.")
    ] = 8000,
    token: Annotated[
        str | None,
        _access(
            metavar="SECRET",
            envvar=_TOKEN_VARIABLE,
            help="Clients must send it: Authorization: Bearer SECRET. Prefer the environment "
            "variable, because other users can see a command's options.",
            show_default=False,
        ),
    ] = None,
    allow_origin: Annotated[
        list[str],
        _access(
            metavar="URL",
            help="A site whose pages may call the server from a browser (CORS). Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    allowed_host: Annotated[
        list[str],
        _access(
            metavar="NAME",
            help="A name or address by which clients may call the server, besides localhost and "
            "--host; * for any. Repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    max_body: Annotated[
        int, _limit(min=1, metavar="BYTES", help="Size of a request with texts.")
    ] = 1_000_000,
    max_file: Annotated[
        int, _limit(min=1, metavar="BYTES", help="Size of an uploaded file.")
    ] = 20_000_000,
    max_answer: Annotated[
        int, _limit(min=1, metavar="BYTES", help="Size of a response.")
    ] = 10_000_000,
    max_characters: Annotated[
        int, _limit(min=1, metavar="N", help="Characters per document.")
    ] = 200_000,
    max_documents: Annotated[int, _limit(min=1, metavar="N", help="Documents per request.")] = 64,
    max_head: Annotated[
        int, _limit(min=1024, metavar="BYTES", help="Size of the request line and headers.")
    ] = 65_536,
    head_timeout: Annotated[
        float, _limit(min=0.1, metavar="SECONDS", help="Time for the request line and headers.")
    ] = 10.0,
    max_connections: Annotated[int, _limit(min=1, metavar="N", help="Open connections.")] = 512,
    max_client_connections: Annotated[
        int, _limit(min=1, metavar="N", help="Open connections per client address.")
    ] = 256,
    queue: Annotated[
        int, _limit(min=1, metavar="N", help="Queued documents; requests beyond it get 429.")
    ] = 256,
    timeout: Annotated[
        float, _limit(min=0.1, metavar="SECONDS", help="Time for a request.")
    ] = 60.0,
    threads: ThreadsOption = 0,
    no_verify: NoVerifyOption = False,
) -> None:
    """Serve keyphrases over HTTP, with a web page at /.

    one2set serve --port 8000
    ONE2SET_TOKEN=secret one2set serve --host 0.0.0.0 --allowed-host NAME

    POST /v1/keyphrases takes texts, /v1/text extracts the text of files; /docs
    describes the API. On Ctrl-C or SIGTERM the server finishes open requests
    and exits.
    """
    try:
        from one2set.serving.app import create_app
        from one2set.serving.limits import LOOPBACK, Access, Limits
        from one2set.serving.server import run
    except ImportError as error:
        raise missing_extra(
            str(error.name or "fastapi").split(".")[0], extra="serve", purpose="serving"
        ) from None
    from one2set.keyphrases.generator import KeyphraseGenerator

    limits = Limits(
        body=max_body,
        file=max_file,
        characters=max_characters,
        documents=max_documents,
        queue=queue,
        seconds=timeout,
        answer=max_answer,
        head=max_head,
        head_seconds=head_timeout,
        connections=max_connections,
        client_connections=max_client_connections,
    )
    if token is None:
        token = os.environ.get(_TOKEN_VARIABLE)  # typer takes an empty variable for a missing one
    hosts = tuple(map(str.lower, {*LOOPBACK, host, *allowed_host}))
    access = Access(token, hosts, tuple(allow_origin))
    if host in _EVERY_ADDRESS and not allowed_host:
        err.print(
            f"--host {host} accepts connections from the network, but only for the host names "
            f"{', '.join(LOOPBACK)}; pass --allowed-host for each name or address that clients use",
            style="yellow",
            soft_wrap=True,
        )
    generator = KeyphraseGenerator(model, threads=threads, verify=not no_verify)
    generator.generate("The first text takes longest.")
    run(
        create_app(generator, limits, access),
        host=host,
        port=port,
        limits=limits,
        started=lambda url: err.print(f"serving at {url} (Ctrl-C to stop)", soft_wrap=True),
    )
